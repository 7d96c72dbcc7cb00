//! Codes and placements against published vectors and their properties.

mod cubic;
mod cubic_vectors;
mod properties;
mod vectors;

//! Codes and placements against published vectors and their properties.

mod bucket_vectors;
mod cubic;
mod cubic_vectors;
mod properties;
mod vectors;

//! Parameter sets, plans, clues and messages from strangers.

mod clue_vectors;
mod hostile;
mod params;
mod plan;

//! Parameter sets, plans, clues and messages from strangers.

mod clue_vectors;
mod hostile;
mod levels;
mod params;
mod plan;
mod rounds;

//! Tests of the papers' schemes: clues, codes, circuit, sets.

mod clue_vectors;
mod clues;
mod code_vectors;
mod codes;
mod decode;
mod front;
mod sets;
mod sides;

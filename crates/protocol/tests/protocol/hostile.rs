//! Every parser of this crate against truncated, flipped, forged and random bytes. Forged files

//! carry right checksums: anyone can compute them.

mod clue;
mod clue_key;
mod detection_key;
mod digest;
mod forge;

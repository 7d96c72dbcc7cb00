//! Tests of the program `omr-lab`.

#![forbid(unsafe_code)]

mod bench;
mod common;
mod compare;
mod figures;
mod fpga;
mod sets;
mod started;
mod trials;
mod trials_hostile;

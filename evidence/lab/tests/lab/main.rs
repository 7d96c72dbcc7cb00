//! The program `omr-lab`, as developers run it.

#![forbid(unsafe_code)]

mod bench;
mod common;
mod compare;
mod figures;
mod fpga;
mod started;
mod trials;
mod trials_hostile;

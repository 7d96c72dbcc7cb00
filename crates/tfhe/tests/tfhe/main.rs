//! Bootstrapping: windows, switches, rotations, sums.

mod common;
mod pipeline;
mod rotation;
mod sums;
mod switch;
mod windows;

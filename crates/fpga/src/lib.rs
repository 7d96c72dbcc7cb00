//! A model of an FPGA accelerator for the affine transform of SophOMR.
//!
//! [`paper`] holds the published accelerator, its cost model and its exploration.
#![forbid(unsafe_code)]

pub mod paper;

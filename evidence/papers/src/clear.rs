//! Public data of OMD1p, OMR1p, OMR2p (Liu and Tromer 2021), PerfOMR1, PerfOMR2 (Liu, Tromer and Wang 2023) and
//! DoS-PerfOMR: parameter sets, clues and clue keys, without any secret.
//!
//! PerfOMR1 uses SophOMR's ring LWE clue ([`ClueParams`](omr_protocol::ClueParams)). The other schemes use the
//! clues of [`LweParams`]: PVW's subset sums, LWEmongrass, and PerfOMR2's integers. The module [`crate::codec`]
//! contains the codes.

mod circuit;
mod clue;
mod codes;
mod detection;
mod detection_key;
mod error;
mod key;
mod noise;
mod params;
mod residues;
mod sets;
mod test;

pub use circuit::{Circuit, Params, Spec};
pub use codes::{PaperCodes, PaperIndex};
pub use detection::{Detection, PaperParams};
pub use detection_key::{DetectionKey, Part};
pub use error::SetError;
pub use key::LweClueKey;
pub use params::{LweKind, LweParams, LweSpec};
pub use residues::Residues;
pub use sets::{CircuitSpec, PaperClue, PaperScheme, PaperSet};
pub use test::DistanceTest;

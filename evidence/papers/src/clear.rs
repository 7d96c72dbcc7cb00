//! What OMD1p, OMR1p, OMR2p (Liu and Tromer 2021), PerfOMR1, PerfOMR2 (Liu, Tromer and Wang 2023) and
//! DoS-PerfOMR have in the clear: parameter sets, clues and clue keys.
//!
//! PerfOMR1's clue is the one of ring LWE that SophOMR has ([`ClueParams`](omr_protocol::ClueParams)). The others
//! are clues of [`LweParams`]: PVW's subset sums, LWEmongrass, and PerfOMR2's integers. Their codes are in
//! [`crate::codec`].

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
pub use codes::{EarlierCodes, EarlierIndex};
pub use detection::{Detection, EarlierParams};
pub use detection_key::{DetectionKey, Part};
pub use error::SetError;
pub use key::LweClueKey;
pub use params::{LweKind, LweParams, LweSpec};
pub use residues::Residues;
pub use sets::{CircuitSpec, EarlierClue, EarlierScheme, EarlierSet};
pub use test::DistanceTest;

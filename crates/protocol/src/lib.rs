//! Parameters, public keys, clues, digests and their wire formats.
#![forbid(unsafe_code)]

mod bounds;
pub mod clue;
pub mod detection_key;
pub mod digest;
pub mod earlier;
pub mod frame;
pub mod instantomr;
pub mod params;
pub mod placement;
pub mod plan;
pub mod response;
pub mod scheme;
pub mod sealing;
pub mod stride;

pub use clue::{Clue, ClueError, ClueKey, ClueKind, ClueParser};
pub use detection_key::{DetectionKey, DetectionKeyError};
pub use digest::{Digest, DigestError, DigestHeader};
pub use omr_compress::{PackedCiphertext, SlotClasses};
pub use params::{ClueParams, InstantParams, ParamSet, Params, ParamsError, ParamsSpec};
pub use placement::{Placement, SEED_BYTES};
pub use plan::{DigestPlan, PlanError, Request};
pub use response::Response;
pub use scheme::Scheme;
pub use sealing::Sealing;
pub use stride::Stride;

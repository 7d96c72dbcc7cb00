//! Parameters, public keys, clues, digests and their wire formats.
#![forbid(unsafe_code)]

mod address;
mod bounds;
pub mod clue;
pub mod digest;
pub mod frame;
mod hex;
pub mod instantomr;
pub mod key_file;
mod ledger;
mod order;
pub mod params;
pub mod periods;
pub mod placement;
pub mod request;
pub mod response;
pub mod rounds;
pub mod scheme;
pub mod sealing;
pub mod sophomr;
pub mod stride;

pub use address::{
    FINGERPRINT_BYTES, HAS_PERIODS, VERIFYING_KEY_BYTES, address_fingerprint, signed_fingerprint,
};
pub use clue::{Clue, ClueError, ClueKey, ClueKind, ClueParser};
pub use digest::{DigestError, DigestHeader};
pub use hex::{from_hex, hex};
pub use key_file::{DetectionKeyError, KeyFile};
pub use ledger::ledger_board_id;
pub use omr_compress::{PackedCiphertext, SlotClasses};
pub use omr_errors::Mismatch;
pub use order::order_batch_id;
pub use params::{ClueParams, ParamSet, ParamsError};
pub use placement::{Placement, SEED_BYTES};
pub use request::{PlanError, Request};
pub use response::Response;
pub use scheme::{EngineKind, Scheme};
pub use sealing::Sealing;
pub use stride::Stride;

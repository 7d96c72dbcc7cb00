//! InstantOMR, which processes one message at a time: its parameters, the plan and the file of a digest, the detector's
//! key and the file of a session.

mod code;
mod digest;
mod key;
mod offset;
mod params;
mod plan;
mod seen;
mod session;

pub use code::{Code, Decoded, SumsError};
pub use digest::InstantDigest;
pub use key::{InstantKey, InstantKeyError, Part};
pub use offset::OffsetKey;
pub use params::{INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantParams, InstantSpec, SUMS_MODULUS};
pub use plan::InstantPlan;
pub use seen::{LogPoint, OtherHistory, Seen};
pub use session::{SessionError, SessionFile};

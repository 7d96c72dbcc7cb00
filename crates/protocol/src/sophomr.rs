//! SophOMR, which processes messages in batches: its parameters, the plan and the file of a digest, and the detector's
//! key.

mod digest;
mod epoch;
mod key;
mod params;
mod partial;
mod plan;

pub use digest::{BODY_BITS, Digest, MASK_BITS};
pub use epoch::{EPOCH_DAYS, Epoch};
pub use key::{DetectionKey, EncryptedSecret, FinalKey, KeyPlace, OpeningKey, Part, merge_levels};
pub use params::{
    FinalNoise, FinalRingSpec, FrontEnd, Outline, Params, ParamsSpec, RecipientParams, Rings,
    RingsSpec, tail_bits,
};
pub use partial::{Partial, PartialError};
pub use plan::{CHECKSUM_SYMBOLS, DigestPlan, INDEX_SYMBOLS, checksum, packing};

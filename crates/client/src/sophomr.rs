//! SophOMR: keys for its detector, and digests decoded.

mod keygen;
mod recipient;

pub(crate) use keygen::key_and_secret;
pub use keygen::{Keys, detection_key, keygen, keygen_with_large_secret};
pub use recipient::Recipient;
pub(crate) use recipient::phases;

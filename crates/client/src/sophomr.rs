//! SophOMR: keys for its detector, and digests decoded.

mod keygen;
mod recipient;

pub use keygen::{Keys, detection_key, detection_key_of, keygen, keygen_with_large_secret};
pub use recipient::{Recipient, phases};

//! SophOMR's part of a client: keys for the detector, and decoding.

mod keygen;
mod recipient;

#[cfg(feature = "measure")]
pub use keygen::keygen_with_large_secret;
pub use keygen::{Keys, detection_key, keygen, keygen_in_epoch, write_detection_key};
pub use recipient::{Recipient, phases};

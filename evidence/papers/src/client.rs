//! Senders and recipients of the papers' schemes: LWE clues (PVW, LWEmongrass, PerfOMR2's integers).
//!
//! [`Sender`](omr_client::Sender) makes PerfOMR1's clues, with the parameters of
//! [`PaperSet::ring`](crate::clear::PaperSet::ring).

mod decode;
mod detection;
mod keygen;
mod maker;
mod ring;
mod secret;
mod sender;
mod sums;

pub use decode::{PaperDecodeError, Retrieved, decode};
pub use detection::{RingKeys, detection_key, detection_key_with_large_secret, ring_keys};
pub use keygen::identity;
pub use secret::LweSecret;
pub use sender::LweSender;
pub use sums::PaperRecipient;

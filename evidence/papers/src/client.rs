//! Senders and recipients of the earlier schemes: LWE clues (PVW, LWEmongrass, PerfOMR2's integers).
//!
//! PerfOMR1's clue is made by [`Sender`](omr_client::Sender) with the parameters of
//! [`EarlierSet::ring`](crate::clear::EarlierSet::ring).

mod decode;
mod detection;
mod keygen;
mod maker;
mod ring;
mod secret;
mod sender;
mod sums;

pub use decode::{EarlierDecodeError, Retrieved, decode};
pub use detection::{RingKeys, detection_key, detection_key_with_large_secret, ring_keys};
pub use keygen::identity;
pub use secret::LweSecret;
pub use sender::LweSender;
pub use sums::EarlierRecipient;

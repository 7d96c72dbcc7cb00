//! Senders and recipients: key generation, clues, sealing, decoding.
//!
//! A [`Sender`] has a recipient's [`omr_protocol::ClueKey`]; a [`sophomr::Recipient`] has a [`SecretKey`]. [`letter`]
//! uses both to turn files into messages of a board and back:
//!
//! ```
//! use omr_client::letter::{Piece, Place, Reader, Writer};
//! use omr_client::{Retrieved, identity, os_rng};
//! use omr_protocol::{ClueKind, ParamSet, Sealing};
//!
//! // A small set for tests; `sophomr-v5` is the default.
//! let set = ParamSet::named("insecure-tiny-v4")?;
//! // Plain clues, so that no detector is needed below. Bound ones are the default everywhere.
//! let (secret, address) = identity(set.clue(), ClueKind::Plain, &mut os_rng());
//! let place = Place {
//!     board_id: [7; 16],
//!     params: "insecure-tiny-v4".into(),
//!     sealing: Sealing::HpkeX25519,
//!     payload_bytes: 612,
//! };
//!
//! // A sender, who has the address.
//! let writer = Writer::new(set.clue(), &address, place.clone())?;
//! let parts = writer.named_parts(Some("letter.txt"), b"hello", &mut os_rng())?;
//! let message = writer.message(&mut os_rng(), &parts[0])?;
//! assert_eq!(message.payload.len(), 612);
//!
//! // The recipient: `decode` returns the messages of a digest, here message 5 of the board.
//! let found = [Retrieved::new(5, Some(message.payload), None)];
//! let opened = Reader::new(set.clue(), &secret, &place).open(&found, 1);
//! let (5, Ok(Piece::Whole(letter))) = &opened[0] else { panic!("{opened:?}") };
//! assert_eq!((letter.name.as_deref(), &letter.bytes[..]), (Some("letter.txt"), &b"hello"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate `omr` has a program with all parties, including a detector.
#![forbid(unsafe_code)]

mod bound;
mod decode;
mod derive;
mod digest_secret;
mod engines;
pub mod fragment;
pub mod header;
mod identity;
pub mod instantomr;
pub mod kept;
mod key_rng;
pub mod letter;
pub mod letters;
pub mod locked;
pub mod periods;
pub mod rounds;
pub mod seal;
mod secret_key;
mod sender;
pub mod sophomr;
mod storage;
mod words;

pub use bound::{BoundSender, CLUE_SEED_BYTES, ClueSeed};
pub use decode::{DecodeError, Fingerprint, Retrieved};
pub use digest_secret::{DIGEST_SEED_BYTES, DigestSecret};
pub use engines::{Decoder, MakeKeyError, decode, write_detection_key};
pub use identity::identity;
pub use secret_key::{SecretKey, SecretKeyError};
pub use sender::Sender;
pub use storage::StorageCipher;
pub use words::{Words, WordsError};

use rand_core::SeedableRng;

/// Returns a ChaCha20 generator seeded by the operating system. Its state is wiped when it is dropped.
///
/// Panics: if the operating system has no randomness.
pub fn os_rng() -> chacha20::ChaCha20Rng {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).expect("the operating system gives randomness");
    chacha20::ChaCha20Rng::from_seed(*seed)
}

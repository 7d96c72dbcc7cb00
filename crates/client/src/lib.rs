//! Senders and recipients: key generation, clues, sealing, decoding.
//!
//! A [`Sender`] has a recipient's [`omr_protocol::ClueKey`]; a [`Recipient`] has a [`SecretKey`].
#![forbid(unsafe_code)]

mod bound;
mod digest_secret;
pub mod earlier;
pub mod fragment;
pub mod instantomr;
pub mod kept;
mod keygen;
pub mod letter;
pub mod locked;
mod recipient;
pub mod seal;
mod secret_key;
mod sender;

pub use bound::{BoundSender, CLUE_SEED_BYTES, ClueSeed};
pub use digest_secret::DIGEST_SEED_BYTES;
pub use keygen::{Keys, detection_key, identity, keygen, keygen_with_large_secret};
pub use recipient::{DecodeError, Fingerprint, Recipient, Retrieved, decode};
pub use secret_key::{SecretKey, SecretKeyError};
pub use sender::Sender;

use rand_core::SeedableRng;

/// A ChaCha20 generator seeded by the operating system. Its state is wiped when it is dropped.
///
/// Panics: when the operating system has no randomness.
pub fn os_rng() -> chacha20::ChaCha20Rng {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).expect("the operating system gives randomness");
    chacha20::ChaCha20Rng::from_seed(*seed)
}

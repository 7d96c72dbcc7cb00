//! One message at a time: LWE ciphertexts, blind rotation with a block-structured secret, key
//! switching, homomorphic trace (Chillotti, Gama, Georgieva, Izabachène 2020; blocks: Lee, Min, Seo,
//! Song 2023).
//!
//! Messages lie in the high part: `body + <mask, s> = message + noise` modulo q, the message a
//! fraction of q. A [`RotationRing`] has one prime. Nothing here knows of clues or digests.
#![forbid(unsafe_code)]

mod bootstrap;
mod cipher;
mod fourier;
mod gadget_key;
mod lwe;
mod lwe_switch;
pub mod noise;
mod ring;
mod rotation;
mod secret;
mod sums;
mod trace;

pub use bootstrap::{BootstrapKey, BootstrapMaker, BootstrapShape};
pub use cipher::{RingCipher, phase};
pub use fourier::FourierKey;
pub use gadget_key::GadgetKey;
pub use lwe::Lwe;
pub use lwe_switch::LweSwitchKey;
pub use omr_rlwe::MaskSeed;
pub use ring::RotationRing;
pub use rotation::{Rotation, Window, exponents};
pub use secret::BlockSecret;
pub use sums::PlainSums;
pub use trace::TraceKey;

//! Secrets, gadgets, key switching, ring switching and noise bounds.
//!
//! Ciphertexts are pairs `(c0, c1)` with `c0 + c1 s = m + p e`: the message sits in the low part,
//! as in BGV. Nothing here knows of slots or levels.
#![forbid(unsafe_code)]

mod away;
mod cipher;
mod descend;
mod hybrid;
mod keyswitch;
pub mod noise;
mod secret;
mod shared;
mod turn;

pub use cipher::{
    MaskSeed, Masks, Rlwe, decrypt_residues, encrypt, encrypt_rows, encrypt_with, mask,
};
pub use descend::Descent;
pub use hybrid::{KeySwitch, SwitchInput};
pub use keyswitch::{BodyMaker, KeyShape, SwitchingKey};
pub use secret::{Secret, SecretPoly};
pub use shared::{SharedInput, SharedKey, SharedRlwe, SharedShape, rounding_noise};
pub use turn::{Bodies, SharedTurn};

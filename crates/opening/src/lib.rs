//! From clues to the slots of two BGV ciphertexts: `d = b - A s` for every message, at a small modulus first.
//!
//! 1. [`pack`] turns the clues of `n` messages into ciphertexts of module LWE over
//!    `Z[Z]/(Z^n + 1)`, one for each coordinate: coefficient y of its phase is `d` of message y. A clue's column
//!    of residues is a public polynomial, which meets an encryption of one coefficient of the clue secret.
//! 2. [`narrow()`] switches them to a sparse secret of lower rank and rounds them modulo p.
//! 3. [`Turned`], [`PhaseValues`] and [`open`] evaluate the phases of all of them in slots: every slot of the result holds one
//!    coefficient of one phase modulo p.
//!
//! Packing as in UnifOMR's first round, but of coefficients; opening as SophOMR's affine transform and
//! slots-to-coefficients of BGV bootstrapping. Nothing that is done here depends on what is encrypted.
//!
//! All of it is linear, and only masks are cut into digits. So recipients whose keys were made with one seed, which have
//! the same masks, are served together: masks, digits and plaintexts are worked on once, and each recipient costs the
//! bodies.
#![forbid(unsafe_code)]

mod away;
mod error;
mod inner;
mod module;
mod narrow;
mod noise;
mod open;
mod packing;
mod places;
mod products;
mod secret;
mod spec;
mod transform;

pub use error::OpeningError;
pub use module::{ModuleCipher, ModuleSecret};
pub use narrow::{NarrowKey, Narrowed, narrow};
pub use noise::{ClueNoise, slot_noise};
pub use open::{OpeningKeys, PhaseValues, Turned, open};
pub use packing::{BLOCKS_TOGETHER, BlockOfClues, PackingKey, pack, pack_placed};
pub use places::Place;
pub use secret::{packing_secret, secret_slots, sparse_secret};
pub use spec::{ClueShape, Opening, OpeningSpec};

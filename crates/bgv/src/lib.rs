//! The leveled SIMD evaluator: BGV in residue number form.
//!
//! The interface consists of slots, levels and keys; limbs, digits and domains are internal. A level is a
//! position in the modulus chain ([`Chain`]). Every ciphertext has a *scale* by which its slots are multiplied
//! (a known unit modulo p, which modulus switching changes).
#![forbid(unsafe_code)]

mod chain;
mod ciphertext;
mod encrypt;
mod error;
mod evaluator;
mod expand;
mod keys;
mod plain;
mod polynomial;

pub use chain::Chain;
pub use ciphertext::Ciphertext;
pub use encrypt::{Decryptor, PublicKey, encrypt_body, encrypt_symmetric};
pub use error::EvalError;
pub use evaluator::{Evaluator, Stop};
pub use expand::{Expander, doublings};
pub use keys::GaloisKey;
pub use plain::Plain;
pub use polynomial::{RangePolynomial, add_linear, fermat_depth, fermat_power};

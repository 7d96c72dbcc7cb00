//! The codes, in the clear, of OMR1p, OMR2p (Liu and Tromer 2021), PerfOMR1 and PerfOMR2 (Liu, Tromer and Wang
//! 2023), modulo any odd prime.
//!
//! Indices: [`IndexBitmap`] uses one bit for each message, [`IndexBuckets`] a few sums for each pertinent
//! message. Payloads: [`Combinations`]. All codes decode in variable time, so decoding must be hidden from the
//! detector.
//!
//! Differences from the papers:
//!
//! - The random choices of a message or bundle come from BLAKE3 over its number (8 bytes), keyed with a key
//!   that is derived from the digest's seed: 8 bytes `w` yield `floor(w limit / 2^64)`. Therefore sums over any
//!   split of a board add up.
//! - Factors are never 0.
//! - A bundle that was found is removed from all its buckets, which uncovers others.
//! - Equations beyond the number of unknowns are checked.
//! - The number of buckets and of combinations grows with the bound.

mod bitmap;
mod buckets;
mod combinations;
mod odds;

pub use bitmap::{BitmapOrder, IndexBitmap};
pub use buckets::{BucketShape, Bundle, IndexBuckets};
pub use combinations::{CombinationShape, Combinations};
use omr_protocol::Mismatch;

use omr_codec::{DecodeError, Field};

/// Checks that all sums are reduced.
///
/// Errors: [`DecodeError::SumRange`] for the first sum that is not.
fn check_range(field: &Field, sums: &[u32]) -> Result<(), DecodeError> {
    let modulus = field.modulus();
    match sums.iter().position(|&sum| sum >= modulus) {
        None => Ok(()),
        Some(exponent) => Err(DecodeError::SumRange(
            exponent,
            Mismatch::new(modulus, sums[exponent]),
        )),
    }
}

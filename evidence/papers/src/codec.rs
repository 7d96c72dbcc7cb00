//! The codes in the clear of OMR1p, OMR2p (Liu and Tromer 2021), PerfOMR1 and PerfOMR2 (Liu, Tromer and Wang 2023),
//! modulo any odd prime.
//!
//! Indices: [`IndexBitmap`] has a bit for each message, [`IndexBuckets`] a few sums for each pertinent
//! one. Payloads: [`Combinations`]. All decode in variable time: what decodes them must be out of a
//! detector's sight.
//!
//! Differences. The random choices of a message or bundle come from BLAKE3 over its number (8 bytes), keyed with
//! derive-key of the digest's seed: 8 bytes `w` are `floor(w limit / 2^64)`. So sums over any split of a board add up.
//! Factors are never 0. A bundle that was found is taken out of all its buckets, which uncovers others. Equations
//! beyond the unknowns are checked. The number of buckets and of combinations grows with the bound.

mod bitmap;
mod buckets;
mod combinations;
mod odds;

pub use bitmap::{BitmapOrder, IndexBitmap};
pub use buckets::{BucketShape, Bundle, IndexBuckets};
pub use combinations::{CombinationShape, Combinations};
use omr_protocol::Mismatch;

use omr_codec::{DecodeError, Field};

/// Errors: [`DecodeError::SumRange`] for the first sum that is not reduced.
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

//! The detector of the earlier schemes. Their clues are made to clues of the ring, so that SophOMR's affine transform
//! serves all ([`EarlierDetector`]); one of two tests decides, and one of two digests is made.
//!
//! Below: the compression of PerfOMR1 (Liu, Tromer, Wang 2023), on the pertinency vector that this front end makes: bundles, oblivious expansion, index buckets and a dense random linear code.
//!
//! What a digest holds is theirs: with `PV_j` the sum of the pertinencies of bundle j, the sums
//! `sum_j PV_j row_j` modulo p, where row j has the entries of the bundle's index buckets and, for each
//! combination r and symbol s, `w_r(j) symbol_s(j)`. How it is made differs in three places.
//!
//! **Everything is done in the small ring.** The pertinency vector is the polynomial
//! `PV(X) = sum_a c_a X^a` of the large ring, and ring switching gives `D = n / n'` small ciphertexts: of
//! part i the coefficient t is `c_(D t + i)`. A key switch there costs less than an eighth.
//!
//! **Bundles cost nothing.** The v slots of a bundle lie at the roots `omega zeta`, `zeta^v = 1`, so that
//! their sum is `v sum_T c_(v T) (omega^v)^T`: only every v-th coefficient counts, and every v-th part
//! (of those whose coefficients are all skipped nothing is computed).
//!
//! **No SlotToCoeff.** Expansion needs the bundles as coefficients, and the paper gets them there by
//! a product with a matrix. But the coefficients `c_(v T)` that are there already are linear in
//! the bundles, with `eta_j = omega_j^v`:
//!
//! `sum_j PV_j row_j = sum_T c_(v T) R_T`, `R_T = v sum_j eta_j^T row_j`.
//!
//! The rows are public, so the transform over the bundles is done in the clear, modulo p, before
//! they are encoded: no rotation keys, no level of 33 bits, no noise. It costs transforms of n / v values
//! for each position of the digest, some 17,500 of the yardstick's, in blocks: leaves `T = beta` modulo M
//! are one subtree of the expansion, and their rows need
//! transforms of length `n / (v M)` alone (`rows`), so that no more than a block of rows is ever held.
//!
//! The codes in use, 8 rounds of 79 buckets of three sums and 53 combinations of 2 × 252 symbols, have 28,608 sums; the
//! paper's 16 repetitions of 400 buckets have 46,760. In a sum, 62.32 bits of noise are predicted and measured for a fresh
//! start, and 63.03 predicted after a range check. With 14 standard deviations and a sign one batch needs 67.8 bits and
//! twelve need 70.1; there are 95.1.
//!
//! Figures are in `docs/comparison.md`, the alternative with a matrix in `docs/notebook.md`.

mod affine;
mod batch;
mod blocks;
mod bundles;
mod clues;
mod compressor;
mod error;
mod front;
mod indices;
mod noise;
mod pack;
mod range;
mod rows;
mod sums;

pub use affine::BabySteps;
pub use batch::ClueBatch;
pub use bundles::Bundles;
pub use compressor::Compressor;
pub use error::EarlierError;
pub use front::{EarlierDetector, Pertinency};
pub use indices::Indices;
pub use noise::SumNoise;
pub use rows::{Entries, RowShape, RowSource, Values};

use omr_detector::{DetectorError, Progress};

/// Errors: `Stopped`.
fn check_stopped(progress: &dyn Progress) -> Result<(), DetectorError> {
    if progress.is_stopped() {
        Err(DetectorError::Stopped)
    } else {
        Ok(())
    }
}

#[cfg(test)]
fn params_of(set: &str) -> std::sync::Arc<crate::clear::Params> {
    let set = crate::clear::EarlierSet::named(set, true).unwrap();
    set.params().unwrap().params
}

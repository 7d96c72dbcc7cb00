//! The detector of the papers' schemes. It converts their clues to ring LWE clues, so that SophOMR's affine
//! transform serves all of them ([`PaperDetector`]). One of two tests then decides which messages are
//! pertinent, and the result is one of two digests.
//!
//! The rest of this page describes the compression of PerfOMR1 (Liu, Tromer, Wang 2023): bundles, oblivious
//! expansion, index buckets and a dense random linear code, applied to the pertinency vector.
//!
//! The content of a digest is the paper's: with `PV_j` the sum of the pertinencies of bundle j, the sums
//! `sum_j PV_j row_j` modulo p, where row j has the entries of the bundle's index buckets and, for each
//! combination r and symbol s, `w_r(j) symbol_s(j)`. The computation differs from the paper in three ways.
//!
//! **The small ring is used for everything.** The pertinency vector is the polynomial `PV(X) = sum_a c_a X^a`
//! of the large ring, and ring switching yields `D = n / n'` small ciphertexts: coefficient t of part i is
//! `c_(D t + i)`. A key switch in the small ring costs less than an eighth.
//!
//! **Bundles cost nothing.** The v slots of a bundle are at the roots `omega zeta`, `zeta^v = 1`, so that their
//! sum is `v sum_T c_(v T) (omega^v)^T`: only every v-th coefficient counts, and only every v-th part. Parts
//! without such a coefficient are not computed.
//!
//! **SlotToCoeff is not needed.** Expansion needs the bundles as coefficients, which the paper obtains by a
//! product with a matrix. But the available coefficients `c_(v T)` are linear in the bundles, with
//! `eta_j = omega_j^v`:
//!
//! `sum_j PV_j row_j = sum_T c_(v T) R_T`, `R_T = v sum_j eta_j^T row_j`.
//!
//! The rows are public, so the transform over the bundles is computed in the clear, modulo p, before they are
//! encoded. This needs no rotation keys and no level of 33 bits, and adds no noise. It costs transforms of n /
//! v values for each position of the digest, about 17,500 for the digest that the measurements compare. They
//! are computed in blocks: the leaves `T = beta` modulo M are one subtree of the expansion, and their rows need
//! only transforms of length `n / (v M)` (`rows`), so that memory never holds more than one block of rows.
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
pub use error::PaperError;
pub use front::{PaperDetector, Pertinency};
pub use indices::Indices;
pub use noise::SumNoise;
pub use rows::{Entries, RowShape, RowSource, Values};

use omr_detector::{DetectorError, Progress};

/// Returns an error if the computation is to stop.
///
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
    let set = crate::clear::PaperSet::named(set, true).unwrap();
    set.params().unwrap().params
}

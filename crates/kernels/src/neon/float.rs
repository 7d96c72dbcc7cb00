//! Vectors of two residues as doubles that hold integers exactly, up to `2^53`.

use std::arch::aarch64::*;

use crate::Modulus;

/// Two consecutive residues of a row.
pub(super) type Block = [u64; 2];

/// Constants of one modulus.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// `q` and `1 / q`: products with a lane cost no more than with a vector, and take half the
    /// registers.
    q: float64x2_t,
    /// `q` in every lane.
    whole: int64x2_t,
}

/// One factor and its rounded quotient by `q`.
#[derive(Clone, Copy)]
pub(super) struct Factor(float64x2_t);

/// A factor in each lane, and its rounded quotient by `q`.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    w: float64x2_t,
    quotient: float64x2_t,
}

impl Field {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new(m: &Modulus) -> Self {
        let q = m.value() as f64;
        Self {
            q: pair(q, 1.0 / q),
            whole: vdupq_n_s64(m.value() as i64),
        }
    }

    /// The factor `w` in `[0, q)`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn factor(&self, w: u64) -> Factor {
        let w = w as f64;
        Factor(pair(w, w * vgetq_lane_f64::<1>(self.q)))
    }

    /// The factors of `w`, each in `(-q, q)`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn factors(&self, w: float64x2_t) -> Factors {
        let quotient = vmulq_laneq_f64::<1>(w, self.q);
        Factors { w, quotient }
    }

    /// `x w` modulo `q`, for `|x| <= a q`: at most `(0.5 + 0.375 a) q` from zero.
    ///
    /// Three roundings put the quotient off by `1.5 2^-52 |x|`, at most `0.375 a` as `q < 2^50`.
    /// The rest is exact: product and remainder are integers, the remainder below `2^53`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn mul(&self, x: float64x2_t, Factor(f): Factor) -> float64x2_t {
        let quotient = vrndnq_f64(vmulq_laneq_f64::<1>(x, f));
        let high = vmulq_laneq_f64::<0>(x, f);
        let minus_low = vfmsq_laneq_f64::<0>(high, x, f);
        vsubq_f64(vfmsq_laneq_f64::<0>(high, quotient, self.q), minus_low)
    }

    /// [`Self::mul`] by a factor for each lane.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn mul_each(&self, x: float64x2_t, f: Factors) -> float64x2_t {
        let quotient = vrndnq_f64(vmulq_f64(x, f.quotient));
        let high = vmulq_f64(x, f.w);
        let minus_low = vfmsq_f64(high, x, f.w);
        vsubq_f64(vfmsq_laneq_f64::<0>(high, quotient, self.q), minus_low)
    }

    /// Any integer below `2^53` to at most `0.5 q + 2^-52 |x|` from zero: for `|x|` below `8q` called
    /// half of `q`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn reduce(&self, x: float64x2_t) -> float64x2_t {
        let quotient = vrndnq_f64(vmulq_laneq_f64::<1>(x, self.q));
        vfmsq_laneq_f64::<0>(x, quotient, self.q)
    }

    /// Doubles in `(-q, q)` to residues in `[0, q)`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn residues(&self, x: float64x2_t) -> uint64x2_t {
        let x = vcvtq_s64_f64(x);
        let lift = vandq_s64(vshrq_n_s64::<63>(x), self.whole);
        vreinterpretq_u64_s64(vaddq_s64(x, lift))
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn pair(low: f64, high: f64) -> float64x2_t {
    vcombine_f64(vdup_n_f64(low), vdup_n_f64(high))
}

/// Residues as doubles.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_residues(x: &Block) -> float64x2_t {
    vcvtq_f64_u64(load(x))
}

/// The bits of doubles.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_float(x: &Block) -> float64x2_t {
    vreinterpretq_f64_u64(load(x))
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store_float(x: &mut Block, v: float64x2_t) {
    store(x, vreinterpretq_u64_f64(v));
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load(x: &Block) -> uint64x2_t {
    // SAFETY: reads the 16 bytes of `x`.
    unsafe { vld1q_u64(x.as_ptr()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store(x: &mut Block, v: uint64x2_t) {
    // SAFETY: writes the 16 bytes of `x`.
    unsafe { vst1q_u64(x.as_mut_ptr(), v) }
}

//! Vectors of four residues as doubles that hold integers exactly, up to `2^53`.

use std::arch::x86_64::*;

use crate::Modulus;

/// Four consecutive residues of a row.
pub(super) type Block = [u64; 4];

/// `2^52`: adding it turns the bits of a double into those of an integer below `2^52`.
const MAGIC: f64 = (1u64 << 52) as f64;

/// Constants of one modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) q: __m256d,
    inverse: __m256d,
}

/// A factor in each lane, and its rounded quotient by `q`.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    w: __m256d,
    quotient: __m256d,
}

impl Factors {
    /// These factors times a power of two.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn scaled(self, power: f64) -> Self {
        let power = _mm256_set1_pd(power);
        Self {
            w: _mm256_mul_pd(self.w, power),
            quotient: _mm256_mul_pd(self.quotient, power),
        }
    }
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn new(m: &Modulus) -> Self {
        let q = m.value() as f64;
        Self {
            q: _mm256_set1_pd(q),
            inverse: _mm256_set1_pd(1.0 / q),
        }
    }

    /// The factors of `w`, each from `-q` to `q`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn factors(&self, w: __m256d) -> Factors {
        Factors {
            w,
            quotient: _mm256_mul_pd(w, self.inverse),
        }
    }

    /// Puts one factor in every lane.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn splat(&self, w: u64) -> Factors {
        self.factors(to_float(splat(w)))
    }

    /// Returns `x w` modulo `q`, for `|x w| < 2^51 q` and `|x| < 2^53`: at most `0.5 + 2^-52 |x w| / q` times `q` from
    /// zero, so at most `0.75 q` for `|x| < 2^50`, however small `q` is.
    ///
    /// Two roundings of its factor put the quotient off. The rest is exact: product and remainder are integers, the
    /// remainder below `2^53`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn mul(&self, x: __m256d, f: Factors) -> __m256d {
        let quotient = rounded_product(x, f.quotient);
        let high = _mm256_mul_pd(x, f.w);
        let low = _mm256_fmsub_pd(x, f.w, high);
        _mm256_add_pd(_mm256_fnmadd_pd(quotient, self.q, high), low)
    }

    /// Returns `x y` modulo `q`, for `x` and `y` in `[0, 2^50)`, one of them below `q`: at most `0.875 q` from zero.
    ///
    /// The quotient is rounded three times, and all else is exact as in [`Field::mul`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn product(&self, x: __m256d, y: __m256d) -> __m256d {
        let high = _mm256_mul_pd(x, y);
        let quotient = rounded_product(high, self.inverse);
        let low = _mm256_fmsub_pd(x, y, high);
        _mm256_add_pd(_mm256_fnmadd_pd(quotient, self.q, high), low)
    }

    /// Any integer below `2^53` to at most `0.51 q` from zero; needs it below `2^50 q`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn reduce(&self, x: __m256d) -> __m256d {
        _mm256_fnmadd_pd(rounded_product(x, self.inverse), self.q, x)
    }

    /// `(-q, q)` to `[0, q)`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn canonical(&self, x: __m256d) -> __m256d {
        let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd());
        _mm256_add_pd(x, _mm256_and_pd(negative, self.q))
    }
}

/// Returns the integer nearest to `x y`, for `|x y| < 2^51`: around `1.5 2^52` doubles are integers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn rounded_product(x: __m256d, y: __m256d) -> __m256d {
    let shift = _mm256_set1_pd(1.5 * MAGIC);
    _mm256_sub_pd(_mm256_fmadd_pd(x, y, shift), shift)
}

/// Integers below `2^52` to doubles.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn to_float(x: __m256i) -> __m256d {
    to_float_less(x, 0.0)
}

/// Integers below `2^52` to doubles, less another integer below `2^52`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn to_float_less(x: __m256i, less: f64) -> __m256d {
    let word = _mm256_or_pd(_mm256_castsi256_pd(x), _mm256_set1_pd(MAGIC));
    _mm256_sub_pd(word, _mm256_set1_pd(MAGIC + less))
}

/// Doubles that hold integers in `[0, 2^52)` to integers.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn to_int(x: __m256d) -> __m256i {
    let magic = _mm256_set1_pd(MAGIC);
    _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(x, magic), magic))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn splat(x: u64) -> __m256i {
    _mm256_set1_epi64x(x as i64)
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn load(x: &Block) -> __m256i {
    // SAFETY: reads the 32 bytes of `x`.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn store(x: &mut Block, v: __m256i) {
    // SAFETY: writes the 32 bytes of `x`.
    unsafe { _mm256_storeu_si256(x.as_mut_ptr().cast(), v) }
}

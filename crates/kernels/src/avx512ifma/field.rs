//! Vectors of eight residues.
//!
//! Multiply-accumulate reads the low 52 bits of its factors only, so inside a transform a lane may
//! carry rubbish from bit 52 up; what counts is the lane modulo `2^52`. A lane is *clean* without it.

use std::arch::{asm, x86_64::*};

use crate::{Modulus, modulus::Factor};

/// Eight consecutive residues of a row.
pub(super) type Block = [u64; 8];

/// Constants of one modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) q: __m512i,
    two_q: __m512i,
    /// `-q`, as a factor (modulo `2^52`) and as a bias.
    pub(super) neg_q: __m512i,
    /// `floor(2^52 / q)`.
    ratio: __m512i,
    /// Kept in a register: copying it is free, making it is an instruction.
    pub(super) minus_one: __m512i,
}

/// One [`Factor`] in each lane.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) w: __m512i,
    pub(super) quotient: __m512i,
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(m: &Modulus) -> Self {
        let q = m.value();
        Self {
            q: splat(q),
            two_q: splat(2 * q),
            neg_q: splat(q.wrapping_neg()),
            ratio: splat((1 << 52) / q),
            minus_one: splat(u64::MAX),
        }
    }

    /// Any `x < 2^52` to `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce(&self, x: __m512i) -> __m512i {
        self.reduce_from(_mm512_setzero_si512(), x)
    }

    /// [`Field::reduce`] minus `start` times `q`, at no cost.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce_from(&self, start: __m512i, x: __m512i) -> __m512i {
        let quotient = _mm512_madd52hi_epu64(start, x, self.ratio);
        _mm512_madd52lo_epu64(x, quotient, self.neg_q)
    }

    /// `acc` plus `x w` in `[0, 2q)`, for `x < 2^52` (Shoup).
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul_acc(&self, acc: __m512i, x: __m512i, f: Factors) -> __m512i {
        let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, f.quotient);
        let low = _mm512_madd52lo_epu64(acc, x, f.w);
        _mm512_madd52lo_epu64(low, quotient, self.neg_q)
    }

    /// `x w` in `[0, 2q)`, for `x < 2^52`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul(&self, x: __m512i, f: Factors) -> __m512i {
        self.mul_acc(_mm512_setzero_si512(), x, f)
    }

    /// `[0, 2q)` with rubbish to canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn canonical(&self, x: __m512i) -> __m512i {
        self.fold(_mm512_and_si512(x, splat((1 << 52) - 1)))
    }

    /// `[0, 4q)` with rubbish to canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn canonical_4q(&self, x: __m512i) -> __m512i {
        let x = _mm512_and_si512(x, splat((1 << 52) - 1));
        self.fold(_mm512_min_epu64(x, _mm512_sub_epi64(x, self.two_q)))
    }

    /// `x - y`, all canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn sub(&self, x: __m512i, y: __m512i) -> __m512i {
        self.fold(_mm512_sub_epi64(_mm512_add_epi64(x, self.q), y))
    }

    /// `x - y + 2q`, below `3q`, for canonical `x` and any `y` with rubbish.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn sub_factor(&self, x: __m512i, y: __m512i) -> __m512i {
        _mm512_sub_epi64(_mm512_add_epi64(x, self.two_q), self.reduce(y))
    }

    /// Clean `[0, 2q)` to canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn fold(&self, x: __m512i) -> __m512i {
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
    }
}

impl Factors {
    /// Puts one factor in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn splat(f: Factor) -> Self {
        Self {
            w: splat(f.w),
            quotient: splat(f.quotient),
        }
    }

    /// The factor `w` with its quotient in every lane, straight from memory.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn splat_at(w: &u64, quotient: &u64) -> Self {
        Self {
            w: load_word(w),
            quotient: load_word(quotient),
        }
    }

    /// Two factors, alternating.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn pair(w: &[u64; 2], quotient: &[u64; 2]) -> Self {
        Self {
            w: load_pair(w),
            quotient: load_pair(quotient),
        }
    }

    /// Two factors, in a half each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn halves(w: &[u64; 2], quotient: &[u64; 2]) -> Self {
        let order = load(&[0, 0, 0, 0, 1, 1, 1, 1]);
        let halves = |x| _mm512_permutexvar_epi64(order, load_pair(x));
        Self {
            w: halves(w),
            quotient: halves(quotient),
        }
    }

    /// Four factors, twice.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn quad(w: &[u64; 4], quotient: &[u64; 4]) -> Self {
        Self {
            w: load_quad(w),
            quotient: load_quad(quotient),
        }
    }

    /// Eight factors: first those of even numbers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn octet_by_parity(w: &[u64; 8], quotient: &[u64; 8]) -> Self {
        let order = load(&[0, 2, 4, 6, 1, 3, 5, 7]);
        Self {
            w: _mm512_permutexvar_epi64(order, load(w)),
            quotient: _mm512_permutexvar_epi64(order, load(quotient)),
        }
    }

    /// Eight factors.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn octet(w: &[u64; 8], quotient: &[u64; 8]) -> Self {
        Self {
            w: load(w),
            quotient: load(quotient),
        }
    }
}

/// Even lanes of `a` and `b`, alternating, then odd ones: `a0 b0 a2 b2 ..`, `a1 b1 a3 b3 ..`.
///
/// Assembly, because the compiler joins it with the next movement to a permutation of two sources:
/// one instruction less, but next to multiply-adds it takes longer than both.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn interleave(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (even, odd): (__m512i, __m512i);
    // SAFETY: AVX-512F instructions on registers.
    unsafe {
        asm!("vpunpcklqdq {}, {}, {}", lateout(zmm_reg) even, in(zmm_reg) a, in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
        asm!("vpunpckhqdq {}, {}, {}", lateout(zmm_reg) odd, in(zmm_reg) a, in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    (even, odd)
}

/// Pairs of lanes 0 and 2 of `a` and `b`, then pairs 1 and 3.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn every_second_pair(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_shuffle_i64x2::<0b10_00_10_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b),
    )
}

/// Lower halves of `a` and `b`, then upper halves.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn halves(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
    )
}

/// Sums of at most this many products below `2^100` are below `2^104`: the high half stays below
/// `2^52` with the carry of the low one.
pub(super) const SHORT_TERMS: usize = 16;

/// The number of short terms whose sum stays below `2^104` where one operand is a factor
/// ([`ntt_factors`](crate::Kernels::ntt_factors)): factors may be up to `4q`, below `2^52`, and
/// products below `2^102`.
pub(super) const SHORT_TERMS_OF_FACTORS: usize = 4;

/// Reduces sums of products kept as low and high 52-bit halves.
pub(super) struct Wide {
    f: Field,
    /// `2^52 mod q`.
    r52: Factors,
    /// `2^104 mod q`.
    r104: Factors,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(m: &Modulus) -> Self {
        let [r52, r104] = m.word_weights();
        Self {
            f: Field::new(m),
            r52: Factors::splat(r52),
            r104: Factors::splat(r104),
        }
    }

    /// `low + 2^52 high` to canonical, for sums of at most [`SHORT_TERMS`] products.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce_short(&self, low: __m512i, high: __m512i) -> __m512i {
        self.f.canonical_4q(self.reduce_lazy(low, high))
    }

    /// `low + 2^52 high` to `[0, 4q)` with rubbish, for sums below `2^104`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce_lazy(&self, low: __m512i, high: __m512i) -> __m512i {
        let f = &self.f;
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        f.mul_acc(f.reduce(low), high, self.r52)
    }

    /// `low + 2^52 high` to canonical; `high` is below `2^63`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce(&self, low: __m512i, high: __m512i) -> __m512i {
        let f = &self.f;
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        // Each step adds less than 2q to less than 2q.
        let sum = f.mul_acc(f.reduce(low), high, self.r52);
        let top = _mm512_srli_epi64::<52>(high);
        f.canonical_4q(f.mul_acc(f.reduce(sum), top, self.r104))
    }
}

/// Eight halves, one in each lane.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn load_u32(x: &[u32; 8]) -> __m512i {
    // SAFETY: reads the 32 bytes of `x`.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(x.as_ptr().cast()) })
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_word(x: &u64) -> __m512i {
    // SAFETY: reads the 8 bytes of `x`.
    _mm512_broadcastq_epi64(unsafe { _mm_loadl_epi64(std::ptr::from_ref(x).cast()) })
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_pair(x: &[u64; 2]) -> __m512i {
    // SAFETY: reads the 16 bytes of `x`.
    _mm512_broadcast_i64x2(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_quad(x: &[u64; 4]) -> __m512i {
    // SAFETY: reads the 32 bytes of `x`.
    _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(x.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn splat(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn load(x: &Block) -> __m512i {
    // SAFETY: reads the 64 bytes of `x`.
    unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn store(x: &mut Block, v: __m512i) {
    // SAFETY: writes the 64 bytes of `x`.
    unsafe { _mm512_storeu_si512(x.as_mut_ptr().cast(), v) }
}

/// Loads block `i`.
///
/// # Safety
/// `i < row.len()`.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn load_at(row: &[Block], i: usize) -> __m512i {
    debug_assert!(i < row.len());
    // SAFETY: in range by contract.
    load(unsafe { row.get_unchecked(i) })
}

/// Stores block `i`.
///
/// # Safety
/// `i < row.len()`.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn store_at(row: &mut [Block], i: usize, v: __m512i) {
    debug_assert!(i < row.len());
    // SAFETY: in range by contract.
    store(unsafe { row.get_unchecked_mut(i) }, v);
}

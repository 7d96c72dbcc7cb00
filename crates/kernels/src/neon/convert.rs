//! Sums of products and basis conversion. Ranges and shapes: see the methods of
//! [`Kernels`](crate::Kernels).

use std::arch::aarch64::*;

use super::float::{Block, Factor, Field, load, load_residues, store};
use crate::{
    Modulus,
    scalar::{convert as scalar, mul::dot_from},
};

/// Bits of the low limb of a factor.
const LIMB: i32 = 26;
const LOW: u64 = (1 << LIMB) - 1;

/// Two vectors: what limbs are cut from together.
type Quad = [Block; 2];

/// The low 26 bits of four words, and the rest, for words below `2^58`.
#[derive(Clone, Copy)]
struct Limbs {
    low: uint32x4_t,
    high: uint32x4_t,
}

impl Limbs {
    #[inline]
    #[target_feature(enable = "neon")]
    fn load([a, b]: &Quad) -> Self {
        let (a, b) = (load(a), load(b));
        let words = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
        Self {
            low: vandq_u32(words, vdupq_n_u32(LOW as u32)),
            high: vshrn_high_n_u64::<LIMB>(vshrn_n_u64::<LIMB>(a), b),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn splat(x: u64) -> Self {
        Self {
            low: vdupq_n_u32((x & LOW) as u32),
            high: vdupq_n_u32((x >> LIMB) as u32),
        }
    }
}

/// Sums of limb products: at most 4096 terms below `2^52`, `2^51` and `2^48`.
#[derive(Clone, Copy)]
struct Sums {
    low: uint64x2_t,
    middle: uint64x2_t,
    high: uint64x2_t,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "neon")]
    fn zero() -> [Self; 2] {
        let zero = vdupq_n_u64(0);
        [Self {
            low: zero,
            middle: zero,
            high: zero,
        }; 2]
    }

    /// Adds `x y`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn add([first, second]: &mut [Self; 2], x: Limbs, y: Limbs) {
        let half = |x: Limbs| [vget_low_u32(x.low), vget_low_u32(x.high)];
        let ([x0, x1], [y0, y1]) = (half(x), half(y));
        first.low = vmlal_u32(first.low, x0, y0);
        first.middle = vmlal_u32(vmlal_u32(first.middle, x0, y1), x1, y0);
        first.high = vmlal_u32(first.high, x1, y1);
        second.low = vmlal_high_u32(second.low, x.low, y.low);
        second.middle = vmlal_high_u32(second.middle, x.low, y.high);
        second.middle = vmlal_high_u32(second.middle, x.high, y.low);
        second.high = vmlal_high_u32(second.high, x.high, y.high);
    }

    /// `low + 2^26 middle + 2^52 high`, canonical.
    #[inline]
    #[target_feature(enable = "neon")]
    fn reduce(&self, wide: &Wide) -> uint64x2_t {
        let (f, mask) = (&wide.f, vdupq_n_u64(LOW));
        let middle = vsraq_n_u64::<LIMB>(self.middle, self.low);
        let high = vsraq_n_u64::<LIMB>(self.high, middle);
        let low = vsliq_n_u64::<LIMB>(self.low, vandq_u64(middle, mask));
        let top = vcvtq_f64_u64(vshrq_n_u64::<52>(high));
        let high = vcvtq_f64_u64(vandq_u64(high, vdupq_n_u64((1 << 52) - 1)));
        // Within 1, 2 (the quotient is off by 1.5 at most) and 0.51 times q.
        let sum = vaddq_f64(f.reduce(vcvtq_f64_u64(low)), f.mul(high, wide.r52));
        f.residues(f.reduce(vaddq_f64(sum, f.mul(top, wide.r104))))
    }
}

/// The constants that reduce [`Sums`].
struct Wide {
    f: Field,
    /// `2^52 mod q`.
    r52: Factor,
    /// `2^104 mod q`.
    r104: Factor,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(m: &Modulus) -> Self {
        let (f, [r52, r104]) = (Field::new(m), m.word_weights());
        Self {
            f,
            r52: f.factor(r52.w),
            r104: f.factor(r104.w),
        }
    }
}

/// Groups of four residues whose sums stay in registers.
const TILE: usize = 2;
const TILE_LEN: usize = 4 * TILE;

#[target_feature(enable = "neon")]
pub(super) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let wide = Wide::new(m);
    let mut done = 0;
    for out in out.as_chunks_mut::<TILE_LEN>().0 {
        let mut sums = [Sums::zero(); TILE];
        for (a, b) in a.iter().zip(b) {
            for ((sums, a), b) in sums.iter_mut().zip(quads(a, done)).zip(quads(b, done)) {
                Sums::add(sums, Limbs::load(a), Limbs::load(b));
            }
        }
        finish(out, &sums, &wide);
        done += TILE_LEN;
    }
    dot_from(m, out, a, b, done);
}

#[target_feature(enable = "neon")]
pub(super) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    let wide = Wide::new(m);
    let mut done = 0;
    for out in out.as_chunks_mut::<TILE_LEN>().0 {
        let mut sums = [Sums::zero(); TILE];
        for (row, &c) in src.iter().zip(coef) {
            let c = Limbs::splat(c);
            for (sums, x) in sums.iter_mut().zip(quads(row, done)) {
                Sums::add(sums, Limbs::load(x), c);
            }
        }
        finish(out, &sums, &wide);
        done += TILE_LEN;
    }
    scalar::convert_from(m, out, src, coef, done);
}

/// The groups of a tile.
#[inline(always)]
fn quads(row: &[u64], from: usize) -> &[Quad] {
    let (blocks, _) = row[from..from + TILE_LEN].as_chunks();
    blocks.as_chunks().0
}

#[inline]
#[target_feature(enable = "neon")]
fn finish(out: &mut [u64; TILE_LEN], sums: &[[Sums; 2]; TILE], wide: &Wide) {
    for (out, sum) in out.as_chunks_mut().0.iter_mut().zip(sums.as_flattened()) {
        store(out, sum.reduce(wide));
    }
}

/// Vectors of doubles whose sums stay in registers.
const FLOAT_TILE: usize = 4;

#[target_feature(enable = "neon")]
pub(super) fn quotient(out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
    let mut done = 0;
    for tile in out.as_chunks_mut::<2>().0.as_chunks_mut::<FLOAT_TILE>().0 {
        let mut sums = [vdupq_n_f64(0.5); FLOAT_TILE];
        for (row, &c) in y.iter().zip(inv) {
            let row = row[done..done + 2 * FLOAT_TILE].as_chunks().0;
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = vaddq_f64(*sum, vmulq_n_f64(load_residues(x), c));
            }
        }
        for (out, &sum) in tile.iter_mut().zip(&sums) {
            // Truncation is floor: the sum is positive.
            store(out, vcvtq_u64_f64(sum));
        }
        done += 2 * FLOAT_TILE;
    }
    scalar::quotient_from(out, y, inv, done);
}

#[target_feature(enable = "neon")]
pub(super) fn lift_centered(m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
    let f = Field::new(m);
    let (half, whole) = (vdupq_n_u32(p / 2), vdupq_n_u32(p));
    let ((out, out_tail), (src, src_tail)) = (out.as_chunks_mut::<4>(), src.as_chunks());
    for (out, src) in out.iter_mut().zip(src) {
        let v = load_u32(src);
        let less = vandq_u32(vcgtq_u32(v, half), whole);
        let low = vsubl_u32(vget_low_u32(v), vget_low_u32(less));
        let (out, _) = out.as_chunks_mut();
        for (out, centred) in out.iter_mut().zip([low, vsubl_high_u32(v, less)]) {
            let centred = vcvtq_f64_s64(vreinterpretq_s64_u64(centred));
            store(out, f.residues(f.reduce(centred)));
        }
    }
    scalar::lift_centered(m, out_tail, src_tail, p);
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn load_u32(x: &[u32; 4]) -> uint32x4_t {
    // SAFETY: reads the 16 bytes of `x`.
    unsafe { vld1q_u32(x.as_ptr()) }
}

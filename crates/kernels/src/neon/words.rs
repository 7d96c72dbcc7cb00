//! Sums of products of 32-bit words. Ranges and shapes: see [`WordRows`].

use std::arch::aarch64::*;

use super::float::{Factor, Field, store};
use crate::scalar::words::dot_words_from;
use crate::words::{Line, WORD_LINE, put};
use crate::{Modulus, WordRows};

/// Lists of `b` whose sums stay in registers, for [`OCTET`] places.
const PARTS: usize = 2;

/// Places that are read together.
const OCTET: usize = 8;

#[target_feature(enable = "neon")]
pub(super) fn dot_words(m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
    let halves = Halves::new(m);
    let parts = rows.b.len();
    let lists = out.len().checked_div(parts).unwrap_or(0);
    let a = rows.a_lines();
    for line in 0..WordRows::lines(out) {
        for list in 0..lists {
            let at = line * lists + list;
            let sums = &mut out[list * parts..(list + 1) * parts];
            let mut part = 0;
            while part + PARTS <= parts {
                add_up::<PARTS>(&halves, &mut sums[part..], line, &a, at, rows, part);
                part += PARTS;
            }
            if part < parts {
                add_up::<1>(&halves, &mut sums[part..], line, &a, at, rows, part);
            }
        }
    }
}

/// Writes one line of the first `P` outputs: the sums of line `at` of each term of `a` with the lists of `b` from `part`
/// on.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn add_up<const P: usize>(
    halves: &Halves,
    out: &mut [&mut [u64]],
    line: usize,
    a: &[&[Line]],
    at: usize,
    rows: &WordRows<'_>,
    part: usize,
) {
    let b = rows.b_lists::<P>(line, part);
    let mut results = [[0; WORD_LINE]; P];
    for octet in 0..WORD_LINE / OCTET {
        let mut sums = [[Sums::zero(); OCTET / 2]; P];
        for (i, term) in a.iter().enumerate() {
            // SAFETY: each term of `a` has a line for each list and line of the outputs.
            let a_line: &Line = unsafe { term.get_unchecked(at) };
            let x = load_words(&a_line.as_chunks().0[octet]);
            for (sums, list) in sums.iter_mut().zip(b) {
                // SAFETY: each list of `b` has a line for each term.
                let b_line: &Line = unsafe { list.get_unchecked(i) };
                let y = load_words(&b_line.as_chunks().0[octet]);
                for quad in 0..2 {
                    let (x, y) = (x[quad], y[quad]);
                    sums[2 * quad].add(vmull_u32(vget_low_u32(x), vget_low_u32(y)));
                    sums[2 * quad + 1].add(vmull_high_u32(x, y));
                }
            }
        }
        for (result, sums) in results.iter_mut().zip(&sums) {
            let places = &mut result.as_chunks_mut::<OCTET>().0[octet];
            for (block, sums) in places.as_chunks_mut().0.iter_mut().zip(sums) {
                store(block, halves.reduce(sums));
            }
        }
    }
    for (row, result) in out.iter_mut().zip(&results) {
        put(row, line, result);
    }
}

/// Products below `2^62` that fit a word together with a remainder below `2^32`.
const SHORT: usize = 4;

/// Places of a row whose sums stay in registers.
const QUAD: usize = 4;

#[target_feature(enable = "neon")]
pub(super) fn dot_square_words(
    m: &Modulus,
    mut out: [&mut [u64]; 4],
    a: [&[&[u32]]; 2],
    b: [&[&[u32]]; 2],
) {
    let halves = Halves::new(m);
    let quads = out[0].len() / QUAD;
    for quad in 0..quads {
        // Output `2 k + l` at two places each.
        let mut sums = [[Sums::zero(); 2]; 4];
        for first in (0..a[0].len()).step_by(SHORT) {
            for i in first..a[0].len().min(first + SHORT) {
                let [x, y] = [a, b].map(|lists| lists.map(|list| quad_of(list[i], quad)));
                for (sums, which) in sums.iter_mut().zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
                    let (x, y) = (x[which.0], y[which.1]);
                    let [low, high] = sums;
                    low.whole = vmlal_u32(low.whole, vget_low_u32(x), vget_low_u32(y));
                    high.whole = vmlal_high_u32(high.whole, x, y);
                }
            }
            for sum in sums.as_flattened_mut() {
                sum.high = vsraq_n_u64::<32>(sum.high, sum.whole);
                sum.whole = vandq_u64(sum.whole, vdupq_n_u64(u32::MAX.into()));
            }
        }
        for (out, sums) in out.iter_mut().zip(&mut sums) {
            let places = &mut out.as_chunks_mut::<QUAD>().0[quad];
            for (block, sum) in places.as_chunks_mut().0.iter_mut().zip(sums) {
                sum.whole = vaddq_u64(sum.whole, vshlq_n_u64::<32>(sum.high));
                store(block, halves.reduce(sum));
            }
        }
    }
    for (i, out) in out.into_iter().enumerate() {
        dot_words_from(m, out, a[i / 2], b[i % 2], QUAD * quads);
    }
}

/// The words of a row at four places.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn quad_of(row: &[u32], quad: usize) -> uint32x4_t {
    let words: &[u32; QUAD] = &row.as_chunks().0[quad];
    // SAFETY: reads the 16 bytes of `words`.
    unsafe { vld1q_u32(words.as_ptr()) }
}

/// A sum of at most 4096 products, modulo `2^64`, and the sum of the high halves of the products. The sum of
/// their low halves, below `2^44`, is the difference.
#[derive(Clone, Copy)]
struct Sums {
    whole: uint64x2_t,
    high: uint64x2_t,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "neon")]
    fn zero() -> Self {
        let zero = vdupq_n_u64(0);
        Self {
            whole: zero,
            high: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn add(&mut self, product: uint64x2_t) {
        self.whole = vaddq_u64(self.whole, product);
        self.high = vsraq_n_u64::<32>(self.high, product);
    }
}

/// The constants that reduce [`Sums`].
struct Halves {
    f: Field,
    /// `2^32 mod q`.
    r32: Factor,
}

impl Halves {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(m: &Modulus) -> Self {
        let f = Field::new(m);
        let r32 = f.factor(m.reduce(1 << 32));
        Self { f, r32 }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn reduce(&self, sums: &Sums) -> uint64x2_t {
        let low = vsubq_u64(sums.whole, vshlq_n_u64::<32>(sums.high));
        // Each is at most 0.51 q from zero: both words are below 2^44, so quotients are off by less than 0.01.
        let low = self.f.reduce(vcvtq_f64_u64(low));
        let high = self.f.mul(vcvtq_f64_u64(sums.high), self.r32);
        self.f.residues(self.f.reduce(vaddq_f64(low, high)))
    }
}

/// Eight words, four in a vector.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn load_words(x: &[u32; OCTET]) -> [uint32x4_t; 2] {
    let halves: &[[u32; 4]] = x.as_chunks().0;
    // SAFETY: reads the 16 bytes of each half of `x`.
    unsafe { [vld1q_u32(halves[0].as_ptr()), vld1q_u32(halves[1].as_ptr())] }
}

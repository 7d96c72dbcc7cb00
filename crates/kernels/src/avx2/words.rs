//! Sums of products of 32-bit words. Ranges and shapes: see [`WordRows`].

use std::arch::x86_64::*;

use super::float::{Factors, Field, splat, store, to_float, to_int};
use crate::scalar::words::dot_words_from;
use crate::words::{Line, WORD_LINE, put};
use crate::{Modulus, WordRows};

/// Lists of `b` whose sums stay in registers, for [`OCTET`] places.
const PARTS: usize = 2;

/// Places that are read together.
const OCTET: usize = 8;

/// How many lines of each term are on their way: terms are more streams than a processor follows by itself.
const AHEAD: usize = 4;

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_words(m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
    let halves = Halves::new(m);
    let parts = rows.b.len();
    let lists = out.len().checked_div(parts).unwrap_or(0);
    let a = rows.a_lines();
    for line in 0..WordRows::lines(out) {
        for list in 0..lists {
            let at = line * lists + list;
            prefetch(&a, at + AHEAD);
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
#[target_feature(enable = "avx2,fma")]
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
        let mut sums = [[Sums::zero(); 2]; P];
        for (i, term) in a.iter().enumerate() {
            // SAFETY: each term of `a` has a line for each list and line of the outputs.
            let a_line: &Line = unsafe { term.get_unchecked(at) };
            let x = load_words(&a_line.as_chunks().0[octet]);
            for (sums, list) in sums.iter_mut().zip(b) {
                // SAFETY: each list of `b` has a line for each term.
                let b_line: &Line = unsafe { list.get_unchecked(i) };
                let y = load_words(&b_line.as_chunks().0[octet]);
                sums[0].add(x[0], y[0]);
                sums[1].add(x[1], y[1]);
            }
        }
        for (result, sums) in results.iter_mut().zip(&sums) {
            let places = &mut result.as_chunks_mut::<OCTET>().0[octet];
            halves.store_octet(places, sums);
        }
    }
    for (row, result) in out.iter_mut().zip(&results) {
        put(row, line, result);
    }
}

/// Products below `2^62` that fit a word together with a remainder below `2^32`.
const SHORT: usize = 4;

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_square_words(
    m: &Modulus,
    mut out: [&mut [u64]; 4],
    a: [&[&[u32]]; 2],
    b: [&[&[u32]]; 2],
) {
    let halves = Halves::new(m);
    let octets = out[0].len() / OCTET;
    for octet in 0..octets {
        // Output `2 k + l` in even and odd places.
        let mut sums = [[Sums::zero(); 2]; 4];
        for first in (0..a[0].len()).step_by(SHORT) {
            for i in first..a[0].len().min(first + SHORT) {
                let [x, y] = [a, b].map(|lists| lists.map(|list| octet_of(list[i], octet)));
                for (sums, which) in sums.iter_mut().zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
                    for (sum, place) in sums.iter_mut().zip(0..2) {
                        let product = _mm256_mul_epu32(x[which.0][place], y[which.1][place]);
                        sum.whole = _mm256_add_epi64(sum.whole, product);
                    }
                }
            }
            for sum in sums.as_flattened_mut() {
                sum.high = _mm256_add_epi64(sum.high, _mm256_srli_epi64::<32>(sum.whole));
                sum.whole = _mm256_and_si256(sum.whole, splat(u64::from(u32::MAX)));
            }
        }
        for (out, sums) in out.iter_mut().zip(&mut sums) {
            for sum in sums.iter_mut() {
                sum.whole = _mm256_add_epi64(sum.whole, _mm256_slli_epi64::<32>(sum.high));
            }
            let places = &mut out.as_chunks_mut::<OCTET>().0[octet];
            halves.store_octet(places, sums);
        }
    }
    for (i, out) in out.into_iter().enumerate() {
        dot_words_from(m, out, a[i / 2], b[i % 2], OCTET * octets);
    }
}

/// The words of a row at an octet of places.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn octet_of(row: &[u32], octet: usize) -> [__m256i; 2] {
    load_words(&row.as_chunks().0[octet])
}

/// Asks for line `at` of each term, if there is one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn prefetch(a: &[&[Line]], at: usize) {
    for term in a {
        _mm_prefetch::<_MM_HINT_T1>(term.as_ptr().wrapping_add(at).cast());
    }
}

/// A sum of at most 4096 products, modulo `2^64`, and the sum of the high halves of the products. The sum of
/// their low halves, below `2^44`, is the difference.
#[derive(Clone, Copy)]
struct Sums {
    whole: __m256i,
    high: __m256i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn zero() -> Self {
        Self {
            whole: splat(0),
            high: splat(0),
        }
    }

    /// Adds the products of the low halves of lanes.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(&mut self, x: __m256i, y: __m256i) {
        let product = _mm256_mul_epu32(x, y);
        self.whole = _mm256_add_epi64(self.whole, product);
        self.high = _mm256_add_epi64(self.high, _mm256_srli_epi64::<32>(product));
    }
}

/// The constants that reduce [`Sums`].
struct Halves {
    f: Field,
    /// `2^32 mod q`.
    r32: Factors,
}

impl Halves {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus) -> Self {
        let f = Field::new(m);
        let r32 = f.splat(m.reduce(1 << 32));
        Self { f, r32 }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn reduce(&self, sums: &Sums) -> __m256i {
        let low = _mm256_sub_epi64(sums.whole, _mm256_slli_epi64::<32>(sums.high));
        // Each is at most 0.51 q from zero: both words are below 2^44, so quotients are off by less than 0.01.
        let low = self.f.reduce(to_float(low));
        let high = self.f.mul(to_float(sums.high), self.r32);
        let sum = self.f.reduce(_mm256_add_pd(low, high));
        to_int(self.f.canonical(sum))
    }

    /// Stores sums of even and of odd places in the order of places.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn store_octet(&self, out: &mut [u64; OCTET], sums: &[Sums; 2]) {
        let [even, odd] = [self.reduce(&sums[0]), self.reduce(&sums[1])];
        let first = _mm256_unpacklo_epi64(even, odd);
        let second = _mm256_unpackhi_epi64(even, odd);
        let blocks = out.as_chunks_mut().0;
        store(
            &mut blocks[0],
            _mm256_permute2x128_si256::<0x20>(first, second),
        );
        store(
            &mut blocks[1],
            _mm256_permute2x128_si256::<0x31>(first, second),
        );
    }
}

/// Eight words: those of even and of odd places, each in the low half of a lane.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_words(x: &[u32; OCTET]) -> [__m256i; 2] {
    // SAFETY: reads the 32 bytes of `x`.
    let words = unsafe { _mm256_loadu_si256(x.as_ptr().cast()) };
    [words, _mm256_srli_epi64::<32>(words)]
}

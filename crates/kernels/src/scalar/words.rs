//! Sums of products of 32-bit words. Ranges and shapes: see [`WordRows`].

use crate::words::{Line, WORD_LINE, put};
use crate::{Modulus, WordRows};

pub(crate) fn dot_words(m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
    let parts = rows.b.len();
    let a = rows.a_lines();
    for line in 0..WordRows::lines(out) {
        for i in 0..out.len() {
            let at = line * (out.len() / parts) + i / parts;
            put(out[i], line, &sums(m, &a, at, rows.b(line, i % parts)));
        }
    }
}

/// The sums of line `at` of each term of `a` with the lines of a list of `b`.
fn sums(m: &Modulus, a: &[&[Line]], at: usize, b: &[Line]) -> [u64; WORD_LINE] {
    // Products fill a word, so their halves are added apart: at most 4096 of them stay below 2^44.
    let (mut low, mut high) = ([0; WORD_LINE], [0; WORD_LINE]);
    for (a, b) in a.iter().zip(b) {
        for x in 0..WORD_LINE {
            let product = u64::from(a[at][x]) * u64::from(b[x]);
            low[x] += product & u64::from(u32::MAX);
            high[x] += product >> 32;
        }
    }
    std::array::from_fn(|x| m.reduce_u128((u128::from(high[x]) << 32) + u128::from(low[x])))
}

pub(crate) fn dot_square_words(
    m: &Modulus,
    out: [&mut [u64]; 4],
    a: [&[&[u32]]; 2],
    b: [&[&[u32]]; 2],
) {
    for (i, out) in out.into_iter().enumerate() {
        dot_words_from(m, out, a[i / 2], b[i % 2], 0);
    }
}

/// The sums of products of rows of words from place `start` on.
pub(crate) fn dot_words_from(
    m: &Modulus,
    out: &mut [u64],
    a: &[&[u32]],
    b: &[&[u32]],
    start: usize,
) {
    for (x, out) in out.iter_mut().enumerate().skip(start) {
        let rows = a.iter().zip(b);
        let products = rows.map(|(a, b)| u128::from(u64::from(a[x]) * u64::from(b[x])));
        *out = m.reduce_u128(products.sum());
    }
}

//! Sums of products of residues that are stored as 32-bit words.

use crate::kernels::{MAX_DOT_TERMS, check_dots, product};
use crate::{Kernels, Modulus};

/// Places of a line of words, 64 bytes: rows of 32-bit words are interleaved by lines.
pub const WORD_LINE: usize = 16;

/// One line of a row.
pub(crate) type Line = [u32; WORD_LINE];

/// The factors of [`Kernels::dot_words`]: lists of rows, residues in `[0, q)`. Every list has a row for each term.
///
/// A list of `a` meets every list of `b`. The words of `a` are read from first to last, once, and a line of
/// all lists of `b` is kept for all lists of `a`, so that `a` may be as large as the memory.
/// Alignment: any, but words that start on a cache line are read faster.
#[derive(Clone, Copy, Debug)]
pub struct WordRows<'a> {
    /// For each term the rows of all lists of `a`, as [`place_words`] lays out lists of one row.
    pub a: &'a [&'a [u32]],
    /// The lists of `b`, each by itself, as [`place_words`] lays out one list of all terms.
    pub b: &'a [&'a [u32]],
}

impl<'a> WordRows<'a> {
    /// The lines of each term of `a`: line `l` of list `k` of `L` is at `l L + k`.
    pub(crate) fn a_lines(&self) -> Vec<&'a [Line]> {
        self.a.iter().map(|words| words.as_chunks().0).collect()
    }

    /// The lines of list `list` of `b`, one of each row.
    #[inline]
    pub(crate) fn b(&self, line: usize, list: usize) -> &'a [Line] {
        let from = line * self.a.len();
        &self.b[list].as_chunks().0[from..from + self.a.len()]
    }

    /// [`WordRows::b`] of `P` lists from `first` on. All have a line for each term, as `a` has.
    #[inline]
    pub(crate) fn b_lists<const P: usize>(&self, line: usize, first: usize) -> [&'a [Line]; P] {
        let mut lists: [&[Line]; P] = [&[]; P];
        for (i, list) in lists.iter_mut().enumerate() {
            *list = self.b(line, first + i);
        }
        lists
    }

    /// Returns the number of lines in a row.
    pub(crate) fn lines(out: &[&mut [u64]]) -> usize {
        out.first().map_or(0, |row| row.len().div_ceil(WORD_LINE))
    }

    fn check(&self, out: &[&mut [u64]]) {
        let terms = self.a.len();
        assert!(terms <= MAX_DOT_TERMS, "more than {MAX_DOT_TERMS} products");
        let lines = Self::lines(out);
        let n = out.first().map_or(0, |row| row.len());
        assert!(out.iter().all(|row| row.len() == n), "row lengths differ");
        assert!(
            self.b
                .iter()
                .all(|words| words.len() == lines * terms * WORD_LINE),
            "a list of b is not as long as the outputs"
        );
        let lists = out.len().checked_div(self.b.len()).unwrap_or(0);
        assert_eq!(lists * self.b.len(), out.len(), "number of outputs");
        assert!(
            self.a
                .iter()
                .all(|words| words.len() == lines * lists * WORD_LINE),
            "words of a term of a"
        );
    }
}

/// Writes the residues of one list of rows to their places among `lists` lists, interleaved by lines: residue
/// `16 l + x` of row `i` of list `k` of `t` rows becomes word `((l lists + k) t + i) 16 + x` of `out`.
///
/// Range: residues below `2^32`; of larger ones the low 32 bits are written. Words past the end of a row that
/// is no multiple of [`WORD_LINE`] become zeros.
/// Panics: when `list >= lists`, when rows differ in length, or when `out` is not as long as all lists.
pub fn place_words(out: &mut [u32], lists: usize, list: usize, rows: &[&[u64]]) {
    assert!(list < lists, "list {list} of {lists}");
    let n = rows.first().map_or(0, |row| row.len());
    assert!(rows.iter().all(|row| row.len() == n), "row lengths differ");
    let terms = rows.len();
    assert_eq!(
        product([n.div_ceil(WORD_LINE), lists, terms, WORD_LINE]),
        Some(out.len()),
        "words of all lists"
    );
    if terms == 0 {
        return;
    }
    let lines = out.as_chunks_mut::<WORD_LINE>().0;
    for (line, lines) in lines.chunks_mut(lists * terms).enumerate() {
        for (to, row) in lines[list * terms..].iter_mut().zip(rows) {
            place_line(to, &row[line * WORD_LINE..]);
        }
    }
}

/// Writes the first residues of `row` to a line, and zeros where there are fewer than places.
fn place_line(line: &mut Line, row: &[u64]) {
    match row.first_chunk::<WORD_LINE>() {
        Some(residues) => *line = residues.map(|x| x as u32),
        None => {
            line.fill(0);
            for (word, &x) in line.iter_mut().zip(row) {
                *word = x as u32;
            }
        }
    }
}

/// Writes sums to line `line` of a row, which may end within it.
#[inline]
pub(crate) fn put(row: &mut [u64], line: usize, sums: &[u64; WORD_LINE]) {
    let places = &mut row[line * WORD_LINE..];
    match places.first_chunk_mut() {
        Some(whole) => *whole = *sums,
        None => places.copy_from_slice(&sums[..places.len()]),
    }
}

/// Sums of products of 32-bit words.
impl Kernels {
    /// `out[k L + l] = sum_i a_k[i] b_l[i]`, pointwise, for every list `k` of `a` and each of the L lists `l`
    /// of `b`; empty sums are zero.
    ///
    /// Range: `q < 2^32`. Shape: outputs of any length, all equal. To share the work among threads, cut `a`, the
    /// lists of `b` and the outputs at the same lines.
    /// Panics: when the modulus has more than 32 bits; when words and outputs do not fit each other; on more
    /// than [`MAX_DOT_TERMS`] terms.
    /// Speed: bound by the memory for two lists of `b`, by the arithmetic for more. Outputs that start on
    /// a cache line are written past the caches where that is faster.
    pub fn dot_words(&self, m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
        assert!(m.bits() <= 32, "modulus {} has over 32 bits", m.value());
        rows.check(out);
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.dot_words)(m, out, rows)
        }
    }

    /// [`Kernels::dot_square`] of rows of words: `out[2 k + l] = sum_i a[k][i] b[l][i]`, pointwise.
    ///
    /// Range: residues below `q < 2^31`. Alignment: any. Panics: when the modulus has more than 31 bits; on length
    /// mismatch; on more than [`MAX_DOT_TERMS`] products.
    pub fn dot_square_words(
        &self,
        m: &Modulus,
        out: [&mut [u64]; 4],
        a: [&[&[u32]]; 2],
        b: [&[&[u32]]; 2],
    ) {
        assert!(m.bits() <= 31, "modulus {} has over 31 bits", m.value());
        check_dots(&out, a, b);
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.dot_square_words)(m, out, a, b)
        }
    }
}

//! Products modulo `X^n + 1` in double precision: transforms of digits, products with blocks of keys.
//!
//! A real polynomial modulo `X^n + 1` is known by its values at half of the roots, those of
//! `X^(n/2) = i`: coefficient j and i times coefficient `j + n/2` fold into one.

use std::f64::consts::PI;

use crate::{Gadget, KEY_ROWS, Kernels, MAX_BLOCK};

pub(crate) type Digits = unsafe fn(&FourierTable, Gadget, &mut [&mut [f64]], &[u64]);
pub(crate) type Add = unsafe fn(&FourierTable, &mut [u64], &mut [f64]);
pub(crate) type Product = unsafe fn(&FourierTable, &mut [FourierRows<'_>], &[&[f64]]);

/// A complex number, or several: real and imaginary parts.
pub(crate) type Complex = [f64; 2];

/// Values of a vector.
pub(crate) const LANES: usize = 8;
/// Values that the last levels of a transform bring together.
pub(crate) const GROUP: usize = LANES * LANES;
/// A transform starts with two levels before its groups.
const MIN_N: usize = 2 * 4 * GROUP;

/// Eight lanes on a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Octet(pub(crate) [f64; LANES]);

/// Roots of unity for polynomials of `n` coefficients.
///
/// A transformed row has `n` words: those of value `8 v + l` are `16 v + l` (real part) and
/// `16 v + 8 + l`. Values come in the order of the levels, but with each group of 64 transposed.
#[derive(Clone, Debug)]
pub struct FourierTable {
    /// `exp(2 pi i e / 2n)` for all e.
    roots: Vec<Complex>,
    /// For each value the e of its point.
    points: Vec<u32>,
    /// By heap slot (see the transforms modulo primes), of all levels.
    twiddles: Vec<Complex>,
    /// For each group the last levels' twiddles, real and imaginary parts: of the first level, of half
    /// of the second's and of every second of the last's four. The others are i times these.
    leaves: Vec<[[Octet; 2]; 4]>,
    /// For each exponent modulo 64 what the lanes of a vector are multiplied by.
    patterns: Vec<[Octet; 2]>,
}

impl FourierTable {
    /// The table of dimension `n`. Panics: when it is no power of two or below 512.
    pub fn new(n: usize) -> Self {
        assert!(n.is_power_of_two() && n >= MIN_N, "dimension {n}");
        let (values, turn) = (n / 2, 2 * n);
        let roots: Vec<Complex> = (0..turn).map(|e| root(e, turn)).collect();
        // The polynomial of slot s = 2^L + b is X^.. - z^2, with z at (4 brv(b) + 1) / 2^(L + 3) turns.
        let twiddle = |s: usize| {
            let level = s.ilog2();
            let turns = 4 * reversed(s - (1 << level), level) + 1;
            roots[turns * (turn >> (level + 3))]
        };
        let twiddles: Vec<Complex> = std::iter::once([1.0, 0.0])
            .chain((1..values).map(twiddle))
            .collect();
        let point = |at: usize| {
            let (group, vector, lane) = (at / GROUP, at / LANES % LANES, at % LANES);
            let place = group * GROUP + lane * LANES + vector;
            (4 * reversed(place, values.ilog2()) + 1) as u32
        };
        let octets = |of: &dyn Fn(usize) -> Complex| {
            [0, 1].map(|part| Octet(std::array::from_fn(|lane| of(lane)[part])))
        };
        let leaf = |group: usize| {
            let slot = |lane: usize| values / LANES + group * LANES + lane;
            [
                octets(&|lane| twiddles[slot(lane)]),
                octets(&|lane| twiddles[2 * slot(lane)]),
                octets(&|lane| twiddles[4 * slot(lane)]),
                octets(&|lane| twiddles[4 * slot(lane) + 2]),
            ]
        };
        let pattern = |a: usize| octets(&|lane| root(a * reversed(lane, 3) % GROUP, GROUP));
        Self {
            points: (0..values).map(point).collect(),
            leaves: (0..values / GROUP).map(leaf).collect(),
            patterns: (0..GROUP).map(pattern).collect(),
            roots,
            twiddles,
        }
    }

    /// The dimension.
    pub fn n(&self) -> usize {
        self.roots.len() / 2
    }

    /// Transforms a polynomial, at the pace of the portable back end.
    ///
    /// Panics: on length mismatch.
    pub fn transform(&self, out: &mut [f64], coeffs: &[f64]) {
        assert!(
            out.len() == self.n() && coeffs.len() == self.n(),
            "row lengths differ"
        );
        crate::scalar::fourier::transform(self, out, |j| coeffs[j]);
    }

    #[inline]
    pub(crate) fn twiddle(&self, slot: usize) -> Complex {
        self.twiddles[slot]
    }

    #[inline]
    pub(crate) fn leaf(&self, group: usize) -> &[[Octet; 2]; 4] {
        &self.leaves[group]
    }

    /// The value of `X^a` at a position.
    #[inline]
    pub(crate) fn value(&self, position: usize, a: u32) -> Complex {
        let e = self.points[position].wrapping_mul(a) as usize & (self.roots.len() - 1);
        self.roots[e]
    }

    /// Returns the ratios between the values of `X^a` at the lanes of a group's first vector and the value at its
    /// first lane. Values at the other vectors of the group differ from these by eighth roots of unity: see [`turn`].
    #[inline]
    pub(crate) fn pattern(&self, a: u32) -> &[Octet; 2] {
        &self.patterns[a as usize % GROUP]
    }
}

/// Masks of the sign bit: a turn by 0 to 3 eighths keeps the sign of a value, a turn by 4 to 7 eighths flips it.
pub(crate) const SIGNS: [f64; 2] = [0.0, -0.0];

/// Returns the eighths of a turn by which the values of `X^a` at vector `v` of a group differ from those at the
/// group's first vector.
#[inline]
pub(crate) fn turn(v: usize, a: u32) -> usize {
    const REVERSED: [u32; LANES] = [0, 4, 2, 6, 1, 5, 3, 7];
    (REVERSED[v % LANES].wrapping_mul(a) % LANES as u32) as usize
}

/// The lowest `bits` bits in reverse.
fn reversed(x: usize, bits: u32) -> usize {
    match bits {
        0 => 0,
        _ => x.reverse_bits() >> (usize::BITS - bits),
    }
}

/// `exp(2 pi i e / turn)`, from an angle of at most an eighth of a turn: small angles are exact.
fn root(e: usize, turn: usize) -> Complex {
    let quarter = turn / 4;
    let (quarters, rest) = (e / quarter, e % quarter);
    let sin_cos = |e: usize| (2.0 * PI * e as f64 / turn as f64).sin_cos();
    let (sin, cos) = if 2 * rest > quarter {
        let (cos, sin) = sin_cos(quarter - rest);
        (sin, cos)
    } else {
        sin_cos(rest)
    };
    match quarters {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    }
}

/// The constants that cut one digit from a fraction of `2^64`.
#[derive(Clone, Copy)]
pub(crate) struct FractionCut {
    /// Rounds, and makes this digit and all later ones positive.
    pub(crate) offset: u64,
    /// The digit's bits.
    pub(crate) mask: u64,
    /// Half of the digit's range, which is subtracted to make the digit signed again.
    pub(crate) half: u64,
}

impl FractionCut {
    pub(crate) fn new(gadget: Gadget, digit: usize) -> Self {
        let half = |i: u32| 1u64 << (63 - gadget.bits * i);
        let place = gadget.bits * digit as u32;
        Self {
            // Half of the last digit's unit rounds.
            offset: (0..=gadget.digits).fold(0, |sum, i| sum.wrapping_add(half(i))),
            mask: (u64::MAX >> place) & (u64::MAX << (64 - gadget.bits - place)),
            half: half(digit as u32),
        }
    }

    /// Returns the signed digit of `x`, left in its place.
    #[inline]
    pub(crate) fn digit(self, x: u64) -> i64 {
        (x.wrapping_add(self.offset) & self.mask).wrapping_sub(self.half) as i64
    }
}

/// One accumulator's share of [`Kernels::fourier_product`].
pub struct FourierRows<'a> {
    /// For each digit the rows of body and mask, transformed.
    pub digits: Vec<[&'a mut [f64]; 2]>,
    /// The exponent of each of the J keys, modulo `2n`.
    pub exponents: &'a [u32],
}

/// Blind rotation in double precision. Back ends differ in rounding errors.
impl Kernels {
    /// The digits of every fraction of `2^64`, signed and in their places, transformed: `out[i]` holds
    /// digit `i` times `2^(64 - bits (i + 1))`.
    ///
    /// Panics: on length mismatch, and on digits of more than 63 bits together.
    pub fn fourier_digits(
        &self,
        t: &FourierTable,
        gadget: Gadget,
        out: &mut [&mut [f64]],
        src: &[u64],
    ) {
        assert_eq!(out.len(), gadget.digits as usize, "number of digits");
        assert!(
            (1..64).contains(&(gadget.bits * gadget.digits)),
            "digits of 1 to 63 bits together"
        );
        assert!(
            src.len() == t.n() && out.iter().all(|row| row.len() == t.n()),
            "row lengths differ"
        );
        out.iter().for_each(|_| crate::count::transform());
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.fourier_digits)(t, gadget, out, src)
        }
    }

    /// Transforms a row back, in place, and adds `n/2` times its coefficients, in turns, to fractions
    /// of `2^64`. What stays in the row is unspecified.
    ///
    /// Range: less than `2^51` turns. Panics: on length mismatch.
    pub fn fourier_add(&self, t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
        assert!(
            acc.len() == t.n() && row.len() == t.n(),
            "row lengths differ"
        );
        crate::count::transform();
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.fourier_add)(t, acc, row)
        }
    }

    /// For every accumulator the external product of its digits with
    /// `sum_j (X^exponents[j] - 1) key_j`: body and mask take the place of the first digit.
    ///
    /// Of each digit `key` has the rows by vectors: row `r` of key `j` at value `8 v + l` is word
    /// `((v J + j) 4 + r) 16 + l` (real part) and 8 more. Rows as in [`BlockRows`](crate::BlockRows).
    ///
    /// Panics: when rows do not fit each other; on no keys or more than [`MAX_BLOCK`].
    /// Time: depends on the exponents, which are public.
    pub fn fourier_product(
        &self,
        t: &FourierTable,
        accumulators: &mut [FourierRows<'_>],
        key: &[&[f64]],
    ) {
        for rows in &*accumulators {
            let keys = rows.exponents.len();
            assert!(
                (1..=MAX_BLOCK).contains(&keys),
                "1 to {MAX_BLOCK} keys, found {keys}"
            );
            assert!(
                rows.digits.len() == key.len() && !key.is_empty(),
                "numbers of digits differ"
            );
            assert!(
                rows.digits.iter().flatten().all(|row| row.len() == t.n()),
                "row lengths differ"
            );
            assert!(
                key.iter().all(|key| key.len() == t.n() * KEY_ROWS * keys),
                "a key's length"
            );
        }
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.fourier_product)(t, accumulators, key)
        }
    }
}

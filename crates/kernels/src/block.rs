//! Steps of a blind rotation: digits of a row, and the external product with a block of keys.

use crate::{Kernels, Modulus, Monomials};

/// [`Kernels::block_product`] takes at most this many keys together.
pub const MAX_BLOCK: usize = 10;

/// Rows of an encryption of a key bit: body and mask digits, with a body and a mask each.
pub const KEY_ROWS: usize = 4;

/// A gadget: how a residue is cut into signed digits, `x = q sum_i digit_i 2^(-bits (i + 1))` plus
/// what the last digit rounds off, digits in `[-2^(bits - 1), 2^(bits - 1))`, the most significant
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    /// Bits of a digit, at least 1.
    pub bits: u32,
    /// Digits, at least 1.
    pub digits: u32,
}

/// The constants that cut residues modulo a prime into digits.
pub struct Cut {
    /// `x ratio / 2^52` is `x / q` as a fraction of `bits(q) - 1` bits.
    pub ratio: u64,
    /// Rounds, and adds `half` to each digit, so that all are positive.
    pub offset: u64,
    /// Distance of the first digit, whose successors lie `bits` lower.
    pub top: u32,
    /// The amount by which each digit is too large after `offset` was added.
    pub half: u64,
}

impl Gadget {
    /// The unit of digit `i`: `round(q / 2^(bits (i + 1)))`.
    pub fn unit(&self, m: &Modulus, i: u32) -> u64 {
        let shift = self.bits * (i + 1);
        (m.value() + (1 << (shift - 1))) >> shift
    }

    /// Returns the constants that cut residues modulo `m` into digits.
    ///
    /// Panics: when the digits do not fit the modulus.
    pub fn cut(&self, m: &Modulus) -> Cut {
        let fraction = m.bits() - 1;
        let total = self.bits * self.digits;
        assert!(
            self.bits > 0 && self.digits > 0 && total < fraction,
            "{} digits of {} bits do not fit a modulus of {} bits",
            self.digits,
            self.bits,
            m.bits()
        );
        let half = 1 << (self.bits - 1);
        let halves: u64 = (0..self.digits).map(|i| half << (self.bits * i)).sum();
        let rest = fraction - total;
        Cut {
            ratio: ((1u128 << (fraction + 52)) / u128::from(m.value())) as u64,
            offset: (halves << rest) + (1 << (rest - 1)),
            top: fraction - self.bits,
            half,
        }
    }
}

/// One block of a blind rotation for one accumulator.
#[derive(Clone, Copy)]
pub struct BlockRows<'a> {
    /// For each digit the rows of body and mask, in the evaluation domain: factors.
    pub digits: &'a [[&'a [u64]; 2]],
    /// For each digit the key rows, by vectors of 8 residues: residue `8 v + l` of row `r` of key `j`
    /// is word `((v J + j) 4 + r) 8 + l`. Rows: body digit in body, in mask, mask digit in body, in
    /// mask.
    pub key: &'a [&'a [u64]],
    /// The exponent of each of the J keys, modulo `2n`.
    pub exponents: &'a [u32],
}

impl BlockRows<'_> {
    fn check(&self, n: usize, out: &[&mut [u64]; 2]) {
        let keys = self.exponents.len();
        assert!(
            (1..=MAX_BLOCK).contains(&keys),
            "1 to {MAX_BLOCK} keys, found {keys}"
        );
        assert!(
            self.digits.len() == self.key.len() && !self.digits.is_empty(),
            "numbers of digits differ"
        );
        let digits = self.digits.iter().flatten().map(|row| row.len());
        assert!(
            digits
                .chain(out.iter().map(|row| row.len()))
                .all(|len| len == n),
            "row lengths differ"
        );
        assert!(
            self.key.iter().all(|key| key.len() == n * KEY_ROWS * keys),
            "a key's length"
        );
    }
}

/// Blind rotation.
impl Kernels {
    /// The digits of every residue, as residues: `out[i]` holds digit `i`.
    ///
    /// Panics: on length mismatch, and when the digits do not fit the modulus.
    pub fn decompose(&self, m: &Modulus, gadget: Gadget, out: &mut [&mut [u64]], src: &[u64]) {
        assert_eq!(out.len(), gadget.digits as usize, "number of digits");
        assert!(
            out.iter().all(|row| row.len() == src.len()),
            "row lengths differ"
        );
        let cut = gadget.cut(m);
        // SAFETY: the CPU has the features of this back end.
        #[allow(unsafe_code)]
        unsafe {
            (self.decompose)(m, gadget, &cut, out, src)
        }
    }

    /// The external product of digits with `sum_j (X^exponents[j] - 1) key_j`: body and mask, in the
    /// evaluation domain.
    ///
    /// Panics: when rows do not fit each other; on no keys or more than [`MAX_BLOCK`].
    /// Time: depends on the exponents, which are public.
    pub fn block_product(&self, m: &Monomials, out: [&mut [u64]; 2], rows: &BlockRows<'_>) {
        rows.check(m.n(), &out);
        // SAFETY: the CPU has the features of this back end; `check` has checked the shape.
        #[allow(unsafe_code)]
        unsafe {
            (self.block_product)(m, out, rows)
        }
    }
}

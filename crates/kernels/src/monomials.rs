//! The values of monomials over the evaluation domain.

use crate::modulus::Factor;
use crate::{Modulus, NttTable};

/// Residues whose values differ by roots of unity of this order: those of a vector.
pub(crate) const LANES: usize = 8;

/// The values of `X^a` over the evaluation domain of a transform, for all `a` modulo `2n`.
///
/// Position `8 v + l` of a row is the point `psi^(2 brv(v) + 1) omega^brv(l)`, `omega` an eighth root
/// of unity: the value is a power of psi for `v` times one of eight patterns, which `a` modulo 8
/// picks.
#[derive(Clone, Debug)]
pub struct Monomials {
    modulus: Modulus,
    /// `psi^e` for all e modulo `2n`.
    powers: Vec<u64>,
    /// `2 brv(v) + 1`.
    exponents: Vec<u32>,
    patterns: [[Factor; LANES]; LANES],
}

impl Monomials {
    /// The monomials of the rows of `table`. Panics: when these are shorter than 8.
    pub fn new(table: &NttTable) -> Self {
        let (m, n) = (*table.modulus(), table.n());
        assert!(n >= LANES, "at least {LANES} points, found {n}");
        let powers: Vec<u64> = std::iter::successors(Some(1), |&x| Some(m.mul(x, table.psi())))
            .take(2 * n)
            .collect();
        let reversed = |x: usize, count: usize| match count {
            1 => 0,
            _ => x.reverse_bits() >> (usize::BITS - count.trailing_zeros()),
        };
        let vectors = n / LANES;
        let exponent = |v| (2 * reversed(v, vectors) + 1) as u32;
        let pattern = |a: usize, l: usize| {
            let turn = 2 * vectors * reversed(l, LANES) * a % (2 * n);
            m.factor(powers[turn])
        };
        Self {
            modulus: m,
            exponents: (0..vectors).map(exponent).collect(),
            patterns: std::array::from_fn(|a| std::array::from_fn(|l| pattern(a, l))),
            powers,
        }
    }

    /// The modulus of the rows.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Residues of a row.
    pub fn n(&self) -> usize {
        self.powers.len() / 2
    }

    /// The power of psi that all lanes of vector `v` share.
    #[inline]
    pub(crate) fn base(&self, v: usize, a: u32) -> u64 {
        let e = self.exponents[v].wrapping_mul(a) as usize & (self.powers.len() - 1);
        self.powers[e]
    }

    /// Returns the factors of the lanes of a vector: the value of `X^a` at a lane is [`Monomials::base`] times its factor.
    pub(crate) fn pattern(&self, a: u32) -> &[Factor; LANES] {
        &self.patterns[a as usize % LANES]
    }

    /// The value of `X^a` at a position.
    pub(crate) fn value(&self, position: usize, a: u32) -> u64 {
        let pattern = self.pattern(a)[position % LANES];
        self.modulus.mul(self.base(position / LANES, a), pattern.w)
    }
}

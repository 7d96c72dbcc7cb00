//! LWE ciphertexts and their modulus switches.

use crate::{BlockSecret, RingCipher};
use omr_ring::{MAX_BLOCK, Modulus, Rescale};

/// `body + <mask, s>` is message plus noise, modulo q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lwe {
    /// The body.
    pub body: u64,
    /// One residue for each coordinate of the secret.
    pub mask: Vec<u64>,
}

impl Lwe {
    /// Coefficient 0 of a ring ciphertext, under the coefficients of the ring's secret.
    pub fn extract(m: &Modulus, from: &RingCipher) -> Self {
        Self {
            body: from.body[0],
            mask: transposed(m, &from.mask),
        }
    }

    /// `self += other`.
    pub fn add_assign(&mut self, m: &Modulus, other: &Self) {
        self.body = m.add(self.body, other.body);
        for (x, &y) in self.mask.iter_mut().zip(&other.mask) {
            *x = m.add(*x, y);
        }
    }

    /// The ciphertext modulo `to`: a value `x` modulo `from` becomes `round(x to / from)`.
    ///
    /// Panics: when a modulus has more than 50 bits.
    pub fn switch(&self, from: u64, to: u64) -> Self {
        let rescale = Rescale::new(from, to);
        Self {
            body: rescale.round(self.body),
            mask: self.mask.iter().map(|&x| rescale.round(x)).collect(),
        }
    }

    /// The ciphertext modulo a smaller `to`, under a secret in blocks of `block`, rounded so that
    /// it hardly matters which position of a block contains its 1: all errors of a block are made
    /// alike, and their expectation, every state of a block equally likely, is subtracted from the
    /// body. Coordinates beyond the last whole block are dropped.
    ///
    /// Panics: when a block is longer than [`MAX_BLOCK`].
    pub fn switch_blocks(&self, from: u64, to: u64, block: usize) -> Self {
        let unit = to as f64 / from as f64;
        let mut mask = Vec::with_capacity(self.mask.len());
        let mut body = self.body as f64 * unit;
        for coordinates in self.mask.chunks_exact(block) {
            let mut exact = [0.0; MAX_BLOCK];
            for (exact, &x) in exact.iter_mut().zip(coordinates) {
                *exact = x as f64 * unit;
            }
            let (rounded, expected) = round_block(&exact[..block]);
            mask.extend(rounded[..block].iter().map(|&x| x % to));
            body -= expected;
        }
        mask.resize(self.mask.len(), 0);
        Self {
            body: (body.round() as i64).rem_euclid(to as i64) as u64,
            mask,
        }
    }

    /// Message plus noise modulo `q`. Time: constant.
    pub fn phase(&self, secret: &BlockSecret, q: u64) -> u64 {
        let terms = self.mask.iter().zip(secret.bits());
        let sum: u128 = terms.map(|(&a, &s)| u128::from(a) * u128::from(s)).sum();
        ((sum + u128::from(self.body)) % u128::from(q)) as u64
    }
}

/// `t` with `<t, s> = (a s)_0`: the first row of the negacyclic matrix of `a`.
pub(crate) fn transposed(m: &Modulus, a: &[u64]) -> Vec<u64> {
    let turned = a[1..].iter().rev().map(|&x| m.neg(x));
    std::iter::once(a[0]).chain(turned).collect()
}

/// Each coordinate of a block rounded down or up, and the error to be expected of the block.
///
/// Rounding up those with the largest fractions puts all errors in one interval of length 1, which may
/// begin at any of them: the one with the least variance is taken.
///
/// Panics: on more than [`MAX_BLOCK`] coordinates.
pub(crate) fn round_block(exact: &[f64]) -> ([u64; MAX_BLOCK], f64) {
    let count = exact.len();
    let (mut rounded, mut fractions) = ([0; MAX_BLOCK], [(0.0, 0); MAX_BLOCK]);
    for (i, &x) in exact.iter().enumerate() {
        rounded[i] = x as u64;
        fractions[i] = (x.fract(), i);
    }
    fractions[..count].sort_unstable_by(|(x, _), (y, _)| y.total_cmp(x));
    let states = (count + 1) as f64;
    let (mut sum, mut squares) = fractions[..count]
        .iter()
        .fold((0.0, 0.0), |(sum, squares), (x, _)| {
            (sum - x, squares + x * x)
        });
    let variance = |sum: f64, squares: f64| squares / states - (sum / states).powi(2);
    let (mut up, mut least, mut expected) = (0, variance(sum, squares), sum / states);
    for (k, (x, _)) in fractions[..count].iter().enumerate() {
        // Rounded up, -x becomes 1 - x.
        sum += 1.0;
        squares += 1.0 - 2.0 * x;
        if variance(sum, squares) < least {
            (up, least, expected) = (k + 1, variance(sum, squares), sum / states);
        }
    }
    for &(_, i) in &fractions[..up] {
        rounded[i] += 1;
    }
    (rounded, expected)
}

use crate::{BlockSecret, RingCipher};
use omr_ring::Modulus;

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

    /// The same fraction of another modulus, rounded.
    pub fn switch(&self, from: u64, to: u64) -> Self {
        let scale = |x: u64| {
            let rounded =
                (u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from);
            rounded as u64 % to
        };
        Self {
            body: scale(self.body),
            mask: self.mask.iter().map(|&x| scale(x)).collect(),
        }
    }

    /// The same fraction of a smaller modulus under a secret in blocks of `block`, rounded so that it
    /// hardly matters which position of a block holds its 1: all errors of a block are made alike, and
    /// what is expected of them, every state of a block equally likely, is taken off the body.
    /// Coordinates beyond the last whole block are dropped.
    pub fn switch_blocks(&self, from: u64, to: u64, block: usize) -> Self {
        let unit = to as f64 / from as f64;
        let mut mask = Vec::with_capacity(self.mask.len());
        let mut body = self.body as f64 * unit;
        for coordinates in self.mask.chunks_exact(block) {
            let exact: Vec<f64> = coordinates.iter().map(|&x| x as f64 * unit).collect();
            let (rounded, expected) = round_block(&exact);
            mask.extend(rounded.into_iter().map(|x| x % to));
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
pub(crate) fn round_block(exact: &[f64]) -> (Vec<u64>, f64) {
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|&i, &j| exact[j].fract().total_cmp(&exact[i].fract()));
    let states = (exact.len() + 1) as f64;
    let moments = |up: usize| {
        let errors = order.iter().enumerate();
        let error = |(k, &i): (usize, &usize)| f64::from(u8::from(k < up)) - exact[i].fract();
        let (sum, squares) = errors.map(error).fold((0.0, 0.0), |(sum, squares), e| {
            (sum + e, squares + e * e)
        });
        (squares / states - (sum / states).powi(2), sum / states)
    };
    let cuts = (0..=exact.len()).map(|up| (up, moments(up)));
    let least = cuts.min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
    let (up, (_, expected)) = least.expect("at least one cut");
    let mut rounded: Vec<u64> = exact.iter().map(|&x| x as u64).collect();
    for &i in &order[..up] {
        rounded[i] += 1;
    }
    (rounded, expected)
}

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

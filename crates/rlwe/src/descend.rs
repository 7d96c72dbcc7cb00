//! Ring switching: ciphertexts of a large ring become several of a small one.

use crate::{Rlwe, SwitchingKey};
use omr_ring::{Basis, Eval, Modulus, Poly, Ring};

/// Ring switching: one ciphertext of dimension n becomes `n / n'` ciphertexts of dimension n'
/// (Gentry, Halevi, Peikert, Smart 2012).
///
/// With `m(X) = sum_j X^j m_j(X^step)`, ciphertext j decrypts to `m_j` under the small secret `s'`.
pub struct Descent<'a> {
    /// The large ring.
    pub large: &'a Ring,
    /// The small ring; its primes are primes of the large one.
    pub small: &'a Ring,
    /// Key from the large secret to `s'(X^step)`.
    pub key: &'a SwitchingKey,
}

impl Descent<'_> {
    /// The small ciphertexts, `m_0` first, over the small ring's basis `to`, whose primes must be
    /// those of `ct`, in the same order.
    pub fn apply(&self, ct: &Rlwe, to: &Basis, p: &Modulus) -> Vec<Rlwe> {
        debug_assert!(
            ct.basis()
                .ids()
                .iter()
                .zip(to.ids())
                .all(|(&l, &s)| { self.large.modulus(l) == self.small.modulus(s) })
        );
        let switched = self.key.switch(self.large, ct, p);
        let c0 = self.split(switched.c0, to);
        let c1 = self.split(switched.c1, to);
        c0.into_iter()
            .zip(c1)
            .map(|(c0, c1)| Rlwe::new(c0, c1))
            .collect()
    }

    fn split(&self, a: Poly<Eval>, to: &Basis) -> Vec<Poly<Eval>> {
        let coefficients = self.large.inverse(a);
        self.small
            .forward_all(self.small.split(self.large, &coefficients, to))
    }
}

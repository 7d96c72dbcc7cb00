//! Galois keys: the switching key of one automorphism, and its use.

use omr_ring::{Automorphism, Eval, Modulus, Poly, Ring};
use omr_rlwe::{KeyShape, KeySwitch, Rlwe, SecretPoly, SwitchInput, SwitchingKey};
use rand_core::CryptoRng;

/// The key of one automorphism `X -> X^g`: switches from `s` to its preimage, so that the image of
/// the result is again under `s`.
pub struct GaloisKey {
    pub(crate) automorphism: Automorphism,
    pub(crate) key: SwitchingKey,
}

impl GaloisKey {
    /// Makes the key of exponent `g` for `secret`, over the shape's primes.
    #[allow(clippy::too_many_arguments)]
    pub fn generate(
        ring: &Ring,
        shape: &KeyShape,
        secret: &SecretPoly,
        g: usize,
        p: u64,
        (seed, index): (&[u8; 32], u64),
        rng: &mut impl CryptoRng,
    ) -> Self {
        let preimage = Self::preimage(ring, secret, g);
        let key = SwitchingKey::generate(ring, shape, secret, &preimage, p, seed, index, rng);
        Self {
            automorphism: Automorphism::new(ring.n(), g),
            key,
        }
    }

    /// The secret that the key of exponent `g` switches to: what a ciphertext under it becomes is under `secret` again.
    pub fn preimage(ring: &Ring, secret: &SecretPoly, g: usize) -> SecretPoly {
        secret.image(ring, &Automorphism::new(ring.n(), inverse(g, 2 * ring.n())))
    }

    /// Builds the Galois key of exponent `g` from a switching key that [`GaloisKey::generate`] made
    /// for the same `g`.
    pub fn from_switching_key(ring: &Ring, g: usize, key: SwitchingKey) -> Self {
        Self {
            automorphism: Automorphism::new(ring.n(), g),
            key,
        }
    }

    /// The key where the polynomials of `ring` lie.
    #[must_use]
    pub fn moved_to(&self, ring: &Ring) -> Self {
        Self {
            automorphism: self.automorphism.clone(),
            key: self.key.moved_to(ring),
        }
    }

    /// The images of pairs `(c0, c1)` over one basis, under the same secret, same modulus and
    /// messages. Panics: when there is none.
    pub fn apply(
        &self,
        ring: &Ring,
        pairs: &[(&Poly<Eval>, &Poly<Eval>)],
        p: &Modulus,
    ) -> Vec<Rlwe> {
        let inputs: Vec<SwitchInput> = pairs
            .iter()
            .map(|(c0, c)| SwitchInput {
                c,
                add: [Some(c0), None],
            })
            .collect();
        let switch = KeySwitch {
            key: &self.key,
            to: inputs[0].c.basis(),
            image: Some(&self.automorphism),
        };
        switch.apply(ring, &inputs, p).0
    }

    /// The exponent.
    pub fn exponent(&self) -> usize {
        self.automorphism.exponent()
    }

    /// The switching key, from the automorphism's image of the secret back to the secret.
    pub fn switching_key(&self) -> &SwitchingKey {
        &self.key
    }

    /// The automorphism, as a permutation of evaluation rows.
    pub fn automorphism(&self) -> &Automorphism {
        &self.automorphism
    }
}

/// `g^-1` modulo a power of two (Newton).
fn inverse(g: usize, modulus: usize) -> usize {
    let mut x: usize = 1;
    for _ in 0..6 {
        x = x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)));
    }
    x & (modulus - 1)
}

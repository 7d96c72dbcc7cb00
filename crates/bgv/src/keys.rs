//! Galois keys: the switching key of one automorphism, and its use.

use omr_ring::{Automorphism, Basis, Eval, Modulus, Poly, Ring};
use omr_rlwe::{
    KeyShape, KeySwitch, MaskSeed, Rlwe, SecretPoly, SharedTurn, SwitchInput, SwitchingKey,
};
use rand_core::CryptoRng;

/// The key of one automorphism `X -> X^g`. It switches from `s` to the preimage of `s`, so that the image of
/// the result is under `s` again.
pub struct GaloisKey {
    pub(crate) automorphism: Automorphism,
    pub(crate) key: SwitchingKey,
}

impl GaloisKey {
    /// Generates the key of exponent `g` for `secret`, over the shape's primes, with masks derived from
    /// (`seed`, `index`).
    pub fn generate(
        ring: &Ring,
        shape: &KeyShape,
        secret: &SecretPoly,
        g: usize,
        p: u64,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let preimage = Self::preimage(ring, secret, g);
        let key = SwitchingKey::generate(ring, shape, secret, &preimage, p, seed, rng);
        Self {
            automorphism: Automorphism::new(ring.n(), g),
            key,
        }
    }

    /// Returns the secret that the key of exponent `g` switches to. Its image under the automorphism is
    /// `secret`.
    pub fn preimage(ring: &Ring, secret: &SecretPoly, g: usize) -> SecretPoly {
        secret.image(ring, &Automorphism::new(ring.n(), inverse(g, 2 * ring.n())))
    }

    /// Builds the Galois key of exponent `g` from a switching key that [`GaloisKey::generate`] made for this
    /// `g`.
    pub fn from_switching_key(ring: &Ring, g: usize, key: SwitchingKey) -> Self {
        Self {
            automorphism: Automorphism::new(ring.n(), g),
            key,
        }
    }

    /// Returns the images of pairs `(c0, c1)` over one basis, under the same secret, with the same modulus.
    ///
    /// Panics: if there are no pairs.
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

    /// Returns the automorphism of ciphertexts of one recipient over `basis`, by the key of fewest primes that serves
    /// them.
    pub fn shared_turn(&self, basis: &Basis) -> SharedTurn<'_> {
        SharedTurn {
            keys: vec![self.key.least(basis)],
            image: &self.automorphism,
        }
    }

    /// Returns the exponent.
    pub fn exponent(&self) -> usize {
        self.automorphism.exponent()
    }

    /// Returns the switching key, from the automorphism's image of the secret back to the secret.
    pub fn switching_key(&self) -> &SwitchingKey {
        &self.key
    }

    /// Returns the automorphism, as a permutation of evaluation rows.
    pub fn automorphism(&self) -> &Automorphism {
        &self.automorphism
    }
}

/// Returns `g^-1` modulo a power of two (Newton).
fn inverse(g: usize, modulus: usize) -> usize {
    let mut x: usize = 1;
    for _ in 0..6 {
        x = x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)));
    }
    x & (modulus - 1)
}

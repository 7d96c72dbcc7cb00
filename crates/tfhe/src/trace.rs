//! The homomorphic trace, which clears all coefficients but the constant one.

use crate::gadget_key::switched;
use crate::{GadgetKey, RingCipher, RotationRing};
use omr_ring::{AlignedVec, Automorphism, Eval, Gadget, Modulus, NarrowGaussian, Poly};
use omr_rlwe::{MaskSeed, SecretPoly};
use rand_core::CryptoRng;

/// The trace key: it clears all coefficients of a message but the constant one (homomorphic trace,
/// Chen, Dai, Kim, Song 2021; InstantOMR, section 3.1.2).
pub struct TraceKey {
    /// For `X -> X^(n + 1)`, `X^(n/2 + 1)`, .., `X^3`.
    steps: Vec<GadgetKey>,
}

/// The exponents of the automorphisms, in the order in which they are applied.
fn exponents(n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(n), |step| Some(step / 2))
        .take_while(|&step| step > 1)
        .map(|step| step + 1)
}

impl TraceKey {
    /// The key for `secret`. Step i takes the seed i numbers later.
    pub fn generate(
        ring: &RotationRing,
        gadget: Gadget,
        secret: &SecretPoly,
        seed: MaskSeed<'_>,
        noise: &NarrowGaussian,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let step = |(i, g): (usize, usize)| {
            let image = secret.image(ring, &Automorphism::new(ring.n(), g));
            let seed = seed.later(i as u64);
            GadgetKey::generate(ring, gadget, &image, secret, seed, noise, rng)
        };
        Self {
            steps: exponents(ring.n()).enumerate().map(step).collect(),
        }
    }

    /// Rebuilds a key from its bodies, step by step; the masks are drawn again.
    /// Panics: when there are not as many bodies a step as digits.
    pub fn from_bodies(
        ring: &RotationRing,
        gadget: Gadget,
        bodies: Vec<Vec<Poly<Eval>>>,
        seed: MaskSeed<'_>,
    ) -> Self {
        Self {
            steps: GadgetKey::several(ring, gadget, bodies, seed),
        }
    }

    /// The bodies, step by step, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.steps.iter().flat_map(GadgetKey::bodies)
    }

    /// How masks are cut.
    pub fn gadget(&self) -> Gadget {
        self.steps[0].gadget()
    }

    /// Body and mask for each step and digit of it.
    pub fn rows(&self) -> impl Iterator<Item = [&[u64]; 2]> {
        self.steps.iter().flat_map(GadgetKey::rows)
    }

    /// The ciphertext with the constant coefficient of the message alone.
    pub fn apply(&self, ring: &RotationRing, mut ct: RingCipher) -> RingCipher {
        let (k, m) = (ring.kernels(), ring.modulus(0));
        // The sum over all automorphisms is n times the constant coefficient.
        let unscale = m.inv(m.reduce(ring.n() as u64));
        for row in [&mut ct.body, &mut ct.mask] {
            k.scale_assign(m, row, unscale);
        }
        for (g, key) in exponents(ring.n()).zip(&self.steps) {
            let [body, mask] = [&ct.body, &ct.mask].map(|row| image(m, row, g));
            let [switched_body, switched_mask] = switched(ring, &[(key, &mask)]);
            k.add_assign(m, &mut ct.body, &body);
            k.add_assign(m, &mut ct.body, &switched_body);
            k.add_assign(m, &mut ct.mask, &switched_mask);
        }
        ct
    }
}

/// `a(X^g)` in coefficients.
fn image(m: &Modulus, a: &[u64], g: usize) -> AlignedVec {
    let n = a.len();
    let mut out = AlignedVec::zeroed(n);
    let mut to = 0;
    for &x in a {
        out[to & (n - 1)] = if to < n { x } else { m.neg(x) };
        to = (to + g) & (2 * n - 1);
    }
    out
}

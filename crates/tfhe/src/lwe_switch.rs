//! The key that switches LWE ciphertexts to a shorter block secret.

use crate::gadget_key::switched;
use crate::lwe::transposed;
use crate::{BlockSecret, GadgetKey, Lwe, RingCipher, RotationRing};
use omr_ring::{Eval, Gadget, NarrowGaussian, Poly};
use omr_rlwe::{MaskSeed, Secret, SecretPoly};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Switches LWE ciphertexts from the coefficients of a ring's secret to a block secret of the
/// dimension of a smaller ring.
///
/// The long secret is cut into parts of the smaller ring's dimension: the inner product with each is
/// coefficient 0 of a product there, so that ring encryptions of the parts do, which are short and
/// fast.
pub struct LweSwitchKey {
    parts: Vec<GadgetKey>,
}

impl LweSwitchKey {
    /// The key from `from` to `to`, in the smaller ring `ring`. Part i takes the seed i numbers later.
    ///
    /// Panics: when the dimension of `ring` is not that of `to` or does not divide that of `from`.
    pub fn generate(
        ring: &RotationRing,
        gadget: Gadget,
        from: &Secret,
        to: &BlockSecret,
        seed: MaskSeed<'_>,
        noise: &NarrowGaussian,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let basis = ring.everything();
        let mut bits: Vec<i64> = to.bits().iter().map(|&b| b as i64).collect();
        let to = SecretPoly::of(ring, &basis, &bits);
        bits.zeroize();
        assert!(from.coeffs().len().is_multiple_of(ring.n()), "whole parts");
        let part = |(i, coeffs): (usize, &[i64])| {
            let mut part = ring.forward(ring.lift_signed(coeffs, &basis));
            let seed = seed.later(i as u64);
            let key = GadgetKey::generate(ring, gadget, &part, &to, seed, noise, rng);
            part.zeroize();
            key
        };
        let parts = from.coeffs().chunks(ring.n()).enumerate().map(part);
        Self {
            parts: parts.collect(),
        }
    }

    /// Rebuilds a key from its bodies, part by part; the masks are drawn again.
    /// Panics: when there are not as many bodies a part as digits.
    pub fn from_bodies(
        ring: &RotationRing,
        gadget: Gadget,
        bodies: Vec<Vec<Poly<Eval>>>,
        seed: MaskSeed<'_>,
    ) -> Self {
        Self {
            parts: GadgetKey::several(ring, gadget, bodies, seed),
        }
    }

    /// The bodies, part by part, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.parts.iter().flat_map(GadgetKey::bodies)
    }

    /// A ciphertext modulo the prime of `ring` under the block secret.
    ///
    /// Panics: when the dimension of `from` is not that of the key.
    pub fn switch(&self, ring: &RotationRing, from: &Lwe) -> Lwe {
        let m = ring.modulus(0);
        assert_eq!(from.mask.len(), self.parts.len() * ring.n(), "dimension");
        let rows: Vec<Vec<u64>> = from
            .mask
            .chunks(ring.n())
            .map(|part| transposed(m, part))
            .collect();
        let terms: Vec<(&GadgetKey, &[u64])> = self
            .parts
            .iter()
            .zip(rows.iter().map(Vec::as_slice))
            .collect();
        let [mut body, mask] = switched(ring, &terms);
        body[0] = m.add(body[0], from.body);
        Lwe::extract(m, &RingCipher { body, mask })
    }
}

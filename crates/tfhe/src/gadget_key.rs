//! Key switching with a gadget in a ring of one prime.

use crate::RotationRing;
use omr_ring::{AlignedVec, Eval, Gadget, NarrowGaussian, Poly};
use omr_rlwe::{MaskSeed, Rlwe, SecretPoly, encrypt_with};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Encryptions of a secret times each unit of a gadget, under another secret.
pub struct GadgetKey {
    gadget: Gadget,
    rows: Vec<Rlwe>,
}

impl GadgetKey {
    /// The key from `from` to `to`. The path of a mask is the number of its row.
    pub fn generate(
        ring: &RotationRing,
        gadget: Gadget,
        from: &Poly<Eval>,
        to: &SecretPoly,
        seed: MaskSeed<'_>,
        noise: &NarrowGaussian,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let basis = ring.everything();
        let row = |i: u32| {
            let c1 = seed.mask(ring, &basis, &[i.into()]);
            let mut message = from.clone();
            ring.scale_assign(&mut message, |m| gadget.unit(m, i));
            let c0 = encrypt_with(ring, to, &message, 1, &c1, noise.sample(rng, ring.n()));
            message.zeroize();
            Rlwe::new(c0, c1)
        };
        Self {
            gadget,
            rows: (0..gadget.digits).map(row).collect(),
        }
    }

    /// Rebuilds a key from its bodies; the masks are drawn again.
    /// Panics: when there is not one body a digit.
    pub fn from_bodies(
        ring: &RotationRing,
        gadget: Gadget,
        bodies: Vec<Poly<Eval>>,
        seed: MaskSeed<'_>,
    ) -> Self {
        assert_eq!(bodies.len(), gadget.digits as usize, "one body a digit");
        let basis = ring.everything();
        let with_mask = |(i, c0)| {
            let c1 = seed.mask(ring, &basis, &[i as u64]);
            Rlwe::new(c0, c1)
        };
        Self {
            gadget,
            rows: bodies.into_iter().enumerate().map(with_mask).collect(),
        }
    }

    /// Rebuilds several keys; key i takes the seed i numbers later.
    pub(crate) fn several(
        ring: &RotationRing,
        gadget: Gadget,
        bodies: Vec<Vec<Poly<Eval>>>,
        seed: MaskSeed<'_>,
    ) -> Vec<Self> {
        let key = |(i, bodies)| Self::from_bodies(ring, gadget, bodies, seed.later(i as u64));
        bodies.into_iter().enumerate().map(key).collect()
    }

    /// The bodies, one a digit, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.rows.iter().map(|row| &row.c0)
    }

    /// How coefficients are cut.
    pub(crate) fn gadget(&self) -> Gadget {
        self.gadget
    }

    /// Body and mask for each digit.
    pub(crate) fn rows(&self) -> impl Iterator<Item = [&[u64]; 2]> {
        let rows = self.rows.iter();
        rows.map(|row| [row.c0.row(0), row.c1.row(0)])
    }

    /// The digits of `c`, in the evaluation domain.
    fn digits(&self, ring: &RotationRing, c: &[u64]) -> Vec<AlignedVec> {
        let row = || AlignedVec::zeroed(c.len());
        let mut digits: Vec<AlignedVec> = (0..self.gadget.digits).map(|_| row()).collect();
        let mut rows: Vec<&mut [u64]> = digits.iter_mut().map(|row| &mut row[..]).collect();
        let k = ring.kernels();
        k.decompose(ring.modulus(0), self.gadget, &mut rows, c);
        for row in rows {
            k.ntt_factors(ring.table(0), row);
        }
        digits
    }
}

/// `sum_i c_i s_i` under the target secret, as body and mask, for coefficients `c_i` and the key of
/// each `s_i`.
pub(crate) fn switched(ring: &RotationRing, terms: &[(&GadgetKey, &[u64])]) -> [AlignedVec; 2] {
    let digits: Vec<AlignedVec> = terms
        .iter()
        .flat_map(|(key, c)| key.digits(ring, c))
        .collect();
    let digits: Vec<&[u64]> = digits.iter().map(|row| &row[..]).collect();
    let rows = || terms.iter().flat_map(|(key, _)| &key.rows);
    let bodies: Vec<&[u64]> = rows().map(|row| row.c0.row(0)).collect();
    let masks: Vec<&[u64]> = rows().map(|row| row.c1.row(0)).collect();
    let (mut body, mut mask) = (AlignedVec::zeroed(ring.n()), AlignedVec::zeroed(ring.n()));
    let k = ring.kernels();
    let out = [&mut body[..], &mut mask[..]];
    k.dot_pair(ring.modulus(0), out, &digits, [&bodies, &masks]);
    for row in [&mut body, &mut mask] {
        k.ntt_inverse(ring.table(0), row);
    }
    [body, mask]
}

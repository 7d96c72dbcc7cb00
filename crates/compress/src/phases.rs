//! The recipient's side: sums out of digests.

use crate::{FinalRing, PackedCiphertext, PackedError, PackedShape, SumsShape};
use omr_ring::{Coeff, Eval, Poly};
use omr_rlwe::SecretPoly;
use zeroize::Zeroize;

/// The secrets of the ring of digests, ready to decrypt. They are wiped when dropped.
pub struct Phases {
    last: FinalRing,
    secrets: Vec<SecretPoly>,
}

impl Phases {
    /// Builds the phase computation with the secrets that the key to the ring of digests was made
    /// for, in the same order.
    ///
    /// Panics: unless there is one secret for each body.
    pub fn new(last: FinalRing, secrets: Vec<SecretPoly>) -> Self {
        let bodies = last.shape.bodies();
        assert_eq!(secrets.len(), bodies, "one secret for each body");
        Self { last, secrets }
    }

    /// The sums of one group, by symbol and exponent, modulo p.
    ///
    /// Shape: out `symbols` rows of `bound`.
    /// Errors: when the ciphertexts have another shape.
    pub fn sums(
        &self,
        shape: SumsShape,
        ciphertexts: &[PackedCiphertext],
    ) -> Result<Vec<Vec<u32>>, PackedError> {
        let phases = self.phases(shape, 1, ciphertexts)?;
        let symbols = |part: Vec<u64>| part.into_iter().map(|x| self.symbol(x)).collect();
        let parts: Vec<Vec<u32>> = phases.into_iter().map(symbols).collect();
        Ok(shape.by_symbol(&parts))
    }

    /// Returns `body + mask * secret` modulo `2^mask_bits` at the kept coefficients, part by part, for the sums of
    /// `groups` groups. These are the sums with their noise.
    ///
    /// Errors: when the ciphertexts have another shape.
    pub fn phases(
        &self,
        shape: SumsShape,
        groups: usize,
        ciphertexts: &[PackedCiphertext],
    ) -> Result<Vec<Vec<u64>>, PackedError> {
        let all = groups * shape.parts();
        let packed = PackedShape {
            dimension: self.last.ring.n(),
            together: self.last.shape.parts,
            parts: all,
        };
        packed.check(ciphertexts, |part| {
            let (round, place) = shape.position(part);
            shape.kept_len(round, place)
        })?;
        let mut out = Vec::with_capacity(all);
        for ct in ciphertexts {
            let mask = self.mask(ct);
            for (i, part) in ct.parts.iter().enumerate() {
                let (round, place) = shape.position(out.len());
                out.push(self.phase(&mask, i, part, shape.kept(round, place)));
            }
        }
        Ok(out)
    }

    /// The nearest symbol modulo p to a phase.
    pub fn symbol(&self, phase: u64) -> u32 {
        let (p, bits) = (self.last.p.value(), self.last.mask_bits);
        nearest(phase, p, bits) as u32
    }

    /// The mask of a ciphertext. Panics: when its length is another than the ring's dimension.
    pub fn mask(&self, ct: &PackedCiphertext) -> Poly<Eval> {
        let ring = &self.last.ring;
        let mask = Poly::<Coeff>::from_rows(ring.n(), &ring.everything(), ct.mask.clone());
        ring.forward(mask)
    }

    /// The phases of part `part` of a ciphertext with mask `mask`; `body` contains only the
    /// coefficients `kept`.
    ///
    /// Panics: when there is no such part, or a coefficient exceeds the small ring's dimension.
    pub fn phase(
        &self,
        mask: &Poly<Eval>,
        part: usize,
        body: &[u64],
        kept: impl Iterator<Item = usize>,
    ) -> Vec<u64> {
        let (ring, components) = (&self.last.ring, self.last.shape.components);
        let secrets = &self.secrets[part * components..(part + 1) * components];
        let mut products: Vec<Poly<Coeff>> = secrets
            .iter()
            .map(|secret| {
                let mut product = mask.clone();
                ring.mul_assign(&mut product, secret);
                ring.inverse(product)
            })
            .collect();
        let m = ring.modulus(0);
        let (mask_bits, body_bits) = (self.last.mask_bits, self.last.body_bits);
        let value = |(at, &body): (usize, &u64)| {
            // |mask * secret| < n 2^mask_bits: exact modulo the prime, then modulo 2^mask_bits.
            let product = products[at % components].row(0)[at / components];
            let centred = m.to_centered(product) as u64;
            centred.wrapping_add(body << (mask_bits - body_bits)) & ((1 << mask_bits) - 1)
        };
        let out = kept.zip(body).map(value).collect();
        products.iter_mut().for_each(Zeroize::zeroize);
        out
    }
}

/// The nearest symbol modulo p to a phase of `bits` bits. Time: constant.
///
/// Range: `p 2^bits` below `2^63`.
///
/// ```
/// use omr_compress::nearest;
///
/// // Ten steps of 2^8 / 10, rounded; half a step below the turn is 0 again.
/// assert_eq!([0, 12, 13, 26, 243, 244].map(|phase| nearest(phase, 10, 8)), [0, 0, 1, 1, 9, 0]);
/// ```
pub fn nearest(phase: u64, p: u64, bits: u32) -> u64 {
    let symbol = (phase * p + (1 << (bits - 1))) >> bits;
    symbol & (symbol ^ p).min(1).wrapping_neg() // p is 0
}

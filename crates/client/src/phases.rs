//! What a recipient decrypts digests with.

use crate::digest_secret::DigestSecret;
use crate::recipient::nearest;
use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::{PackedCiphertext, Params};
use omr_ring::{Coeff, Eval, Poly};
use omr_rlwe::SecretPoly;
use zeroize::Zeroize;

/// The secrets of the ring of digests.
pub(crate) struct Phases<'a> {
    params: &'a Params,
    secrets: Vec<SecretPoly>,
}

impl<'a> Phases<'a> {
    pub(crate) fn new(params: &'a Params, digest: &DigestSecret) -> Self {
        let bodies = params.final_shape.bodies();
        Self {
            params,
            secrets: digest.polys(&params.final_ring, bodies),
        }
    }

    pub(crate) fn params(&self) -> &'a Params {
        self.params
    }

    /// The nearest symbol to a phase.
    pub(crate) fn symbol(&self, phase: u64) -> u32 {
        nearest(phase, self.params.p().value(), MASK_BITS) as u32
    }

    pub(crate) fn mask(&self, ct: &PackedCiphertext) -> Poly<Eval> {
        let ring = &self.params.final_ring;
        let mask = Poly::<Coeff>::from_rows(ring.n(), &ring.everything(), ct.mask.clone());
        ring.forward(mask)
    }

    /// The phases of part `part` of a ciphertext.
    pub(crate) fn phase(
        &self,
        mask: &Poly<Eval>,
        part: usize,
        body: &[u64],
        kept: impl Iterator<Item = usize>,
    ) -> Vec<u64> {
        let (ring, components) = (&self.params.final_ring, self.params.final_shape.components);
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
        let value = |(at, &body): (usize, &u64)| {
            // |mask * secret| < n 2^MASK_BITS: exact modulo the prime, then modulo 2^MASK_BITS.
            let product = products[at % components].row(0)[at / components];
            let product = m.to_centered(product) as u64;
            product.wrapping_add(body << (MASK_BITS - BODY_BITS)) & ((1 << MASK_BITS) - 1)
        };
        let out = kept.zip(body).map(value).collect();
        products.iter_mut().for_each(Zeroize::zeroize);
        out
    }
}

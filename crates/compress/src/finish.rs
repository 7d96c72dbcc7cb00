//! The last step: packed ciphertexts switched to the ring of digests and rounded to few bits.

use crate::{PackedCiphertext, Packing, SumsShape};
use omr_ring::{Basis, Poly, Rescale, Switch};
use omr_rlwe::{Rlwe, SharedInput, SharedKey};

/// The factor that multiplies the sums between the codes and the digest, apart from the vector's
/// own scale: the last modulus switch, and the change of encoding.
pub fn gathered_scale(packing: Packing) -> u64 {
    let p = packing.p;
    let reduce = |limb: usize| p.reduce(packing.small.modulus(limb).value());
    let dropped = (1..packing.limbs).fold(1, |all, limb| p.mul(all, reduce(limb)));
    let encoding = p.neg(p.inv(reduce(0)));
    p.mul(p.inv(dropped), encoding)
}

/// Takes packed ciphertexts in the order of the shape's parts, those of several groups one after another; as many as
/// share a mask become one.
pub struct Finisher<'a> {
    packing: Packing<'a>,
    key: &'a SharedKey,
    shape: SumsShape,
    waiting: Vec<SharedInput>,
    taken: usize,
    out: Vec<PackedCiphertext>,
}

impl<'a> Finisher<'a> {
    /// Builds the finisher of sums of this shape, with the key to the ring of digests.
    pub fn new(packing: Packing<'a>, key: &'a SharedKey, shape: SumsShape) -> Self {
        Self {
            packing,
            key,
            shape,
            waiting: Vec::new(),
            taken: 0,
            out: Vec::new(),
        }
    }

    /// Takes the next one.
    pub fn push(&mut self, packed: &Rlwe) {
        self.waiting.push(high(self.packing, packed));
        self.taken += 1;
        if self.waiting.len() == self.packing.final_shape.parts {
            self.share();
        }
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<PackedCiphertext> {
        if !self.waiting.is_empty() {
            self.share();
        }
        self.out
    }

    /// One ciphertext of all that wait, rounded, with the coefficients that hold sums.
    fn share(&mut self) {
        let inputs = std::mem::take(&mut self.waiting);
        let (mask, bodies) = share(self.packing, self.key, &inputs);
        let components = self.packing.final_shape.components;
        let first = self.taken - inputs.len();
        let part = |(i, bodies): (usize, &[Vec<u64>])| {
            let (round, ct) = self.shape.position(first + i);
            let kept = self.shape.kept(round, ct);
            kept.map(|at| bodies[at % components][at / components])
                .collect()
        };
        self.out.push(PackedCiphertext {
            mask,
            parts: bodies.chunks(components).enumerate().map(part).collect(),
        });
    }
}

/// Mask and bodies of one ciphertext that all inputs share, rounded: as many bodies as the inputs have components.
///
/// Panics: when there are more inputs than share a mask.
pub fn share(
    packing: Packing,
    key: &SharedKey,
    inputs: &[SharedInput],
) -> (Vec<u64>, Vec<Vec<u64>>) {
    let ring = packing.final_ring;
    let shared = key.switch(ring, inputs);
    let q = ring.modulus(0).value();
    let rounded = |poly: &Poly<_>, bits: u32| -> Vec<u64> {
        let rescale = Rescale::new(q, 1 << bits);
        poly.row(0).iter().map(|&x| rescale.round(x)).collect()
    };
    let bodies = shared.bodies.iter();
    (
        rounded(&shared.mask, packing.mask_bits),
        bodies
            .map(|body| rounded(body, packing.body_bits))
            .collect(),
    )
}

/// Drops all primes but one, moves the message to the high part, and scales: the body to the
/// modulus of the final ring, the mask to the precision of its key's digits.
///
/// Multiplied by `p^-1 = (1 + q t) / p` modulo q, `m + p e` becomes `e + (t m mod p) q / p` up to
/// half a unit: the encoding that may be scaled to any modulus.
pub fn high(packing: Packing, packed: &Rlwe) -> SharedInput {
    let (ring, p) = (packing.small, packing.p);
    let down = Switch::new(ring, packed.basis(), &Basis::new([0]), p);
    let q = ring.modulus(0).value();
    let scaled = |poly: &Poly<_>, to: u64| -> Vec<u64> {
        let mut coefficients = ring.inverse(down.apply(ring, poly));
        ring.scale_assign(&mut coefficients, |m| m.inv(m.reduce(p.value())));
        let rescale = Rescale::new(q, to);
        coefficients
            .row(0)
            .iter()
            .map(|&x| rescale.round(x))
            .collect()
    };
    SharedInput {
        body: scaled(&packed.c0, packing.final_ring.modulus(0).value()),
        mask: scaled(&packed.c1, 1 << packing.final_shape.mask_bits()),
    }
}

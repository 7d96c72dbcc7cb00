//! The last step: packed ciphertexts switched to the ring of digests and rounded to few bits.

use crate::{PackedCiphertext, Setting, SumsShape};
use omr_ring::{Basis, Poly, Rescale, Switch};
use omr_rlwe::{Rlwe, SharedInput, SharedKey};

/// The factor that multiplies the sums between the codes and the digest, apart from the vector's
/// own scale: packing, the last modulus switch, and the change of encoding.
pub fn gathered_scale(setting: Setting, stride: usize) -> u64 {
    let p = setting.p();
    let reduce = |limb: usize| p.reduce(setting.small.modulus(limb).value());
    let dropped = (1..setting.limbs).fold(1, |all, limb| p.mul(all, reduce(limb)));
    let encoding = p.neg(p.inv(reduce(0)));
    p.mul(p.mul(stride as u64, p.inv(dropped)), encoding)
}

/// Takes packed ciphertexts in the order of the shape's parts, those of several groups one after another; as many as
/// share a mask become one.
pub struct Finisher<'a> {
    setting: Setting<'a>,
    key: &'a SharedKey,
    shape: SumsShape,
    waiting: Vec<SharedInput>,
    taken: usize,
    out: Vec<PackedCiphertext>,
}

impl<'a> Finisher<'a> {
    /// Builds the finisher of sums of this shape, with the key to the ring of digests.
    pub fn new(setting: Setting<'a>, key: &'a SharedKey, shape: SumsShape) -> Self {
        Self {
            setting,
            key,
            shape,
            waiting: Vec::new(),
            taken: 0,
            out: Vec::new(),
        }
    }

    /// Takes the next one.
    pub fn push(&mut self, packed: &Rlwe) {
        self.waiting.push(high(self.setting, packed));
        self.taken += 1;
        if self.waiting.len() == self.setting.final_shape.parts {
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
        let (mask, bodies) = share(self.setting, self.key, &inputs);
        let components = self.setting.final_shape.components;
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
    setting: Setting,
    key: &SharedKey,
    inputs: &[SharedInput],
) -> (Vec<u64>, Vec<Vec<u64>>) {
    let ring = setting.final_ring;
    let shared = key.switch(ring, inputs);
    let q = ring.modulus(0).value();
    let rounded = |poly: &Poly<_>, bits: u32| -> Vec<u64> {
        let rescale = Rescale::new(q, 1 << bits);
        poly.row(0).iter().map(|&x| rescale.round(x)).collect()
    };
    let bodies = shared.bodies.iter();
    (
        rounded(&shared.mask, setting.mask_bits),
        bodies
            .map(|body| rounded(body, setting.body_bits))
            .collect(),
    )
}

/// Drops all primes but one, moves the message to the high part, and scales: the body to the
/// modulus of the final ring, the mask to the precision of its key's digits.
///
/// Multiplied by `p^-1 = (1 + q t) / p` modulo q, `m + p e` becomes `e + (t m mod p) q / p` up to
/// half a unit: the encoding that may be scaled to any modulus.
pub fn high(setting: Setting, packed: &Rlwe) -> SharedInput {
    let (ring, p) = (setting.small, setting.p());
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
        body: scaled(&packed.c0, setting.final_ring.modulus(0).value()),
        mask: scaled(&packed.c1, 1 << setting.final_shape.mask_bits()),
    }
}

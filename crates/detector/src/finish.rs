//! The last step: packed ciphertexts switched to the ring of digests and rounded to few bits.

use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::{DetectionKey, DigestPlan, PackedCiphertext, Params};
use omr_ring::{Basis, Poly, Switch};
use omr_rlwe::{Rlwe, SharedInput, SharedKey};

/// What the sums are multiplied by between the codes and the digest, apart from the pertinency
/// ciphertext's own scale: packing, the last modulus switch, and the change of encoding.
pub(crate) fn gathered_scale(params: &Params, stride: usize) -> u64 {
    let p = params.p();
    let reduce = |limb: usize| p.reduce(params.small.modulus(limb).value());
    let dropped = p.inv(reduce(1));
    let encoding = p.neg(p.inv(reduce(0)));
    p.mul(p.mul(stride as u64, dropped), encoding)
}

/// Takes packed ciphertexts in the order of the plan's parts; as many as share a mask become one.
pub(crate) struct Finisher<'a> {
    params: &'a Params,
    key: &'a DetectionKey,
    plan: &'a DigestPlan,
    waiting: Vec<SharedInput>,
    taken: usize,
    out: Vec<PackedCiphertext>,
}

impl<'a> Finisher<'a> {
    pub(crate) fn new(params: &'a Params, key: &'a DetectionKey, plan: &'a DigestPlan) -> Self {
        Self {
            params,
            key,
            plan,
            waiting: Vec::new(),
            taken: 0,
            out: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, packed: &Rlwe) {
        self.waiting.push(high(self.params, packed));
        self.taken += 1;
        if self.waiting.len() == self.params.final_shape.parts {
            self.share();
        }
    }

    pub(crate) fn finish(mut self) -> Vec<PackedCiphertext> {
        if !self.waiting.is_empty() {
            self.share();
        }
        self.out
    }

    /// One ciphertext of all that wait, rounded, with the coefficients that hold sums.
    fn share(&mut self) {
        let inputs = std::mem::take(&mut self.waiting);
        let (mask, bodies) = share(self.params, &self.key.last, &inputs);
        let components = self.params.final_shape.components;
        let first = self.taken - inputs.len();
        let part = |(i, bodies): (usize, &[Vec<u64>])| {
            let (round, ct) = self.plan.position(first + i);
            let kept = self.plan.kept(round, ct);
            kept.map(|at| bodies[at % components][at / components])
                .collect()
        };
        self.out.push(PackedCiphertext {
            mask,
            parts: bodies.chunks(components).enumerate().map(part).collect(),
        });
    }
}

/// Mask and bodies of one ciphertext that all inputs share, rounded.
pub(crate) fn share(
    params: &Params,
    key: &SharedKey,
    inputs: &[SharedInput],
) -> (Vec<u64>, Vec<Vec<u64>>) {
    let ring = &params.final_ring;
    let shared = key.switch(ring, inputs);
    let q = ring.modulus(0).value();
    let rounded = |poly: &Poly<_>, bits: u32| -> Vec<u64> {
        let power = 1 << bits;
        poly.row(0).iter().map(|&x| scale(x, q, power)).collect()
    };
    let bodies = shared.bodies.iter();
    (
        rounded(&shared.mask, MASK_BITS),
        bodies.map(|body| rounded(body, BODY_BITS)).collect(),
    )
}

/// Drops all primes but one, moves the message to the high part, and scales: the body to the
/// modulus of the final ring, the mask to the precision of its key's digits.
///
/// Multiplied by `p^-1 = (1 + q t) / p` modulo q, `m + p e` becomes `e + (t m mod p) q / p` up to
/// half a unit: the encoding that may be scaled to any modulus.
pub(crate) fn high(params: &Params, packed: &Rlwe) -> SharedInput {
    let (ring, p) = (&params.small, params.p());
    let down = Switch::new(ring, packed.basis(), &Basis::new([0]), p);
    let q = ring.modulus(0).value();
    let scaled = |poly: &Poly<_>, to: u64| -> Vec<u64> {
        let mut poly = ring.inverse(down.apply(ring, poly));
        ring.scale_assign(&mut poly, |m| m.inv(m.reduce(p.value())));
        poly.row(0).iter().map(|&x| scale(x, q, to)).collect()
    };
    SharedInput {
        body: scaled(&packed.c0, params.final_ring.modulus(0).value()),
        mask: scaled(&packed.c1, 1 << params.final_shape.mask_bits()),
    }
}

/// `round(x to / from)` modulo `to`.
pub(crate) fn scale(x: u64, from: u64, to: u64) -> u64 {
    let scaled = (u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from);
    // x / from is below 1: it can only round up to 1 itself.
    if scaled == u128::from(to) {
        0
    } else {
        scaled as u64
    }
}

//! The last step: a packed ciphertext rounded to few bits.

use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::{PackedCiphertext, Params};
use omr_ring::{Basis, Modulus, Poly, Switch};
use omr_rlwe::Rlwe;

/// What the sums are multiplied by between the codes and the digest, apart from the pertinency
/// ciphertext's own scale: packing, the last modulus switch, and the change of encoding.
pub(crate) fn gathered_scale(params: &Params, stride: usize) -> u64 {
    let p = params.p();
    let reduce = |limb: usize| p.reduce(params.small.modulus(limb).value());
    let dropped = p.inv(reduce(1));
    let encoding = p.neg(p.inv(reduce(0)));
    p.mul(p.mul(stride as u64, dropped), encoding)
}

/// Drops all primes but one, moves the message to the high part and rounds: mask to 30 bits,
/// body to 21, keeping the coefficients `kept` of the body.
///
/// Multiplied by `p^-1 = (1 + q t) / p` modulo q, `m + p e` becomes `e + (t m mod p) q / p` up to
/// half a unit: the encoding that may be rounded to any modulus.
pub(crate) fn finish(
    params: &Params,
    packed: &Rlwe,
    kept: impl Iterator<Item = usize>,
) -> PackedCiphertext {
    let (ring, p) = (&params.small, params.p());
    let last = Basis::new([0]);
    let down = Switch::new(ring, packed.basis(), &last, p);
    let m = ring.modulus(0);
    let rounded = |poly: &Poly<_>, bits: u32| -> Vec<u64> {
        let mut poly = ring.inverse(down.apply(ring, poly));
        ring.scale_assign(&mut poly, |m| m.inv(m.reduce(p.value())));
        poly.row(0).iter().map(|&x| round(m, x, bits)).collect()
    };
    let body = rounded(&packed.c0, BODY_BITS);
    PackedCiphertext {
        mask: rounded(&packed.c1, MASK_BITS),
        body: kept.map(|i| body[i]).collect(),
    }
}

/// `round(x 2^bits / q)` modulo 2^bits.
fn round(m: &Modulus, x: u64, bits: u32) -> u64 {
    let scaled = (u128::from(x) << bits) + u128::from(m.value() / 2);
    (scaled / u128::from(m.value())) as u64 & ((1 << bits) - 1)
}

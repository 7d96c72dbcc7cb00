//! Flooding: a fresh encryption of zero whose noise drowns that of what it is added to.

use crate::Params;
use omr_ring::{Basis, Coeff, Eval, Poly, Ring, centered_binomial, uniform_ternary};
use omr_rlwe::Rlwe;
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Adds `u zero + p (E, e)` to a ciphertext of the small ring: u uniform ternary, e centred binomial, E uniform in
/// `-2^bits..2^bits`. `zero`: the public key. Time: constant.
pub fn flood(params: &Params, zero: &Rlwe, bits: u32, ct: &mut Rlwe, rng: &mut impl CryptoRng) {
    let (ring, basis, p) = (&params.small, params.small_basis(), params.p().value());
    let small = |mut coeffs: Vec<i64>| -> Poly<Eval> {
        let poly = ring.forward(ring.lift_signed(&coeffs, basis));
        coeffs.zeroize();
        poly
    };
    let mut blind = small(uniform_ternary(rng, ring.n()));
    let wide = ring.forward(uniform(ring, basis, bits, rng));
    let narrow = small(centered_binomial(rng, ring.n()));
    for (part, key, mut noise) in [(&mut ct.c0, &zero.c0, wide), (&mut ct.c1, &zero.c1, narrow)] {
        ring.scale_assign(&mut noise, |m| m.reduce(p));
        ring.mul_add_assign(&mut noise, key, &blind);
        ring.add_assign(part, &noise);
        noise.zeroize();
    }
    blind.zeroize();
}

/// Coefficients uniform in `-2^bits..2^bits`. Range: `bits` at most 127.
fn uniform(ring: &Ring, basis: &Basis, bits: u32, rng: &mut impl CryptoRng) -> Poly<Coeff> {
    let half = 1u128 << bits;
    let mut word = || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    let mut values: Vec<u128> = (0..ring.n()).map(|_| word() >> (127 - bits)).collect();
    let mut out = Poly::zero(ring, basis);
    for (limb, &id) in basis.ids().iter().enumerate() {
        let m = ring.modulus(id);
        let offset = m.reduce_u128(half);
        for (x, &value) in out.row_mut(limb).iter_mut().zip(&values) {
            *x = m.sub(m.reduce_u128(value), offset);
        }
    }
    values.zeroize();
    out
}

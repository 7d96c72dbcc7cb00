//! Tests of SophOMR's clues in the clear, with the secret.

use omr_protocol::ClueParams;
use omr_protocol::params::{Posting, SecretSpec};
use omr_ring::{Eval, Poly};
use omr_rlwe::SecretPoly;

/// Returns twice the values of posted residues, modulo q.
pub(crate) fn doubled(params: &ClueParams, posted: &[u32]) -> Vec<u64> {
    let (spec, q) = (params.spec(), params.q());
    let twice = 2 * spec.q / spec.modulus();
    posted
        .iter()
        .map(|&x| q.reduce(twice * u64::from(spec.stands_for(x))))
        .collect()
}

/// Returns twice the values of a posted vector, ready for products.
pub(crate) fn vector(params: &ClueParams, posted: &[u32]) -> Poly<Eval> {
    let ring = &params.ring;
    let row = doubled(params, posted);
    ring.forward(Poly::from_rows(ring.n(), &ring.everything(), row))
}

/// Returns twice the distances `b - a s` modulo q, centred. `a` and `b` are doubled.
///
/// Shape: one value for each residue of `b`, for SophOMR's secret.
pub(crate) fn distances(
    params: &ClueParams,
    secret: &SecretPoly,
    a: &Poly<Eval>,
    b: &[u64],
) -> Vec<i64> {
    let (ring, q) = (&params.ring, params.q());
    let mut values = a.clone();
    ring.mul_assign(&mut values, secret);
    let product = ring.inverse(values);
    let odd = parity(params);
    let distance = |(&b, &x): (&u64, &u64)| {
        let known = q.to_centered(q.sub(b, x));
        if known & 1 == odd {
            known
        } else {
            known
                - if known > 0 {
                    q.value() as i64
                } else {
                    -(q.value() as i64)
                }
        }
    };
    b.iter().zip(product.row(0)).map(distance).collect()
}

/// Returns the parity of the distances, which are known modulo 2 q.
fn parity(params: &ClueParams) -> i64 {
    let spec = params.spec();
    match (spec.posting, &spec.secret) {
        // Each residue is odd; b and as many residues of a as the secret has coefficients count.
        (Posting::Halved, SecretSpec::Ternary { weight }) => (1 + *weight as i64) & 1,
        _ => 0,
    }
}

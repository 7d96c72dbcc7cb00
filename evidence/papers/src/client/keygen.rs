//! Generation of a recipient's secret and address for LWE clues.

use super::secret::ternary;
use super::{LweSecret, ring};
use crate::clear::{LweClueKey, LweKind, LweParams};
use omr_client::seal::SealSecret;
use omr_ring::{NarrowGaussian, fixed_weight, uniform_ternary};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Generates a recipient's secret and address.
///
/// Time: independent of the secret.
pub fn identity(params: &LweParams, rng: &mut impl CryptoRng) -> (LweSecret, LweClueKey) {
    let seal = SealSecret::generate(rng);
    let public = seal.public().to_bytes();
    let mut key = LweClueKey {
        id: random(rng),
        seed: random(rng),
        products: Vec::new(),
        seal: public
            .try_into()
            .expect("public sealing keys of fixed length"),
    };
    let coefficients = coefficients(params, rng);
    key.products = products(params, &key, &coefficients, rng);
    let secret = LweSecret {
        id: key.id,
        coefficients,
        seal,
    };
    (secret, key)
}

fn random<const N: usize>(rng: &mut impl CryptoRng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn coefficients(params: &LweParams, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i64>> {
    let n = params.spec().n;
    if let LweKind::Integers { weight } = params.spec().kind {
        return Zeroizing::new(fixed_weight(rng, n, weight));
    }
    let ternary = ternary(params);
    let mut all = Zeroizing::new(Vec::with_capacity(params.secret_coefficients()));
    let mut uniform = Zeroizing::new(vec![0; n - ternary]);
    for _ in 0..params.spec().coordinates {
        all.extend_from_slice(&Zeroizing::new(uniform_ternary(rng, ternary)));
        params.residues().fill(rng, &mut uniform);
        all.extend(uniform.iter().map(|&x| i64::from(x)));
    }
    all
}

/// Returns `<row, secret> + error`, row by row; for integers `alpha s + e`.
fn products(
    params: &LweParams,
    key: &LweClueKey,
    secret: &[i64],
    rng: &mut impl CryptoRng,
) -> Vec<u32> {
    let (spec, residues) = (params.spec(), params.residues());
    let count = LweClueKey::product_count(params);
    let errors = Zeroizing::new(NarrowGaussian::new(spec.sigma).sample(rng, count));
    let mut row = vec![0; spec.n];
    if let LweKind::Integers { .. } = spec.kind {
        key.row_into(params, 0, &mut row);
        return ring::sample(residues, &row, secret, &errors, spec.n);
    }
    let mut products = Vec::with_capacity(count);
    for (i, errors) in errors.chunks_exact(spec.coordinates).enumerate() {
        key.row_into(params, i, &mut row);
        for (s, error) in secret.chunks_exact(spec.n).zip(errors) {
            // At most 2^13 terms below 2^48.
            let terms = row.iter().zip(s).map(|(&x, &s)| i64::from(x) * s);
            products.push(residues.reduce_signed(terms.sum::<i64>() + error));
        }
    }
    products
}

//! Making a recipient's secret and address.

use crate::SecretKey;
use crate::digest_secret::DigestSecret;
use crate::seal::{SealSecret, public_bytes};
use omr_marks::{publish, published};
use omr_protocol::params::SecretSpec;
use omr_protocol::{ClueKey, ClueKind, ClueParams};
use omr_ring::NarrowGaussian;
use omr_rlwe::Secret;
use omr_tfhe::BlockSecret;
use rand_core::{CryptoRng, Rng};
use zeroize::Zeroize;

/// Makes a recipient's secret and address for clues of a kind. Keys for detectors are made from the secret.
pub fn identity(
    params: &ClueParams,
    clues: ClueKind,
    rng: &mut impl CryptoRng,
) -> (SecretKey, ClueKey) {
    let secrets: Vec<Secret> = params
        .spec()
        .secrets()
        .iter()
        .map(|own| clue_secret(params.spec().n, own.spec, rng))
        .collect();
    let seal = SealSecret::generate(rng);
    let mut clue = clue_key(params, &secrets, &seal, rng);
    clue.kind = clues;
    let secret = SecretKey {
        address_id: clue.id,
        detection_id: public_random(rng),
        address: (clues == ClueKind::Bound).then(|| clue.clone()),
        clue: secrets,
        digest: DigestSecret::new(random(rng)),
        seal,
    };
    (secret, clue)
}

fn clue_secret(n: usize, spec: &SecretSpec, rng: &mut impl CryptoRng) -> Secret {
    match spec {
        SecretSpec::Ternary { weight } => Secret::fixed_weight(rng, n, *weight, f64::INFINITY),
        SecretSpec::Blocks { block, weight } => {
            let secret = BlockSecret::new(rng, n, *block, weight.clone());
            let bits = secret.bits().iter().map(|&bit| bit as i64).collect();
            Secret::from_coeffs(bits).expect("bits are ternary")
        }
    }
}

pub(crate) fn random<const N: usize>(rng: &mut impl Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// Returns random bytes for names, seeds of masks and other data that everybody may know.
pub(crate) fn public_random<const N: usize>(rng: &mut impl Rng) -> [u8; N] {
    published(random(rng))
}

fn clue_key(
    params: &ClueParams,
    secrets: &[Secret],
    seal: &SealSecret,
    rng: &mut impl CryptoRng,
) -> ClueKey {
    let ring = &params.ring;
    let basis = ring.everything();
    let mut key = ClueKey {
        kind: ClueKind::Plain,
        id: public_random(rng),
        seed: public_random(rng),
        beta: Vec::new(),
        seal: public_bytes(seal),
    };
    let alpha = ring.forward(omr_ring::Poly::from_rows(
        ring.n(),
        &basis,
        key.alpha(params),
    ));
    for (secret, own) in secrets.iter().zip(params.spec().secrets()) {
        let mut product = alpha.clone();
        ring.mul_assign(&mut product, &secret.poly(ring, &basis));
        let mut beta = ring.inverse(product);
        let mut error = NarrowGaussian::new(own.sigma).sample(rng, ring.n());
        ring.add_assign(&mut beta, &ring.lift_signed(&error, &basis));
        error.zeroize();
        key.beta.extend(beta.row(0).iter().map(|&x| x as u32));
    }
    // The address is public.
    publish(&mut key.beta);
    key
}

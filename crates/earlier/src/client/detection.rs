//! Detection keys for LWE clues.

use super::LweSecret;
use crate::sophomr::key_and_secret;
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_rlwe::Secret;
use rand_core::CryptoRng;

/// The detector's key for a secret. The secrets of the large and the small ring are forgotten.
///
/// Panics: unless the parameters are those of a set with this secret's clues.
pub fn detection_key(
    params: &Params,
    secret: &LweSecret,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_with_large_secret(params, secret, rng).0
}

/// The same, and the large ring's secret, for measuring noise.
///
/// Panics: as there.
pub fn detection_key_with_large_secret(
    params: &Params,
    secret: &LweSecret,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    let lwe = params.lwe.as_ref().expect("a set with LWE clues");
    let count = lwe.secret_coefficients();
    assert_eq!(secret.coefficients().len(), count, "shape of the secret");
    let clue = secret.coefficients().chunks(lwe.spec().n).collect();
    key_and_secret(params, secret.detection_id(), clue, &secret.digest(), rng)
}

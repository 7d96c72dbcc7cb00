//! Detection keys for LWE clues.

use super::LweSecret;
use crate::clear::EarlierParams;
use omr_client::sophomr::detection_key_of;
use omr_protocol::sophomr::DetectionKey;
use omr_rlwe::Secret;
use rand_core::CryptoRng;

/// The detector's key for a secret. The secrets of the large and the small ring are forgotten.
///
/// Panics: unless the parameters are those of a set with this secret's clues.
pub fn detection_key(
    params: &EarlierParams,
    secret: &LweSecret,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_with_large_secret(params, secret, rng).0
}

/// The detector's key for a secret, and the large ring's secret, for measuring noise.
///
/// Panics: unless the parameters are those of a set with this secret's clues.
pub fn detection_key_with_large_secret(
    params: &EarlierParams,
    secret: &LweSecret,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    let lwe = params.lwe.as_ref().expect("a set with LWE clues");
    let count = lwe.secret_coefficients();
    assert_eq!(secret.coefficients().len(), count, "shape of the secret");
    let clue = secret.coefficients().chunks(lwe.spec().n).collect();
    let id = secret.detection_id();
    detection_key_of(&params.params, id, clue, &secret.digest(), rng)
}

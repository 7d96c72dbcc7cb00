//! Detection keys.

use super::LweSecret;
use super::maker::{Hidden, Maker};
use crate::clear::{DetectionKey, EarlierParams, Params};
use omr_client::{SecretKey, identity};
use omr_protocol::{ClueKey, ClueKind};
use omr_rlwe::Secret;
use rand_core::CryptoRng;

/// The keys of a recipient of clues of the ring, and the large ring's secret, for measuring noise.
pub struct RingKeys {
    /// The secret.
    pub secret: SecretKey,
    /// The address.
    pub clue: ClueKey,
    /// The detector's key.
    pub detection: DetectionKey,
    /// The large ring's secret.
    pub large: Secret,
}

/// Makes the keys of a recipient of clues of the ring, for clues of a kind.
pub fn ring_keys(params: &Params, clues: ClueKind, rng: &mut impl CryptoRng) -> RingKeys {
    let (secret, clue) = identity(&params.clue, clues, rng);
    let address = secret.address();
    let hidden = Hidden {
        clue: vec![secret.clue_secret().coeffs()],
        offset: address.map(|address| address.offset(&params.clue)),
        digest: secret.digest_secret(),
    };
    let (detection, large) = Maker::new(params, rng).key(secret.detection_id, &hidden);
    RingKeys {
        secret,
        clue,
        detection,
        large,
    }
}

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
    let hidden = Hidden {
        clue: secret.coefficients().chunks(lwe.spec().n).collect(),
        offset: None,
        digest: &secret.digest(),
    };
    Maker::new(&params.params, rng).key(secret.detection_id(), &hidden)
}

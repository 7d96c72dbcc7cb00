//! Generation of detection keys.

use super::LweSecret;
use super::maker::{Hidden, Maker};
use crate::clear::{DetectionKey, PaperParams, Params};
use omr_client::{SecretKey, identity};
use omr_protocol::{ClueKey, ClueKind};
use omr_rlwe::Secret;
use rand_core::CryptoRng;

/// The keys of a recipient of ring LWE clues. They include the large ring's secret, for measuring noise.
pub struct RingKeys {
    /// The recipient's secret.
    pub secret: SecretKey,
    /// The recipient's address.
    pub clue: ClueKey,
    /// The detector's key.
    pub detection: DetectionKey,
    /// The large ring's secret.
    pub large: Secret,
}

/// Generates the keys of a recipient of ring LWE clues of one kind.
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

/// Generates the detector's key for a secret. The secrets of the large and the small ring are dropped.
///
/// Panics: if the parameters are not those of a set with this secret's clues.
pub fn detection_key(
    params: &PaperParams,
    secret: &LweSecret,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_with_large_secret(params, secret, rng).0
}

/// Generates the detector's key for a secret and returns it with the large ring's secret, for measuring noise.
///
/// Panics: if the parameters are not those of a set with this secret's clues.
pub fn detection_key_with_large_secret(
    params: &PaperParams,
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

//! Making keys for SophOMR's detector.

mod maker;

use crate::{SecretKey, identity};
use maker::{Hidden, Maker};
use omr_protocol::sophomr::{DetectionKey, Epoch, Params};
use omr_protocol::{ClueKey, ClueKind, DetectionKeyError};
use omr_rlwe::Secret;
use rand_core::CryptoRng;
use std::io::Write;

/// The three keys of a recipient.
pub struct Keys {
    /// The secret, which stays with the recipient.
    pub secret: SecretKey,
    /// The public address, for senders.
    pub clue: ClueKey,
    /// The key for the detector.
    pub detection: DetectionKey,
}

/// Makes a recipient's keys for SophOMR, for clues of a kind, with the recipient's own masks.
pub fn keygen(params: &Params, clues: ClueKind, rng: &mut impl CryptoRng) -> Keys {
    new_keys(params, clues, None, rng).0
}

/// Makes a recipient's keys for SophOMR, for clues of a kind, with the masks of an epoch.
pub fn keygen_in_epoch(
    params: &Params,
    clues: ClueKind,
    epoch: &Epoch,
    rng: &mut impl CryptoRng,
) -> Keys {
    new_keys(params, clues, Some(epoch), rng).0
}

/// Makes a recipient's keys for SophOMR; also returns the large ring's secret, for measurements of noise.
#[cfg(feature = "measure")]
pub fn keygen_with_large_secret(
    params: &Params,
    clues: ClueKind,
    rng: &mut impl CryptoRng,
) -> (Keys, Secret) {
    new_keys(params, clues, None, rng)
}

fn new_keys(
    params: &Params,
    clues: ClueKind,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> (Keys, Secret) {
    let (secret, clue) = identity(&params.clue, clues, rng);
    let (detection, large) = detection_key_and_secret(params, &secret, epoch, rng);
    let keys = Keys {
        secret,
        clue,
        detection,
    };
    (keys, large)
}

/// Makes SophOMR's detection key of a secret, for the secret's kind of clues. The secrets of the large and the small
/// ring are dropped afterwards: they are not needed again.
///
/// The masks are those of `epoch`, or the recipient's own. A detector runs some stages together for recipients with the
/// masks of one epoch. The key is derived from 32 bytes of `rng`, the masks and the secret, so a seed that is used
/// twice leads to the same key or to an independent one.
pub fn detection_key(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_and_secret(params, secret, epoch, rng).0
}

/// Makes the key of [`detection_key`] body by body and writes its file, in a fraction of the key's memory.
///
/// Errors: those of the writer.
pub fn write_detection_key(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
    out: impl Write,
) -> Result<(), DetectionKeyError> {
    let mut maker = maker(params, secret, epoch, rng);
    let (id, seeds, clues) = (secret.detection_id, maker.seeds(), secret.clues());
    DetectionKey::write_bodies(params, id, seeds, clues, out, |part, write| {
        maker.bodies(part, &mut |body| write(&body))
    })
}

fn detection_key_and_secret(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    maker(params, secret, epoch, rng).key(secret.detection_id)
}

fn maker<'a>(
    params: &'a Params,
    secret: &'a SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> Maker<'a> {
    let address = secret.address.as_ref();
    let hidden = Hidden {
        clue: secret.clue_secret().coeffs(),
        offset: address.map(|key| key.offset(&params.clue)),
        digest: &secret.digest,
    };
    let masks = epoch.map(|shared| shared.masks(params.name()));
    Maker::new(params, hidden, masks, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use omr_protocol::ParamSet;
    use rand_core::SeedableRng;

    #[test]
    fn a_key_is_written_body_by_body_as_it_is_made_at_once() {
        for name in ["insecure-tiny-v4", "insecure-tiny-hybrid-v4"] {
            let set = ParamSet::named(name).unwrap();
            let params = set.sophomr().unwrap();
            for clues in [ClueKind::Plain, ClueKind::Bound] {
                let rng = || ChaCha20Rng::seed_from_u64(3);
                let (secret, _) = identity(set.clue(), clues, &mut rng());
                let (mut whole, mut parts) = (Vec::new(), Vec::new());
                let key = detection_key(params, &secret, None, &mut rng());
                key.write(params, &mut whole).unwrap();
                write_detection_key(params, &secret, None, &mut rng(), &mut parts).unwrap();
                assert!(whole == parts, "{name}, {clues}");
                assert_eq!(
                    parts.len() as u64,
                    DetectionKey::file_bytes_of(params, clues)
                );
            }
        }
    }
}

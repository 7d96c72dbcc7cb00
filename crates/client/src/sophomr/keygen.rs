//! Keys for SophOMR's detector.

mod maker;

use crate::digest_secret::DigestSecret;
use crate::{SecretKey, identity};
use maker::{Hidden, Maker};
use omr_protocol::sophomr::{DetectionKey, Epoch, Params};
use omr_protocol::{ClueKey, ClueKind, DetectionKeyError};
use omr_rlwe::Secret;
use rand_core::CryptoRng;
use std::io::Write;

/// The three keys of a recipient.
pub struct Keys {
    /// Stays with her.
    pub secret: SecretKey,
    /// Her public address, for senders.
    pub clue: ClueKey,
    /// For the detector she hires.
    pub detection: DetectionKey,
}

/// Makes a recipient's keys for SophOMR, for clues of a kind, with masks of her own.
pub fn keygen(params: &Params, clues: ClueKind, rng: &mut impl CryptoRng) -> Keys {
    new_keys(params, clues, None, rng).0
}

/// Makes a recipient's keys for SophOMR, for clues of a kind; in sets that open clues, with the masks of an epoch.
pub fn keygen_in_epoch(
    params: &Params,
    clues: ClueKind,
    epoch: &Epoch,
    rng: &mut impl CryptoRng,
) -> Keys {
    new_keys(params, clues, Some(epoch), rng).0
}

/// A recipient's keys for SophOMR, and the large ring's secret, for measuring noise.
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

/// The SophOMR detector's key for a secret, for clues of its kind. The secrets of the large and the small ring
/// are forgotten: nobody needs them again.
///
/// In sets that open clues its masks are those of `epoch`, or of her own: a detector serves recipients with the masks of
/// one epoch together. Of `rng` 32 bytes are drawn; the key follows from them, the masks and the secret, so a seed that
/// serves twice gives the same key or an independent one.
pub fn detection_key(
    params: &Params,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
) -> DetectionKey {
    detection_key_and_secret(params, secret, epoch, rng).0
}

/// Makes the key of [`detection_key`] body by body and writes its file, in a fraction of the memory that the key takes.
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
        clue: vec![secret.clue_secret().coeffs()],
        offset: address.map(|address| address.offset(&params.clue)),
        digest: &secret.digest,
    };
    let masks = epoch.map(|epoch| epoch.masks(params.name()));
    Maker::new(params, hidden, masks, rng)
}

/// A detection key of this name for clue secrets of any scheme, and the large ring's secret, for measuring noise. The
/// small ring's secret is forgotten.
///
/// Shape:  `clue`: as many secrets as the circuit has, each of at most the clue ring's dimension.
/// Range:  coefficients above -p and below p.
pub fn detection_key_of(
    params: &Params,
    id: [u8; 16],
    clue: Vec<&[i64]>,
    digest: &DigestSecret,
    rng: &mut impl CryptoRng,
) -> (DetectionKey, Secret) {
    let hidden = Hidden {
        clue,
        offset: None,
        digest,
    };
    Maker::new(params, hidden, None, rng).key(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use omr_protocol::ParamSet;
    use rand_core::SeedableRng;

    #[test]
    fn a_key_is_written_body_by_body_as_it_is_made_at_once() {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let params = set.sophomr().unwrap();
        for clues in [ClueKind::Plain, ClueKind::Bound] {
            let rng = || ChaCha20Rng::seed_from_u64(3);
            let (secret, _) = identity(set.clue(), clues, &mut rng());
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            let key = detection_key(params, &secret, None, &mut rng());
            key.write(params, &mut whole).unwrap();
            write_detection_key(params, &secret, None, &mut rng(), &mut parts).unwrap();
            assert!(whole == parts, "{clues}");
            assert_eq!(
                parts.len() as u64,
                DetectionKey::file_bytes_of(params, clues)
            );
        }
    }
}

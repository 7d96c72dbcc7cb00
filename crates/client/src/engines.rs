//! What a recipient does alike for every engine: names and makes its key, decodes its digests.

use crate::instantomr::{self, InstantRecipient};
use crate::sophomr::{self, Recipient};
use crate::{DecodeError, Retrieved, SecretKey, SecretKeyError};
use omr_protocol::sophomr::{Digest, Epoch};
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, Response};
use rand_core::CryptoRng;
use std::io::Write;
use std::sync::OnceLock;

/// A detection key that was not made, or not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeKeyError {
    /// The secret is of another set.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// The set lacks the engine, or writing failed.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
}

impl SecretKey {
    /// The name of the recipient's detection key for an engine.
    #[must_use]
    pub fn key_id(&self, engine: EngineKind) -> [u8; 16] {
        match engine {
            EngineKind::Sophomr => self.detection_id,
            EngineKind::Instantomr => self.instant_id(),
        }
    }
}

/// Makes the detection key of a secret for an engine, and writes its file. The key takes the kind of clues that the
/// secret is for. `epoch`: whose masks it has, where the engine and the set [share them](sophomr::detection_key). Of
/// `rng` 32 bytes are drawn; the key follows from them, the masks and the secret.
///
/// Errors: `Secret`; `Key`.
pub fn write_detection_key(
    set: &ParamSet,
    engine: EngineKind,
    secret: &SecretKey,
    epoch: Option<&Epoch>,
    rng: &mut impl CryptoRng,
    out: &mut impl Write,
) -> Result<(), MakeKeyError> {
    match engine {
        EngineKind::Sophomr => {
            let params = set.sophomr().map_err(DetectionKeyError::from)?;
            sophomr::write_detection_key(params, secret, epoch, rng, out)?;
        }
        EngineKind::Instantomr => {
            let params = set.instantomr().map_err(DetectionKeyError::from)?;
            instantomr::write_detection_key(params, secret, rng, out)?;
        }
    }
    Ok(())
}

/// Her pertinent messages in the range of a digest of any scheme, in the order of the board.
///
/// Errors: those of [`Recipient::decode`] and [`InstantRecipient::decode`]; `Params` when the set lacks
/// the digest's engine.
pub fn decode(
    set: &ParamSet,
    secret: &SecretKey,
    response: &Response,
) -> Result<Vec<Retrieved>, DecodeError> {
    Decoder::default().decode(set, secret, response)
}

/// What [`decode`] prepares of one secret, kept for further digests. Wiped when dropped.
#[derive(Default)]
pub struct Decoder {
    bulk: OnceLock<Recipient>,
    instant: OnceLock<InstantRecipient>,
}

impl Decoder {
    /// The same as [`decode`], with one secret always.
    ///
    /// Errors: the same.
    pub fn decode(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
        response: &Response,
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let bulk = |digest: &Digest| {
            let params = set.sophomr_recipient()?;
            let recipient = || Recipient::new(params, secret);
            self.bulk.get_or_init(recipient).decode(digest)
        };
        let instant = |digest| {
            let params = set.instantomr()?;
            let recipient = || InstantRecipient::new(params, secret);
            self.instant.get_or_init(recipient).decode(digest)
        };
        match response {
            Response::Sophomr(digest) => bulk(digest),
            Response::Instantomr(digest) => instant(digest),
            Response::Hybrid(first, rest) => {
                // Both are decoded before either's outcome is looked at.
                let (first, rest) = (bulk(first), instant(rest));
                let mut found = first?;
                found.extend(rest?);
                Ok(found)
            }
        }
    }
}

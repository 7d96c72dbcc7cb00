//! A recipient's operations for any engine: making its key and decoding its digests.

use crate::instantomr::{self, InstantRecipient};
use crate::rounds::{self, RoundsRecipient};
use crate::sophomr::{self, Recipient};
use crate::{DecodeError, Retrieved, SecretKey, SecretKeyError};
use omr_protocol::rounds::Scanned;
use omr_protocol::sophomr::{Digest, Epoch};
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, ParamsError, Response};
use rand_core::CryptoRng;
use std::io::Write;
use std::sync::OnceLock;

/// An error of making or writing a detection key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeKeyError {
    /// The secret belongs to another set.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// The set lacks the engine, or writing failed.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
}

impl SecretKey {
    /// Returns the name of the recipient's detection key for an engine.
    #[must_use]
    pub fn key_id(&self, engine: EngineKind) -> [u8; 16] {
        match engine {
            EngineKind::Sophomr => self.detection_id,
            EngineKind::Instantomr => self.instant_id(),
            EngineKind::Rounds => self.rounds_id(),
        }
    }
}

/// Makes the detection key of a secret for an engine and writes its file. The key is for the secret's kind of clues. It
/// has the masks of `epoch`, if the engine and the set [share masks](sophomr::detection_key). The key is derived from
/// 32 bytes of `rng`, the masks and the secret.
///
/// Errors: `Secret`, `Key`.
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
        EngineKind::Rounds => {
            let params = set.rounds().map_err(DetectionKeyError::from)?;
            rounds::write_key(params, secret, epoch, rng, out)?;
        }
    }
    Ok(())
}

/// Returns the recipient's pertinent messages in the range of a digest of any scheme or of a scan, in the order of the
/// board. The messages of a scan have payloads if it contains them.
///
/// Errors: those of [`Recipient::decode`], [`InstantRecipient::decode`] and [`RoundsRecipient::indices`]; `Params` if
/// the set lacks the digest's engine.
pub fn decode(
    set: &ParamSet,
    secret: &SecretKey,
    response: &Response,
) -> Result<Vec<Retrieved>, DecodeError> {
    Decoder::default().decode(set, secret, response)
}

/// A decoder of the digests of one secret. It keeps prepared secrets for further digests and is wiped when dropped.
#[derive(Default)]
pub struct Decoder {
    sophomr: OnceLock<Recipient>,
    instantomr: OnceLock<InstantRecipient>,
    rounds: OnceLock<RoundsRecipient>,
}

impl Decoder {
    /// Decodes a response as [`decode`] does. All calls must have the same secret.
    ///
    /// Errors: those of [`decode`].
    pub fn decode(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
        response: &Response,
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let sophomr = |digest: &Digest| {
            let params = set.sophomr_recipient()?;
            let recipient = || Recipient::new(params, secret);
            self.sophomr.get_or_init(recipient).decode(digest)
        };
        let instantomr = |digest| {
            let params = set.instantomr()?;
            let recipient = || InstantRecipient::new(params, secret);
            self.instantomr.get_or_init(recipient).decode(digest)
        };
        match response {
            Response::Sophomr(digest) => sophomr(digest),
            Response::Instantomr(digest) => instantomr(digest),
            Response::Hybrid(first, rest) => {
                // Both are decoded before either result is examined.
                let in_batches = sophomr(first);
                let in_rest = instantomr(rest);
                let mut found = in_batches?;
                found.extend(in_rest?);
                Ok(found)
            }
            Response::Scan(scan) => self.scanned(set, secret, scan),
        }
    }

    /// Returns the recipient of two rounds, which also asks for payloads and reads answers.
    ///
    /// Errors: `Params` if the set does not serve two rounds.
    pub fn rounds(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
    ) -> Result<&RoundsRecipient, ParamsError> {
        let params = set.rounds()?;
        let recipient = || RoundsRecipient::new(params, secret);
        Ok(self.rounds.get_or_init(recipient))
    }

    /// Returns the messages of a scan.
    fn scanned(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
        scan: &Scanned,
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let recipient = self.rounds(set, secret)?;
        let indices = recipient.indices(scan)?;
        if let Some(messages) = recipient.payloads(scan, &indices)? {
            return Ok(messages);
        }
        let without = |index| Retrieved::new(index, None, None);
        Ok(indices.into_iter().map(without).collect())
    }
}

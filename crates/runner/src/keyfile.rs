//! The file of a detection key, opened.

use omr_protocol::frame::{FrameError, Opened};
use omr_protocol::{DetectionKeyError, EngineKind, Mismatch, ParamSet, ParamsError};
use std::io::Read;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It could not be read.
    #[error("reading the key: {0}")]
    Read(#[from] std::io::Error),
    /// It is no key, or one of another set.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// What is in it.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    /// The set has no such engine.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// No engine on the card that was asked for.
    #[error(transparent)]
    Cards(#[from] omr_cuda::CardsError),
    /// It is for another engine than the unit says.
    #[error("expected a key for {}, found one for {}", .0.expected, .0.found)]
    Kind(Mismatch<EngineKind>),
}

impl KeyError {
    /// Whether the key could not be read, which may pass.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Read(_)
                | Self::Frame(FrameError::Io(_))
                | Self::Key(DetectionKeyError::Frame(FrameError::Io(_)))
        )
    }
}

/// A key's file, its header read.
pub struct KeyFile {
    /// What it is for.
    pub kind: EngineKind,
    /// The key's id, which stands in the digests that are made with it.
    pub key_id: [u8; 16],
    /// The whole file.
    pub reader: Box<dyn Read + Send>,
}

impl KeyFile {
    /// Reads the header of a key of a set.
    ///
    /// Errors: `Read`, `Frame`.
    pub fn open(reader: Box<dyn Read + Send>, set: &ParamSet) -> Result<Self, KeyError> {
        let kinds = EngineKind::ALL.map(EngineKind::key_file);
        let file = Opened::new::<KeyError>(reader, &kinds)?;
        file.header.expect_params(set.name())?;
        let other = Mismatch::new(kinds[0], file.header.kind);
        Ok(Self {
            kind: EngineKind::of_key_file(file.header.kind).ok_or(FrameError::Kind(other))?,
            key_id: file.header.key_id,
            reader: Box::new(file.reader),
        })
    }
}

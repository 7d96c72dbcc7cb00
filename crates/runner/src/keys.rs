//! Detection keys in memory.

use crate::{KeyRef, Supplies};
use omr_cuda::{Cards, CardsError};
use omr_detector::engine::Loaded;
use omr_protocol::{DetectionKeyError, EngineKind, KeyFile, Mismatch, ParamSet};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key could not be read.
    #[error("reading the key: {0}")]
    Read(#[from] std::io::Error),
    /// The file is no key of the set.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    /// There is no engine on the card that was asked for.
    #[error(transparent)]
    Cards(#[from] CardsError),
    /// The key is for another engine than the unit states.
    #[error("expected a key for {}, found one for {}", .0.expected, .0.found)]
    Kind(Mismatch<EngineKind>),
}

impl KeyError {
    /// Whether the key could not be read, which may pass.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Key(error) => error.is_unread(),
            Self::Cards(_) | Self::Kind(_) => false,
        }
    }
}

/// Keys read lately.
#[derive(Default)]
pub struct Keys {
    /// The latest last.
    kept: VecDeque<([u8; 32], Arc<dyn Loaded>)>,
    loading: Duration,
}

impl Keys {
    /// A key, read unless it is here; then there are at most `room` of them.
    ///
    /// Errors: any `KeyError`.
    pub(crate) fn load(
        &mut self,
        key: &KeyRef,
        room: usize,
        supplies: &dyn Supplies,
        set: &ParamSet,
        cards: &Cards,
    ) -> Result<Arc<dyn Loaded>, KeyError> {
        if let Some(known) = self.held(key) {
            return Ok(known);
        }
        // Room first: two keys at full size are much memory.
        self.keep(room.saturating_sub(1));
        let start = Instant::now();
        let mut file = opened(key, supplies, set)?;
        let engine = cards.engine(set, key.kind)?;
        let loaded = engine.load(&mut file.reader)?;
        self.kept.push_back((key.hash, loaded.clone()));
        self.loading += start.elapsed();
        Ok(loaded)
    }

    /// A key that is here.
    pub(crate) fn held(&mut self, key: &KeyRef) -> Option<Arc<dyn Loaded>> {
        let known = self.kept.iter().position(|(known, _)| *known == key.hash);
        let entry = self.kept.remove(known?)?;
        self.kept.push_back(entry.clone());
        Some(entry.1)
    }

    /// How long it took so far to read keys.
    #[must_use]
    pub const fn loading(&self) -> Duration {
        self.loading
    }

    /// Drops all but so many, the oldest first.
    pub fn keep(&mut self, most: usize) {
        while self.kept.len() > most {
            self.kept.pop_front();
        }
    }
}

/// The file of a key, which is of the kind that its unit says.
///
/// Errors: `Read`, `Key`, `Kind`.
pub(crate) fn opened(
    key: &KeyRef,
    supplies: &dyn Supplies,
    set: &ParamSet,
) -> Result<KeyFile<Box<dyn Read + Send>>, KeyError> {
    let file = KeyFile::open(supplies.key(key)?, set)?;
    if file.kind == key.kind {
        Ok(file)
    } else {
        Err(KeyError::Kind(Mismatch::new(key.kind, file.kind)))
    }
}

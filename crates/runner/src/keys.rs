//! Detection keys in memory.

use crate::{KeyRef, Supplies};
use omr_cuda::{Cards, CardsError};
use omr_detector::engine::Loaded;
use omr_protocol::{DetectionKeyError, EngineKind, KeyFile, Mismatch, ParamSet};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An error of loading a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Reading the key failed.
    #[error("reading the key: {0}")]
    Read(#[from] std::io::Error),
    /// The file is no key of the parameter set.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    /// The requested card has no engine.
    #[error(transparent)]
    Cards(#[from] CardsError),
    /// The key is for another engine than the unit states.
    #[error("expected a key for {}, found one for {}", .0.expected, .0.found)]
    Kind(Mismatch<EngineKind>),
}

impl KeyError {
    /// Returns whether reading the key failed, which may be temporary.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Key(error) => error.is_unread(),
            Self::Cards(_) | Self::Kind(_) => false,
        }
    }
}

/// Recently used keys.
#[derive(Default)]
pub struct Keys {
    /// The keys, with the last used at the end.
    kept: VecDeque<([u8; 32], Arc<dyn Loaded>)>,
    loading: Duration,
}

impl Keys {
    /// Returns a key, after reading it unless it is in memory. Then there are at most `room` keys.
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
        // Keys are dropped first: two keys at full size take much memory.
        self.keep(room.saturating_sub(1));
        let start = Instant::now();
        let mut file = opened(key, supplies, set)?;
        let engine = cards.engine(set, key.kind)?;
        let loaded = engine.load(&mut file.reader)?;
        self.kept.push_back((key.hash, loaded.clone()));
        self.loading += start.elapsed();
        Ok(loaded)
    }

    /// Returns a key that is in memory.
    pub(crate) fn held(&mut self, key: &KeyRef) -> Option<Arc<dyn Loaded>> {
        let known = self.kept.iter().position(|(known, _)| *known == key.hash);
        let entry = self.kept.remove(known?)?;
        self.kept.push_back(entry.clone());
        Some(entry.1)
    }

    /// Returns the time spent on reading keys so far.
    #[must_use]
    pub const fn loading(&self) -> Duration {
        self.loading
    }

    /// Drops keys, the least recently used first, until there are at most `most`.
    pub fn keep(&mut self, most: usize) {
        while self.kept.len() > most {
            self.kept.pop_front();
        }
    }
}

/// Opens the file of a key, which must be for the engine that its unit states.
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

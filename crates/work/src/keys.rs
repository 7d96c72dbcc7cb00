//! Detection keys in memory.

use crate::{KeyError, KeyFile, KeyRef, Supplies};
use omr_cuda::Cards;
use omr_detector::engine::Loaded;
use omr_detector::sophomr::BoardCache;
use omr_protocol::{Mismatch, ParamSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys read lately, the latest last.
#[derive(Default)]
pub struct Keys(VecDeque<([u8; 32], Arc<dyn Loaded>)>);

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
        (cards, cache): (&Cards, &Arc<BoardCache>),
    ) -> Result<Arc<dyn Loaded>, KeyError> {
        if let Some(known) = self.held(key) {
            return Ok(known);
        }
        // Room first: two keys at full size are much memory.
        self.keep(room.saturating_sub(1));
        let mut file = opened(key, supplies, set)?;
        let engine = cards.engine(set, key.kind, Some(cache))?;
        let loaded = engine.load(&mut file.reader)?;
        self.0.push_back((key.hash, loaded.clone()));
        Ok(loaded)
    }

    /// A key that is here.
    pub(crate) fn held(&mut self, key: &KeyRef) -> Option<Arc<dyn Loaded>> {
        let known = self.0.iter().position(|(known, _)| *known == key.hash);
        let entry = self.0.remove(known?)?;
        self.0.push_back(entry.clone());
        Some(entry.1)
    }

    /// Drops all but so many, the oldest first.
    pub fn keep(&mut self, most: usize) {
        while self.0.len() > most {
            self.0.pop_front();
        }
    }
}

/// The file of a key, which is of the kind that its unit says.
///
/// Errors: `Read`, `Frame`, `Kind`.
pub(crate) fn opened(
    key: &KeyRef,
    supplies: &dyn Supplies,
    set: &ParamSet,
) -> Result<KeyFile, KeyError> {
    let file = KeyFile::open(supplies.key(key)?, set)?;
    match file.kind == key.kind {
        true => Ok(file),
        false => Err(KeyError::Kind(Mismatch::new(key.kind, file.kind))),
    }
}

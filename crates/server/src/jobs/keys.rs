//! Detection keys in memory.

use crate::keyfile::{self, KeyError};
use omr_detector::engine::{self, Loaded};
use omr_detector::sophomr::BoardCache;
use omr_protocol::ParamSet;
use omr_store::Store;
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys read lately, the latest last.
#[derive(Default)]
pub(super) struct Keys(VecDeque<([u8; 32], Arc<dyn Loaded>)>);

impl Keys {
    /// A key, read unless it is here; then there are at most `room` of them.
    ///
    /// Errors: any `KeyError`.
    pub(super) fn load(
        &mut self,
        hash: [u8; 32],
        room: usize,
        store: &Store,
        set: &ParamSet,
        cache: &Arc<BoardCache>,
    ) -> Result<Arc<dyn Loaded>, KeyError> {
        if let Some(at) = self.0.iter().position(|(known, _)| *known == hash)
            && let Some(entry) = self.0.remove(at)
        {
            self.0.push_back(entry.clone());
            return Ok(entry.1);
        }
        // Room first: two keys at full size are much memory.
        self.keep(room.saturating_sub(1));
        let engine = |kind| engine::on_cpu(set, kind, Some(cache));
        let loaded = keyfile::load(store, hash, set, engine)?;
        self.0.push_back((hash, loaded.clone()));
        Ok(loaded)
    }

    /// Drops all but so many, the oldest first.
    pub(super) fn keep(&mut self, most: usize) {
        while self.0.len() > most {
            self.0.pop_front();
        }
    }
}

//! Payloads that were prepared for fetches and stay in memory.

use omr_detector::rounds::PreparedPage;
use omr_protocol::SEED_BYTES;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The pages that were used last, which serve all recipients.
pub struct Pages {
    most: u64,
    stay: bool,
    /// The pages, with the last used at the end.
    kept: Mutex<VecDeque<Arc<PreparedPage>>>,
}

impl Pages {
    /// Makes a store of at most `most` bytes of prepared payloads, which `stay` while digests are made or are dropped
    /// before.
    #[must_use]
    pub fn new(most: u64, stay: bool) -> Self {
        Self {
            most,
            stay,
            kept: Mutex::default(),
        }
    }

    /// Drops all pages before a digest is made, unless there is memory for both.
    pub(crate) fn give_way(&self) {
        if !self.stay {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.clear();
        }
    }

    /// Returns a page with a seed that contains the messages from `start` on.
    pub(crate) fn held(
        &self,
        page: u64,
        seed: &[u8; SEED_BYTES],
        start: u64,
    ) -> Option<Arc<PreparedPage>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|held| {
            held.page == page && held.seed == *seed && held.messages.start <= start
        });
        let held = kept.remove(at?)?;
        kept.push_back(held.clone());
        Some(held)
    }

    /// Keeps a page in place of an earlier one with fewer of its messages, and drops the pages that were not used for
    /// longest until all of them fit. Each takes `bytes`.
    pub(crate) fn keep(&self, page: &Arc<PreparedPage>, bytes: u64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|held| (held.page, held.seed) != (page.page, page.seed));
        kept.push_back(page.clone());
        while kept.len() as u64 * bytes > self.most && kept.len() > 1 {
            kept.pop_front();
        }
    }
}

//! Counters by label whose values can be read back.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Counters by label whose values can be listed too: the library writes its labels only into the
/// text for Prometheus.
#[derive(Debug)]
pub(super) struct Listed<L: Clone + Hash + Eq> {
    counters: Family<L, Counter>,
    seen: Mutex<BTreeSet<L>>,
}

impl<L> Listed<L>
where
    L: Clone + Debug + Hash + Ord + EncodeLabelSet + Send + Sync + 'static,
{
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str) -> Self {
        let counters = Family::default();
        registry.register(name, help, Family::clone(&counters));
        Self {
            counters,
            seen: Mutex::default(),
        }
    }

    pub(super) fn inc(&self, label: L) {
        if self.counters.get(&label).is_none() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(label.clone());
        }
        self.counters.get_or_create(&label).inc();
    }

    /// All labels with their counts.
    pub(super) fn counts(&self) -> Vec<(L, u64)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |label: &L| self.counters.get(label).map_or(0, |counter| counter.get());
        seen.iter()
            .map(|label| (label.clone(), count(label)))
            .collect()
    }
}

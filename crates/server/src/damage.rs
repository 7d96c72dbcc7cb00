//! The damage that reading found, for the operator.

use omr_ops::Metrics;
use omr_store::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The damaged objects, with their errors.
pub(crate) struct Damage {
    found: Mutex<Found>,
    metrics: Metrics,
}

#[derive(Default)]
struct Found {
    objects: BTreeMap<String, String>,
    /// The messages that are lost.
    lost: BTreeSet<u64>,
}

/// The number of lost messages that the status names.
const NAMED: usize = 16;

impl Damage {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            found: Mutex::default(),
            metrics,
        }
    }

    /// Notes an error if it is damage.
    pub(crate) fn note(&self, error: &StoreError) {
        let (object, kind) = match error {
            StoreError::Damaged { object, .. } => (object.clone(), "segment"),
            StoreError::Row { table, .. } => (table.clone(), "row"),
            StoreError::Database(_) | StoreError::Panicked => ("meta".into(), "meta"),
            _ => return,
        };
        let mut found = self.found();
        if found.objects.insert(object, error.to_string()).is_none() {
            self.metrics.damaged(kind, 1);
            tracing::error!(%error, "damage; stop the server and run `omr data verify`, which lists what to do");
        }
    }

    /// Notes a lost message. Readers see that it is lost, and digests are made without it.
    pub(crate) fn lost(&self, index: u64) {
        if self.found().lost.insert(index) {
            self.metrics.damaged("message", 1);
            tracing::error!(
                index,
                "this message is lost; `omr data repair --from` takes it from a backup that has it"
            );
        }
    }

    /// Returns the number of damaged objects with the error of one, and the number of lost messages with the first of
    /// them.
    pub(crate) fn summary(&self) -> Option<String> {
        let found = self.found();
        let mut parts = Vec::new();
        if let Some((_, first)) = found.objects.first_key_value() {
            parts.push(format!(
                "{} damaged, among them: {first}",
                found.objects.len()
            ));
        }
        if !found.lost.is_empty() {
            let named = found
                .lost
                .iter()
                .take(NAMED)
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            let more = if found.lost.len() > NAMED {
                ", ..."
            } else {
                ""
            };
            parts.push(format!("{} messages lost: {named}{more}", found.lost.len()));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_counts_and_names_lost_messages() {
        let damage = Damage::new(Metrics::new("0", "test"));
        assert_eq!(damage.summary(), None);
        for index in [30, 4, 4] {
            damage.lost(index);
        }
        assert_eq!(damage.summary().unwrap(), "2 messages lost: 4, 30");
        damage.note(&StoreError::Panicked);
        (0..17).for_each(|index| damage.lost(index));
        let text = damage.summary().unwrap();
        assert!(text.starts_with("1 damaged, among them: "), "{text}");
        assert!(
            text.ends_with(
                "; 18 messages lost: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ..."
            ),
            "{text}"
        );
    }
}

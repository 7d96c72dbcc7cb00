//! Damage that reading found, for the operator.

use omr_ops::Metrics;
use omr_store::StoreError;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Damaged objects, with what was found.
pub(crate) struct Damage {
    objects: Mutex<BTreeMap<String, String>>,
    metrics: Metrics,
}

impl Damage {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            objects: Mutex::default(),
            metrics,
        }
    }

    /// Remembers an error if it is of damage.
    pub(crate) fn note(&self, error: &StoreError) {
        let (object, kind) = match error {
            StoreError::Damaged { object, .. } => (object.clone(), "segment"),
            StoreError::Row { table, .. } => (table.clone(), "row"),
            StoreError::Database(_) | StoreError::Panicked => ("meta".into(), "meta"),
            _ => return,
        };
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.insert(object, error.to_string()).is_none() {
            self.metrics.damaged(kind, 1);
            tracing::error!(%error, "damage; stop the server and run `omr data verify`, which says what to do");
        }
    }

    /// Remembers a message that is lost: readers are told, and digests go on without.
    pub(crate) fn lost(&self, index: u64) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("message {index}");
        let text = format!("{name} is lost: its record was damaged");
        if objects.insert(name, text).is_none() {
            self.metrics.damaged("message", 1);
            tracing::error!(
                index,
                "this message is lost; `omr data repair --from` takes it from a backup that has it"
            );
        }
    }

    /// How many objects are damaged, and what is wrong with one.
    pub(crate) fn summary(&self) -> Option<String> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, first) = objects.first_key_value()?;
        Some(format!("{} damaged, among them: {first}", objects.len()))
    }
}

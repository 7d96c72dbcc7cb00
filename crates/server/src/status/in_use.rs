//! The resources that all clients use together. The figures change so rarely that nobody can see when a client fetched
//! a digest.

use super::now;
use crate::shared::Shared;
use omr_memory::Memory;
use omr_ops::{DiskUse, Totals, UseFigures};
use omr_store::Usage;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time for which the figures stay the same, unless the operator has single digests listed.
const EVERY: Duration = Duration::from_secs(900);

/// The figures that were shown last, with their time.
#[derive(Default)]
pub(super) struct InUse(Mutex<Option<(Instant, UseFigures)>>);

impl InUse {
    pub(super) fn figures(&self, shared: &Shared, totals: &Totals) -> UseFigures {
        if shared.config.watch.digests {
            return count(shared, totals, Duration::ZERO);
        }
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*shown {
            Some((at, figures)) if at.elapsed() < EVERY => figures.clone(),
            _ => {
                let figures = count(shared, totals, EVERY);
                *shown = Some((Instant::now(), figures.clone()));
                figures
            }
        }
    }
}

fn count(shared: &Shared, totals: &Totals, every: Duration) -> UseFigures {
    let usage = shared.store.usage();
    let memory = Memory::now();
    let part = |(kind, bytes): (&str, u64)| DiskUse {
        kind: kind.into(),
        bytes,
    };
    UseFigures {
        counted_unix_seconds: now(),
        every_seconds: every.as_secs(),
        jobs: totals.jobs,
        keys: totals.keys,
        key_bytes: usage.key_bytes,
        sessions: totals.sessions,
        refused: totals.calls_refused.clone(),
        memory_bytes: memory.used,
        memory_limit_bytes: memory.limit,
        disk: disk(&usage).into_iter().map(part).collect(),
        disk_free_bytes: disk_free(shared),
    }
}

pub(super) fn disk(usage: &Usage) -> [(&'static str, u64); 4] {
    [
        ("meta", usage.meta_bytes),
        ("segments", usage.segment_bytes),
        ("keys", usage.key_bytes),
        ("uploads", usage.upload_bytes),
    ]
}

/// Returns the free bytes of the data folder's disk.
pub(super) fn disk_free(shared: &Shared) -> Option<u64> {
    let found = rustix::fs::statvfs(&shared.config.data).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

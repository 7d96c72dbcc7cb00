//! What the status page shows.

use crate::shared::Shared;
use omr_ops::{
    BoardSize, Check, Cost, DiskUse, Growth, Health, RunningJob, SessionFigures, Status,
};
use omr_store::Usage;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Points of the board's growth: a day of them.
const POINTS: usize = 288;
/// Seconds between two points.
const EVERY: u64 = 300;

/// What is remembered for the page.
pub(crate) struct Watched {
    started: Instant,
    growth: Mutex<VecDeque<Growth>>,
    /// Transforms that were counted.
    transforms: AtomicU64,
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            growth: Mutex::default(),
            transforms: AtomicU64::new(omr_detector::transforms()),
        }
    }

    /// Looks at the store: every few seconds.
    pub(crate) fn look(&self, shared: &Shared) {
        let usage = shared.store.usage();
        shared.metrics.board(BoardSize {
            messages: usage.messages,
            tail_messages: usage.tail_messages,
            segments: usage.segments,
        });
        for (kind, bytes) in disk(&usage) {
            shared.metrics.disk(kind, bytes);
        }
        if let Some(sessions) = &shared.sessions {
            let (open, lag) = sessions.overview();
            shared.metrics.sessions(open as u64, lag);
        }
        let done = omr_detector::transforms();
        let before = self.transforms.swap(done, Ordering::Relaxed);
        shared.metrics.ntts("all", done.saturating_sub(before));
        self.remember(usage.messages);
    }

    fn remember(&self, messages: u64) {
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        let point = Growth {
            unix_seconds: now(),
            messages,
        };
        // The last point moves along until its time is over.
        if let [.., before, _] = growth.make_contiguous()
            && point.unix_seconds.saturating_sub(before.unix_seconds) < EVERY
        {
            growth.pop_back();
        }
        growth.push_back(point);
        if growth.len() > POINTS {
            growth.pop_front();
        }
    }

    /// The page's figures.
    pub(crate) fn status(&self, shared: &Shared) -> Status {
        let board = shared.store.board();
        let (queued, running) = shared.jobs.overview();
        let (open, lag) = shared
            .sessions
            .as_ref()
            .map_or((0, 0), |sessions| sessions.overview());
        let detector = &shared.config.detector;
        let slots = shared.set.bulk().map_or(1, |params| params.slots());
        let cost = |scheme: &str, seconds: f64| Cost {
            scheme: scheme.into(),
            milliseconds_a_message: seconds * 1e3,
        };
        let mut costs = Vec::new();
        if shared.set.spec().bulk.is_some() {
            costs.push(cost("sophomr", detector.batch_seconds / slots as f64));
        }
        if shared.sessions.is_some() {
            costs.push(cost("instantomr", detector.message_seconds));
        }
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            board_id: board
                .board_id
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            params_id: board.params_id.clone(),
            written_unix_seconds: now(),
            uptime_seconds: self.started.elapsed().as_secs(),
            health: health(shared),
            messages: shared.store.len(),
            growth: self
                .growth
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .copied()
                .collect(),
            queued_jobs: queued as u64,
            running_jobs: match shared.config.watch.digests {
                true => running.into_iter().map(running_job).collect(),
                false => Vec::new(),
            },
            digests: match shared.config.watch.digests {
                true => shared.jobs.last_digests(),
                false => Vec::new(),
            },
            lists_digests: shared.config.watch.digests,
            costs,
            sessions: SessionFigures {
                open: open as u64,
                messages: shared
                    .sessions
                    .as_ref()
                    .map_or(0, |sessions| sessions.messages()),
                lag_messages: lag,
            },
            disk: disk(&shared.store.usage())
                .into_iter()
                .map(|(kind, bytes)| DiskUse {
                    kind: kind.into(),
                    bytes,
                })
                .collect(),
            disk_free_bytes: disk_free(shared),
        }
    }
}

fn running_job(view: crate::jobs::View) -> RunningJob {
    RunningJob {
        scheme: view.scheme.into(),
        stage: view.stage.into(),
        stage_done: view.done,
        stage_total: view.total,
        seconds: view.started.map_or(0.0, |at| at.elapsed().as_secs_f64()),
    }
}

fn disk(usage: &Usage) -> [(&'static str, u64); 4] {
    [
        ("meta", usage.meta_bytes),
        ("segments", usage.segment_bytes),
        ("keys", usage.key_bytes),
        ("uploads", usage.upload_bytes),
    ]
}

/// Bytes that the data folder's disk has left for the server.
fn disk_free(shared: &Shared) -> Option<u64> {
    let found = rustix::fs::statvfs(&shared.config.data).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Below this the disk is told of: an hour of posts at full speed.
const LITTLE_DISK: u64 = 16 << 30;

fn health(shared: &Shared) -> Health {
    let stopping = *shared.stopping.borrow();
    let mut checks = vec![Check {
        name: "serving".into(),
        good: !stopping,
        found: if stopping {
            "stopping"
        } else {
            "open to requests"
        }
        .into(),
    }];
    if let Some(free) = disk_free(shared) {
        checks.push(Check {
            name: "disk".into(),
            good: free >= LITTLE_DISK,
            found: format!("{:.1} GB left", free as f64 / 1e9),
        });
    }
    let damage = shared.damage.summary();
    checks.push(Check {
        name: "storage".into(),
        good: damage.is_none(),
        found: damage.unwrap_or_else(|| "no damage found".into()),
    });
    Health::of(checks)
}

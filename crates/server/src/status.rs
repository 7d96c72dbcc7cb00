//! The figures of the status page.

mod health;
mod in_use;
mod lately;

use crate::shared::Shared;
use health::health;
use in_use::{InUse, disk};
use lately::{HOUR, Lately, MINUTE, Sample};
use omr_ops::{BoardSize, Cost, Growth, PostingFigures, RunningJob, Status, Totals};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The number of points in the board's growth, which cover a day.
const POINTS: usize = 288;
/// The number of seconds between two points.
const EVERY: u64 = 300;

/// The data that is remembered for the page.
pub(crate) struct Watched {
    started: Instant,
    growth: Mutex<VecDeque<Growth>>,
    lately: Mutex<Lately>,
    in_use: InUse,
    /// The number of transforms that were counted.
    transforms: AtomicU64,
}

/// Returns the time in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    pub(crate) fn new() -> Self {
        let started = Instant::now();
        Self {
            started,
            growth: Mutex::default(),
            lately: Mutex::new(Lately::new(started)),
            in_use: InUse::default(),
            transforms: AtomicU64::new(omr_detector::transforms()),
        }
    }

    /// Reads the store and the counters. Called every few seconds.
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
        let totals = shared.metrics.totals();
        lock(&self.lately).note(Sample::of(&totals, Instant::now()));
        self.remember(usage.messages, totals.posts);
    }

    fn remember(&self, messages: u64, posts: u64) {
        let mut growth = lock(&self.growth);
        let point = Growth {
            unix_seconds: now(),
            messages,
            posts,
        };
        // The last point is replaced until its time is over.
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

    /// Returns the figures of the page.
    pub(crate) fn status(&self, shared: &Shared) -> Status {
        let board = shared.store.board();
        let totals = shared.metrics.totals();
        let digests = shared.config.watch.digests;
        let running = shared.jobs.running().into_iter().filter(|_| digests);
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            build: build(shared),
            source: env!("CARGO_PKG_REPOSITORY").into(),
            board_id: omr_protocol::hex(&board.board_id),
            params_id: board.params_id.clone(),
            written_unix_seconds: now(),
            uptime_seconds: self.started.elapsed().as_secs(),
            health: health(shared),
            messages: shared.store.len(),
            first_index: shared.store.first(),
            expire_days: shared.config.board.expire_days,
            growth: lock(&self.growth).iter().copied().collect(),
            posting: self.posting(&totals),
            in_use: self.in_use.figures(shared, &totals),
            lists_digests: digests,
            running_jobs: running.map(running_job).collect(),
            digests: if digests {
                shared.jobs.last_digests()
            } else {
                Vec::new()
            },
            configured_costs: configured_costs(shared),
            mail: shared.config.page.mail.is_some(),
        }
    }

    fn posting(&self, totals: &Totals) -> PostingFigures {
        let now = Sample::of(totals, Instant::now());
        let lately = lock(&self.lately);
        PostingFigures {
            minute: lately.rate(now, MINUTE),
            hour: lately.rate(now, HOUR),
            refused: totals.posts_refused.clone(),
        }
    }
}

/// Returns a description of the program's build, and of the kernels that this machine uses.
fn build(shared: &Shared) -> String {
    use std::env::consts::{ARCH, OS};
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    match shared.set.sophomr() {
        Ok(params) => {
            let kernels = params.ring.kernels().name();
            format!("{profile}, {ARCH} {OS}, kernels {kernels}")
        }
        Err(_) => format!("{profile}, {ARCH} {OS}"),
    }
}

fn configured_costs(shared: &Shared) -> Vec<Cost> {
    let detector = &shared.config.detector;
    let slots = shared.set.sophomr().map_or(1, |params| params.slots());
    let sophomr = shared.set.spec().sophomr.is_some();
    let costs = [
        ("sophomr", sophomr, detector.batch_seconds / slots as f64),
        (
            "instantomr",
            shared.sessions.is_some(),
            detector.message_seconds,
        ),
    ];
    let served = costs.into_iter().filter(|(_, served, _)| *served);
    let cost = |(scheme, _, seconds): (&str, bool, f64)| Cost {
        scheme: scheme.into(),
        milliseconds_a_message: seconds * 1e3,
    };
    served.map(cost).collect()
}

fn running_job(view: crate::jobs::View) -> RunningJob {
    RunningJob {
        scheme: view.scheme.into(),
        stage: view.stage.into_owned(),
        stage_done: view.done,
        stage_total: view.total,
        seconds: view.started.map_or(0.0, |at| at.elapsed().as_secs_f64()),
    }
}

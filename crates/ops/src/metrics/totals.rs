//! Totals of the counters, in the form that the status page shows.

use std::collections::BTreeMap;

use super::Metrics;
use super::labels::StateLabel;
use crate::status::{Count, JobFigures, SessionFigures};

/// Totals since the start and current values, for the status page; they are the counters of the
/// text for Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Posts acknowledged.
    pub posts: u64,
    /// Messages posted.
    pub posted_messages: u64,
    /// Posts refused, by gRPC code.
    pub posts_refused: Vec<Count>,
    /// Calls of all methods that were not answered with what was asked for, by gRPC code.
    pub calls_refused: Vec<Count>,
    /// Jobs.
    pub jobs: JobFigures,
    /// Keys registered.
    pub keys: u64,
    /// Sessions in sum.
    pub sessions: SessionFigures,
}

impl Metrics {
    /// The figures of the status page.
    pub fn totals(&self) -> Totals {
        let (board, detection) = (&self.0.board, &self.0.detection);
        let refused = board.refused.counts().into_iter();
        let calls = self
            .0
            .traffic
            .requests
            .counts()
            .into_iter()
            .filter(|(label, _)| label.code != "ok");
        Totals {
            posts: board.posts.get(),
            posted_messages: board.posted.get(),
            posts_refused: sums(refused.map(|(label, count)| (label.reason, count))),
            calls_refused: sums(calls.map(|(label, count)| (label.code, count))),
            jobs: self.jobs_so_far(),
            keys: value(detection.keys.get()),
            sessions: SessionFigures {
                open: value(detection.sessions.get()),
                messages: detection.session_messages.get(),
                lag_messages: value(detection.session_lag.get()),
            },
        }
    }

    fn jobs_so_far(&self) -> JobFigures {
        let detection = &self.0.detection;
        let now = |state| {
            let jobs = detection.jobs.get(&StateLabel { state });
            jobs.map_or(0, |jobs| value(jobs.get()))
        };
        let ended = detection.finished.counts();
        let of = |outcome| {
            let found = ended.iter().find(|(label, _)| label.outcome == outcome);
            found.map_or(0, |(_, count)| *count)
        };
        JobFigures {
            waiting: now("queued"),
            running: now("running"),
            done: of("done"),
            failed: of("failed"),
            cancelled: of("cancelled"),
        }
    }
}

/// Gauges are signed.
fn value(gauge: i64) -> u64 {
    u64::try_from(gauge).unwrap_or(0)
}

/// Counts of one kind added up.
fn sums(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<Count> {
    let mut of_kind = BTreeMap::new();
    for (kind, count) in counts {
        *of_kind.entry(kind).or_insert(0) += count;
    }
    let count = |(kind, count): (&str, u64)| Count {
        kind: kind.to_owned(),
        count,
    };
    of_kind.into_iter().map(count).collect()
}

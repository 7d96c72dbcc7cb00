//! The way of jobs into the queue: their costs, and the groups of jobs that run together.

use super::queue::{Group, Item, Kinds};
use super::retries::Retry;
use super::{Id, Inner, JobRecord, Jobs, State};
use omr_protocol::{EngineKind, Scheme};
use std::time::Instant;
use tokio::sync::watch;

/// The seconds of a scan of a batch of messages as a part of those of its digest (docs/performance.md).
const SCAN_SHARE: f64 = 0.08;
/// The seconds of a fetch over a batch of messages as a part of those of its digest.
const FETCH_SHARE: f64 = 0.04;

impl Jobs {
    pub(super) fn line_up(
        &self,
        inner: &mut Inner,
        id: Id,
        record: &JobRecord,
        group: Option<Group>,
    ) {
        let item = self.item(id, record, group);
        inner.queue.push(record.client, item);
    }

    fn item(&self, id: Id, record: &JobRecord, group: Option<Group>) -> Item {
        let (cost, shared_cost) = self.cost(record);
        Item {
            id,
            group,
            needs: Kinds::of(self.narrowed(record).engines().iter().copied()),
            cost,
            shared_cost,
        }
    }

    /// Puts a job that a worker returned into the queue. After a failed attempt it runs alone, so that it harms no
    /// other jobs, and on another worker, if there is one.
    pub(super) fn requeue(&self, inner: &mut Inner, id: &Id) {
        let Some(entry) = inner.entries.get_mut(id) else {
            return;
        };
        let record = JobRecord {
            state: State::Queued,
            ..entry.record.clone()
        };
        entry.view.send_modify(|view| {
            (view.state, view.started) = (State::Queued, None);
            (view.stage, view.done, view.total) = ("".into(), 0, 0);
        });
        let (group, failed_by) = (entry.group.clone(), entry.failed_by.clone());
        inner.change(id, record.clone());
        if failed_by.is_empty() {
            self.line_up(inner, *id, &record, group);
        } else {
            inner.retries.push(Retry {
                client: record.client,
                item: self.item(*id, &record, None),
                failed_by,
                since: Instant::now(),
            });
        }
        self.wake(inner);
        self.count(inner);
    }

    /// Wakes workers that wait for work.
    pub(super) fn wake(&self, inner: &mut Inner) {
        inner.changes += 1;
        self.more.notify_all();
        self.changed.send_replace(());
    }

    /// Returns a receiver that is notified of every change after which there may be work.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the scheme that makes a job's digest. If one engine covers all messages, this is the scheme of that
    /// engine.
    pub(super) fn narrowed(&self, record: &JobRecord) -> Scheme {
        let asked = record.scheme().unwrap_or(Scheme::Hybrid);
        let (range, payloads) = (record.stride().range(), !record.indices_only);
        match self.set.sophomr() {
            Ok(_) => self.costs.narrowed(asked, &range, self.slots, payloads),
            Err(_) => asked,
        }
    }

    /// Returns the group of jobs that run together: fetches over the same messages, and digests or scans over the same
    /// messages whose keys have the same masks. Returns `None` for a job that runs alone: one by InstantOMR, one that
    /// failed before and might harm the others, and one whose key has masks of its own.
    pub(super) fn group(&self, record: &JobRecord) -> Option<Group> {
        let scheme = self.narrowed(record);
        if record.attempts > 0 || scheme.engines() == [EngineKind::Instantomr] {
            return None;
        }
        let masks = |hash: &[u8; 32]| self.keys.key(hash)?.masks;
        let fetches = record.query.is_some();
        Some(Group {
            stride: record.stride(),
            bound: record.bound,
            indices_only: record.indices_only,
            fetches,
            scheme: scheme.tag(),
            masks: if fetches {
                [0; 32]
            } else {
                record.keys.iter().find_map(masks)?
            },
        })
    }

    /// Returns the seconds that a job takes, which depend only on its shape, and the part of them in batches.
    pub(super) fn cost(&self, record: &JobRecord) -> (f64, f64) {
        let range = record.stride().range();
        let messages = range.end - range.start;
        let batches = |messages: u64| messages.div_ceil(self.slots) as f64 * self.costs.batch_s;
        let singles = |messages: u64| messages as f64 * self.costs.message_s;
        match record.scheme().map(|scheme| scheme.engines()) {
            Some([EngineKind::Sophomr]) => (batches(messages), batches(messages)),
            Some([EngineKind::Rounds]) => {
                let share = match record.query {
                    Some(_) => FETCH_SHARE,
                    None => SCAN_SHARE,
                };
                let cost = messages as f64 / self.slots as f64 * self.costs.batch_s * share;
                (cost, cost)
            }
            Some(_) if record.keys.len() == 1 => (singles(messages), 0.0),
            _ => {
                let first = self.costs.split(&range, self.slots);
                let shared = batches(first - range.start);
                (shared + singles(range.end - first), shared)
            }
        }
    }
}

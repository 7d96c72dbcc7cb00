//! How jobs get in line: what each costs and with whom it shares work.

use super::queue::{Group, Item, Kinds, Shares};
use super::retries::Retry;
use super::{Id, Inner, JobRecord, Jobs, State};
use crate::keyfile;
use omr_protocol::{EngineKind, Scheme};
use std::time::Instant;
use tokio::sync::watch;

impl Jobs {
    pub(super) fn line_up(&self, inner: &mut Inner, id: Id, record: &JobRecord, shares: Shares) {
        inner
            .queue
            .push(record.client, self.item(id, record, shares));
    }

    fn item(&self, id: Id, record: &JobRecord, shares: Shares) -> Item {
        let (cost, shared_cost) = self.cost(record);
        Item {
            id,
            shares,
            needs: Kinds::of(self.narrowed(record).engines().iter().copied()),
            cost,
            shared_cost,
        }
    }

    /// Puts a job that somebody had in line again: alone, if an attempt failed, so that it harms no others, and for
    /// another worker, if there is one.
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
        let (shares, failed_by) = (entry.shares.clone(), entry.failed_by.clone());
        inner.change(id, record.clone());
        if failed_by.is_empty() {
            self.line_up(inner, *id, &record, shares);
        } else {
            inner.retries.push(Retry {
                client: record.client,
                item: self.item(*id, &record, Shares::Board(record.stride())),
                failed_by,
                since: Instant::now(),
            });
        }
        self.wake(inner);
        self.count(inner);
    }

    /// Wakes those who wait for work.
    pub(super) fn wake(&self, inner: &mut Inner) {
        inner.changes += 1;
        self.more.notify_all();
        self.changed.send_replace(());
    }

    /// Tells of every change that there may be work.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The scheme that answers a job: where one engine does it all, that of this engine.
    pub(super) fn narrowed(&self, record: &JobRecord) -> Scheme {
        let asked = record.scheme().unwrap_or(Scheme::Hybrid);
        let (range, payloads) = (record.stride().range(), !record.indices_only);
        match self.set.sophomr() {
            Ok(_) => self.costs.narrowed(asked, &range, self.slots, payloads),
            Err(_) => asked,
        }
    }

    /// With whom a job shares work. Reads the heads of its keys' files; what is wrong with those is found when it runs.
    pub(super) fn shares(&self, record: &JobRecord) -> Shares {
        let (stride, scheme) = (record.stride(), self.narrowed(record));
        let masks = |hash: &[u8; 32]| keyfile::masks(&self.store, *hash, &self.set).ok()?;
        let masks = match scheme.engines().contains(&EngineKind::Sophomr) {
            // One that failed before harms no others.
            true if record.attempts > 0 => None,
            true => record.keys.iter().find_map(masks),
            false => None,
        };
        match masks {
            Some(masks) => Shares::Run(Group {
                stride,
                bound: record.bound,
                indices_only: record.indices_only,
                scheme: scheme.tag(),
                masks,
            }),
            None => Shares::Board(stride),
        }
    }

    /// Seconds that a job takes, by its shape alone, and those of them in batches.
    pub(super) fn cost(&self, record: &JobRecord) -> (f64, f64) {
        let range = record.stride().range();
        let messages = range.end - range.start;
        let batches = |messages: u64| messages.div_ceil(self.slots) as f64 * self.costs.batch_s;
        let singles = |messages: u64| messages as f64 * self.costs.message_s;
        match record.scheme().map(|scheme| scheme.engines()) {
            Some([EngineKind::Sophomr]) => (batches(messages), batches(messages)),
            Some(_) if record.keys.len() == 1 => (singles(messages), 0.0),
            _ => {
                let first = self.costs.split(&range, self.slots);
                let shared = batches(first - range.start);
                (shared + singles(range.end - first), shared)
            }
        }
    }
}

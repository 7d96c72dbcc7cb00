//! The worker's side of the jobs, and the status page's.

use super::queue::{First, Item, Shares};
use super::{DIGESTS, Entry, Id, Inner, JobRecord, Jobs, SHOWN, State, View, Work, record};
use crate::{records, refuse};
use omr_ops::FinishedDigest;
use omr_store::Change;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

impl Jobs {
    /// Waits for the next jobs, which one run serves; `None` when the server stops. Calls `rest` once if it waits for
    /// longer than `idle`.
    pub(crate) fn next(&self, idle: Duration, rest: impl FnOnce()) -> Option<Vec<Work>> {
        let mut rest = Some(rest);
        let mut inner = self.lock();
        loop {
            if self.stopping.load(Ordering::Relaxed) {
                return None;
            }
            let Inner { queue, row, .. } = &mut *inner;
            if let Some(first) = queue.pop(row) {
                inner = self.wait_for_company(inner, &first.item);
                if self.stopping.load(Ordering::Relaxed) {
                    return None;
                }
                let work = self.begin(&mut inner, first);
                if !work.is_empty() {
                    return Some(work);
                }
                continue;
            }
            if rest.is_none() {
                inner = self
                    .more
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.more.wait_timeout(inner, idle);
            let (held, ended) = waited.unwrap_or_else(PoisonError::into_inner);
            inner = held;
            if ended.timed_out()
                && let Some(rest) = rest.take()
            {
                drop(inner);
                rest();
                inner = self.lock();
            }
        }
    }

    /// Waits until one run has as many jobs as it may serve, but no longer than configured since its first one came. Only
    /// those who ask decide how long, never what their messages hold.
    fn wait_for_company<'a>(
        &self,
        mut inner: MutexGuard<'a, Inner>,
        first: &Item,
    ) -> MutexGuard<'a, Inner> {
        loop {
            let Some(entry) = inner.entries.get(&first.id) else {
                return inner;
            };
            let left = self.together.wait.saturating_sub(entry.queued.elapsed());
            let shares = matches!(first.shares, Shares::Run(_)) && self.together.most > 1;
            let full = inner.queue.together(first) >= self.together.most;
            let stopping = self.stopping.load(Ordering::Relaxed);
            if !shares || full || stopping || left.is_zero() {
                return inner;
            }
            let waited = self.more.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Begins a job and those that one run serves with it; not those that were cancelled meanwhile.
    fn begin(&self, inner: &mut Inner, first: First) -> Vec<Work> {
        let company = inner.queue.company(&first, self.together.most);
        let mut all = Vec::new();
        for item in std::iter::once(first.item).chain(company) {
            let Some(entry) = inner.entries.get(&item.id) else {
                continue;
            };
            let record = JobRecord {
                state: State::Running,
                ..entry.record.clone()
            };
            inner.change(&item.id, record.clone());
            let Some(entry) = inner.entries.get(&item.id) else {
                continue;
            };
            entry.view.send_modify(|view| {
                (view.state, view.started) = (State::Running, Some(Instant::now()));
            });
            self.metrics
                .queue_wait(entry.queued.elapsed().as_secs_f64());
            all.push(Work {
                id: item.id,
                record,
                view: entry.view.clone(),
                cancelled: entry.cancelled.clone(),
            });
        }
        self.count(inner);
        all
    }

    /// Keeps what became of a job. A job that was cancelled meanwhile stays forgotten.
    pub(crate) fn finish(&self, work: &Work, outcome: Result<Vec<u8>, String>) {
        let mut inner = self.lock();
        let Some(entry) = inner.entries.get_mut(&work.id) else {
            return;
        };
        let mut record = entry.record.clone();
        let mut changes = Vec::new();
        match outcome {
            Ok(digest) => {
                record.state = State::Done;
                record.digest_bytes = digest.len() as u64;
                changes.push(records::put(DIGESTS, &work.id, digest));
            }
            Err(error) => {
                record.state = State::Failed;
                record.error = error;
            }
        }
        changes.push(record.change(&work.id));
        if let Err(error) = self.store.write(&changes) {
            // Kept nowhere: the job fails now and begins anew after a restart.
            record.state = State::Failed;
            record.error = refuse::store(&error).message().to_owned();
            record.digest_bytes = 0;
        }
        entry.finished = Some(Instant::now());
        inner.change(&work.id, record.clone());
        // Before anybody hears of it.
        self.count(&inner);
        work.view.send_modify(|view| {
            view.state = record.state;
            view.digest_bytes = record.digest_bytes;
            view.error = record.error;
        });
    }

    /// Ends the queue. A job that is at work stops, and the next start queues it again.
    pub(crate) fn stop(&self) {
        // Under the lock: a worker between its look at the flag and its wait would sleep for ever.
        let _inner = self.lock();
        self.stopping.store(true, Ordering::Relaxed);
        self.more.notify_all();
    }

    /// Whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Forgets digests that were kept long enough.
    pub(crate) fn tidy(&self) {
        let mut inner = self.lock();
        let old = |entry: &Entry| entry.finished.is_some_and(|at| at.elapsed() > self.keep);
        let ids: Vec<Id> = inner
            .entries
            .iter()
            .filter(|(_, e)| old(e))
            .map(|(id, _)| *id)
            .collect();
        let changes: Vec<Change> = ids.iter().flat_map(record::forget).collect();
        if changes.is_empty() {
            return;
        }
        match self.store.write(&changes) {
            Ok(()) => ids.iter().for_each(|id| drop(inner.forget(id))),
            Err(error) => drop(refuse::store(&error)),
        }
    }

    /// Keeps the figures of a digest for the status page.
    pub(crate) fn remember(&self, digest: FinishedDigest) {
        let mut inner = self.lock();
        inner.last.push_front(digest);
        inner.last.truncate(SHOWN);
    }

    /// The last digests, newest first.
    pub(crate) fn last_digests(&self) -> Vec<FinishedDigest> {
        self.lock().last.iter().cloned().collect()
    }

    /// What the jobs that run are at.
    pub(crate) fn running(&self) -> Vec<View> {
        let inner = self.lock();
        let entries = inner.entries.values();
        let running = entries.filter(|entry| entry.record.state == State::Running);
        running.map(|entry| entry.view.borrow().clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::parts::Parts;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_worker_that_goes_to_wait_hears_the_end() {
        let data = tempfile::tempdir().unwrap();
        let parts = Parts::open(Config::tiny(data.path())).unwrap();
        for round in 0..500 {
            let jobs = Arc::new(parts.jobs().unwrap());
            let (ended, end) = std::sync::mpsc::channel();
            let (worker, ready) = (jobs.clone(), Arc::new(AtomicBool::new(false)));
            let going = ready.clone();
            std::thread::spawn(move || {
                going.store(true, Ordering::Release);
                let idle = std::time::Duration::from_secs(60);
                ended.send(worker.next(idle, || {}).is_none())
            });
            while !ready.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            // Now just before, now just after the worker waits.
            (0..round % 32).for_each(|_| std::hint::spin_loop());
            jobs.stop();
            let patience = std::time::Duration::from_secs(30);
            assert_eq!(end.recv_timeout(patience), Ok(true), "round {round}");
        }
    }

    #[test]
    fn a_worker_without_jobs_rests_once() {
        let data = tempfile::tempdir().unwrap();
        let jobs = Arc::new(
            Parts::open(Config::tiny(data.path()))
                .unwrap()
                .jobs()
                .unwrap(),
        );
        let (rested, rests) = std::sync::mpsc::channel();
        let own = jobs.clone();
        let worker = std::thread::spawn(move || {
            let idle = std::time::Duration::from_millis(1);
            own.next(idle, || rested.send(()).unwrap()).is_none()
        });
        rests.recv().unwrap();
        jobs.stop();
        assert!(worker.join().unwrap());
        assert!(rests.recv().is_err());
    }
}

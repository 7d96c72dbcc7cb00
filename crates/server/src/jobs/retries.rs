//! Jobs whose last attempt failed. Each waits for a worker that has not failed it.

use super::leases::WorkerId;
use super::queue::Item;
use super::{Id, lend::AWAY};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time after a job's first failed attempt before a worker that failed it gets it again. Each further failure makes
/// it five times as long.
const REST: Duration = Duration::from_secs(1);

/// A job that is tried again, alone.
pub(super) struct Retry {
    pub(super) client: u64,
    pub(super) item: Item,
    /// The workers that failed it; at least one.
    pub(super) failed_by: Vec<Arc<WorkerId>>,
    /// The time of its last failed attempt.
    pub(super) since: Instant,
}

/// The distance of a worker from those that failed a job. A greater distance makes another failure less likely.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// The worker is one of them.
    Same,
    /// The worker has the same token as one of them.
    Token,
    /// The worker has another token than all of them.
    Other,
}

impl Retry {
    fn distance(&self, who: &WorkerId) -> Distance {
        let failed = || self.failed_by.iter();
        if failed().any(|other| **other == *who) {
            Distance::Same
        } else if failed().any(|other| other.account == who.account) {
            Distance::Token
        } else {
            Distance::Other
        }
    }

    /// Returns the time from which a worker may have the job, if the `others` could do it as well.
    fn from<'a>(&self, who: &WorkerId, others: impl Iterator<Item = &'a WorkerId>) -> Instant {
        let own = self.distance(who);
        if others
            .map(|other| self.distance(other))
            .any(|other| other > own)
        {
            return self.since + AWAY;
        }
        let failures = self.failed_by.len().saturating_sub(1) as u32;
        match own {
            Distance::Same => self.since + REST * 5_u32.saturating_pow(failures),
            Distance::Token | Distance::Other => self.since,
        }
    }
}

/// All retries, in the order in which their attempts failed.
#[derive(Default)]
pub(super) struct Retries(Vec<Retry>);

impl Retries {
    pub(super) fn push(&mut self, retry: Retry) {
        self.0.push(retry);
    }

    pub(super) fn remove(&mut self, id: &Id) {
        self.0.retain(|retry| retry.item.id != *id);
    }

    /// Removes and returns the first job that a worker may have now, of those for which `can` returns true. If there is
    /// none, returns the time from which the worker may have one.
    pub(super) fn take<'a, I: Iterator<Item = &'a WorkerId>>(
        &mut self,
        who: &WorkerId,
        can: impl Fn(&Item) -> bool,
        others: impl Fn(&Item) -> I,
        now: Instant,
    ) -> Result<Retry, Option<Instant>> {
        let mut next = None;
        for at in 0..self.0.len() {
            let retry = &self.0[at];
            if !can(&retry.item) {
                continue;
            }
            let from = retry.from(who, others(&retry.item));
            if from <= now {
                return Ok(self.0.remove(at));
            }
            next = Some(next.map_or(from, |next: Instant| next.min(from)));
        }
        Err(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Kinds;

    fn who(account: &str, worker: &str) -> Arc<WorkerId> {
        Arc::new(WorkerId {
            account: account.into(),
            worker: worker.into(),
        })
    }

    /// Returns whether a worker gets a job `after` its failure, when the others could do it as well.
    fn taken(
        failed_by: &[&Arc<WorkerId>],
        asks: &Arc<WorkerId>,
        others: &[&Arc<WorkerId>],
        after: Duration,
    ) -> bool {
        let since = Instant::now();
        let mut retries = Retries::default();
        retries.push(Retry {
            client: 1,
            item: Item {
                id: [1; 16],
                group: None,
                needs: Kinds::default(),
                cost: 1.0,
                shared_cost: 0.0,
            },
            failed_by: failed_by.iter().map(|who| Arc::clone(who)).collect(),
            since,
        });
        let others = |_: &Item| others.iter().map(|who| &***who);
        match retries.take(asks, |_| true, others, since + after) {
            Ok(retry) => retry.item.id == [1; 16],
            Err(next) => {
                assert!(next.is_some_and(|next| next > since + after));
                false
            }
        }
    }

    #[test]
    fn a_failed_job_goes_to_a_worker_that_has_not_failed_it() {
        let [evil, peer, local] = [who("pool", "evil"), who("pool", "peer"), who("", "local")];
        let (now, minute) = (Duration::ZERO, Duration::from_secs(60));
        // A worker with another token is first, then another worker with the same token, then the same worker.
        assert!(taken(&[&evil], &local, &[&evil, &peer], now));
        assert!(!taken(&[&evil], &peer, &[&evil, &local], minute));
        assert!(taken(&[&evil], &peer, &[&evil], now));
        assert!(!taken(&[&evil], &evil, &[&peer], minute));
        assert!(!taken(&[&evil, &local], &evil, &[&local, &peer], minute));
        // The wait for a worker that does not come ends.
        assert!(taken(&[&evil], &evil, &[&local], AWAY));
    }

    #[test]
    fn a_worker_that_is_alone_has_it_again_after_a_rest() {
        let evil = who("pool", "evil");
        assert!(!taken(&[&evil], &evil, &[], REST / 2));
        assert!(taken(&[&evil], &evil, &[], REST));
        assert!(!taken(&[&evil, &evil], &evil, &[], 2 * REST));
        assert!(taken(&[&evil, &evil], &evil, &[], 5 * REST));
    }

    #[test]
    fn no_worker_waits_for_a_job_if_there_is_none() {
        let evil = who("pool", "evil");
        let mut retries = Retries::default();
        let none = |_: &Item| std::iter::empty::<&WorkerId>();
        let found = retries.take(&evil, |_| true, none, Instant::now());
        assert!(found.is_err_and(|next| next.is_none()));
    }
}

//! The server's own thread: a worker in the same process.

use super::completion::Ending;
use super::leases::WorkerId;
use super::lend::{Asking, Lent};
use super::{Jobs, Kinds, View};
use crate::damage::Damage;
use crate::priority::Priority;
use crate::source::StoreSource;
use omr_detector::{MessageSource, Progress, Stages};
use omr_ops::Metrics;
use omr_protocol::ParamSet;
use omr_runner::{Failure, KeyError, KeyRef, Leased, Leases, Made, Supplies, Unit};
use omr_store::Store;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// The thread's name in the log and in leases.
const NAME: &str = "local";

/// The parts that the thread uses.
pub(crate) struct Local {
    pub(crate) store: Store,
    pub(crate) set: Arc<ParamSet>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) priority: Arc<Priority>,
    pub(crate) metrics: Metrics,
    pub(crate) damage: Arc<Damage>,
    /// The thread's request for work.
    pub(crate) asking: Asking,
}

impl Asking {
    /// Returns the request of the server's own thread, which has these engines.
    pub(crate) fn local(engines: Kinds) -> Self {
        let who = WorkerId {
            account: String::new(),
            worker: NAME.into(),
        };
        Self {
            who: Arc::new(who),
            most: usize::MAX,
            engines,
            lasts: None,
        }
    }
}

impl Leases for Local {
    fn lease(&self, wait: Duration) -> Leased {
        match self.jobs.wait(&self.asking, wait) {
            Lent::Unit(unit) => Leased::Unit(Box::new(Unit::clone(&unit))),
            Lent::Until(_) => Leased::Nothing,
            Lent::Ended => Leased::Ended,
        }
    }

    fn progress<'a>(&'a self, unit: &'a Unit, job: usize) -> Box<dyn Progress + Send + 'a> {
        let watched = self.jobs.watched(&self.asking.who, &unit.id, job);
        Box::new(JobProgress {
            watched,
            jobs: &self.jobs,
            priority: &self.priority,
        })
    }

    fn complete(&self, unit: &Unit, job: usize, made: Made) {
        let (who, seconds) = (&self.asking.who, Some(made.seconds));
        let taken = self.jobs.complete(who, &unit.id, job, made.digest, seconds);
        if let Err(refusal) = taken {
            tracing::error!(
                ?refusal,
                "the server's own digest is refused; please report it"
            );
        }
    }

    fn fail(&self, unit: &Unit, job: usize, failure: Failure) {
        let ending = match failure {
            Failure::Stopped => Ending::GivenBack,
            Failure::Refused(error) => Ending::Final(error),
            // Another attempt may succeed, as for a worker elsewhere.
            Failure::Unread(error) | Failure::Card(error) => Ending::Attempt(error),
            Failure::Panicked => {
                Ending::Attempt("internal error of the detector; please report it".to_owned())
            }
        };
        let heard = self.jobs.fail(&self.asking.who, &unit.id, job, ending);
        if let Err(refusal) = heard {
            tracing::error!(
                ?refusal,
                "the server's own failure is refused; please report it"
            );
        }
    }

    fn ran(&self, _: &Unit, stages: &Stages) {
        for &(stage, seconds) in stages.seconds() {
            self.metrics.stage(stage, seconds);
        }
    }
}

impl Supplies for Local {
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        self.store
            .open_key(key.hash)
            .map_err(|error| KeyError::Read(std::io::Error::other(error)))
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        Box::new(StoreSource {
            store: &self.store,
            damage: &self.damage,
            params: self.set.clue(),
        })
    }
}

/// Reports the progress of a job to its watchers, and gives way to urgent work.
struct JobProgress<'a> {
    /// The view and the mark of cancellation; `None` for a job that was cancelled.
    watched: Option<(watch::Sender<View>, Arc<AtomicBool>)>,
    jobs: &'a Jobs,
    priority: &'a Priority,
}

impl Progress for JobProgress<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        if let Some((view, _)) = &self.watched {
            view.send_modify(|view| {
                (view.stage, view.done, view.total) = (name.into(), 0, total);
            });
        }
    }

    fn advance(&self, steps: u64) {
        if let Some((view, _)) = &self.watched {
            view.send_modify(|view| view.done += steps);
        }
    }

    fn give_way(&self) {
        self.priority.let_urgent_work_go_first();
    }

    fn is_stopped(&self) -> bool {
        let unwanted = |(_, cancelled): &(_, Arc<AtomicBool>)| cancelled.load(Ordering::Relaxed);
        self.watched.as_ref().is_none_or(unwanted) || self.jobs.is_stopping()
    }
}

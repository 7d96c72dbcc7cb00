//! The methods for workers elsewhere.

mod digest;
mod read;
mod unit;

use super::Answers;
use crate::jobs::{Asking, Ending, Kinds, Lent, Refusal, Step, WorkerId};
use crate::refuse::{self, blocking};
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1;
use omr_api::v1::worker_service_server::WorkerService;
use omr_protocol::EngineKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tonic::{Request, Response, Status, Streaming};

/// The longest wait for work, in seconds.
const MOST_WAIT: u32 = 30;
/// The greatest length of a worker's name, in bytes.
const NAME: usize = 64;
/// The greatest length of a stage's name, in bytes.
const STAGE: usize = 32;
/// The number of bytes of an error that are kept.
const ERROR: usize = 512;

pub(crate) struct Workers(pub(crate) Arc<Shared>);

/// Returns the status of a refused call.
fn refused(refusal: Refusal) -> Status {
    match refusal {
        Refusal::Unknown => Status::not_found(
            "expected a unit that was leased since the server started, found another: its jobs are queued again",
        ),
        Refusal::Stranger => {
            Status::permission_denied("expected a unit of this worker, found another worker's")
        }
        Refusal::RanOut => Status::failed_precondition(
            "expected a valid lease, found an expired one: its jobs are queued again",
        ),
        Refusal::Job(jobs) => refuse::invalid("job", format_args!("less than {jobs}"), "more"),
        Refusal::Other => Status::already_exists(
            "expected the digest that was sent before, found another for the same job",
        ),
    }
}

impl Workers {
    /// Returns the id of the worker that calls.
    ///
    /// Errors: those of the token; PERMISSION_DENIED without the right `work`; INVALID_ARGUMENT.
    fn who<T>(
        &self,
        request: &Request<T>,
        worker: Option<&v1::Worker>,
    ) -> Result<WorkerId, Status> {
        let caller = self.0.caller(request, Right::Work)?;
        named(caller.account, worker)
    }

    fn asking(&self, who: WorkerId, request: &v1::LeaseRequest) -> Result<Asking, Status> {
        let (version, set) = (omr_runner::version(&self.0.config.build), &self.0.set);
        let (found_version, found_set) = (&*request.version, &*request.params_id);
        let same_build = omr_runner::is_same_build(&version, found_version);
        for (what, expected, found, fits) in [
            ("version", &*version, found_version, same_build),
            (
                "parameter set",
                set.name(),
                found_set,
                set.name() == found_set,
            ),
        ] {
            if !fits {
                return Err(Status::failed_precondition(format!(
                    "{what} of the worker: expected {expected}, found {found:?}"
                )));
            }
        }
        let of_set = set.spec().engines();
        let has = |engine: &EngineKind| request.engines.contains(&kind(*engine));
        let engines = Kinds::of(of_set.iter().copied().filter(has));
        if engines.is_empty() {
            let names: Vec<String> = of_set.iter().map(EngineKind::to_string).collect();
            return Err(Status::failed_precondition(format!(
                "engines: expected one for {}, found none",
                names.join(" or ")
            )));
        }
        Ok(Asking {
            who: Arc::new(who),
            most: match request.jobs {
                0 => usize::MAX,
                jobs => jobs as usize,
            },
            engines,
            lasts: Some(Duration::from_secs(self.0.config.detector.lease_seconds)),
        })
    }

    async fn lend(&self, request: Request<v1::LeaseRequest>) -> Result<v1::LeaseResponse, Status> {
        let who = self.who(&request, request.get_ref().worker.as_ref())?;
        let request = request.into_inner();
        let asking = self.asking(who, &request)?;
        let wait = Duration::from_secs(request.wait_seconds.min(MOST_WAIT).into());
        let end = Instant::now() + wait;
        let mut changes = self.0.jobs.changes();
        let _waiting = self.0.metrics.waiting_worker();
        loop {
            changes.borrow_and_update();
            let until = match self.look(&asking).await? {
                Lent::Ended => return Err(Status::unavailable("the server stops")),
                Lent::Until(until) => until,
                Lent::Unit(unit) => {
                    let clue_bytes = self.0.store.board().clue_bytes;
                    return Ok(v1::LeaseResponse {
                        unit: Some(unit::message(&unit, clue_bytes)),
                    });
                }
            };
            if Instant::now() >= end {
                return Ok(v1::LeaseResponse { unit: None });
            }
            let wake = until.map_or(end, |until| end.min(until.into()));
            // The queue is looked at again in either case.
            let _ = tokio::time::timeout_at(wake, changes.changed()).await;
        }
    }

    /// Returns the work for a worker now. A unit is returned to the queue if the caller has left meanwhile.
    async fn look(&self, asking: &Asking) -> Result<Lent, Status> {
        let (shared, asking) = (self.0.clone(), asking.clone());
        let (to, found) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            if let Err(Lent::Unit(unit)) = to.send(shared.jobs.lend(&asking)) {
                shared.jobs.give_back(&asking.who, &unit);
            }
        });
        found
            .await
            .map_err(|_| Status::internal("a task died; please report it"))
    }

    async fn give_back(&self, request: Request<v1::FailRequest>) -> Result<(), Status> {
        let who = self.who(&request, request.get_ref().worker.as_ref())?;
        let request = request.into_inner();
        let unit = refuse::id("unit_id", &request.unit_id)?;
        let ending = if request.given_back {
            Ending::GivenBack
        } else {
            Ending::Attempt(visible(&request.error, ERROR))
        };
        let shared = self.0.clone();
        blocking(move || {
            shared
                .jobs
                .fail(&who, &unit, request.job as usize, ending)
                .map_err(refused)
        })
        .await
    }
}

/// Returns the id of a worker from its token's account and its name.
fn named(account: String, worker: Option<&v1::Worker>) -> Result<WorkerId, Status> {
    let name = worker.map_or("", |worker| &worker.worker_id);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=NAME).contains(&name.len()) && name.chars().all(is_part) {
        Ok(WorkerId {
            account,
            worker: name.to_owned(),
        })
    } else {
        Err(refuse::invalid(
            "worker_id",
            format_args!("1 to {NAME} letters, digits, - _ or ."),
            format_args!("{name:?}"),
        ))
    }
}

/// Returns a worker's text in a form that is safe to show: one line of at most `most` bytes.
fn visible(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text[..end].chars().map(plain).collect()
}

fn step(progress: v1::UnitProgress) -> Step {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-');
    let stage: String = progress.stage.chars().filter(allowed).take(STAGE).collect();
    Step {
        job: progress.job as usize,
        stage: stage.into(),
        done: progress.stage_done,
        total: progress.stage_total,
    }
}

#[tonic::async_trait]
impl WorkerService for Workers {
    async fn lease(
        &self,
        request: Request<v1::LeaseRequest>,
    ) -> Result<Response<v1::LeaseResponse>, Status> {
        let answer = async { Ok(Response::new(self.lend(request).await?)) };
        self.0.observe("Lease", answer).await
    }

    async fn renew(
        &self,
        request: Request<v1::RenewRequest>,
    ) -> Result<Response<v1::RenewResponse>, Status> {
        let answer = async {
            let who = self.who(&request, request.get_ref().worker.as_ref())?;
            let request = request.into_inner();
            let unit = refuse::id("unit_id", &request.unit_id)?;
            let steps = request.progress.into_iter().map(step).collect();
            let shared = self.0.clone();
            let renew = move || shared.jobs.renew(&who, &unit, steps).map_err(refused);
            let wanted = blocking(renew)
                .await?
                .into_iter()
                .map(|job| job as u32)
                .collect();
            Ok(Response::new(v1::RenewResponse { wanted }))
        };
        self.0.observe("Renew", answer).await
    }

    async fn complete(
        &self,
        request: Request<Streaming<v1::CompleteRequest>>,
    ) -> Result<Response<v1::CompleteResponse>, Status> {
        let answer = async {
            let kept = self.take_digest(request).await?;
            Ok(Response::new(v1::CompleteResponse { kept }))
        };
        self.0.observe("Complete", answer).await
    }

    async fn fail(
        &self,
        request: Request<v1::FailRequest>,
    ) -> Result<Response<v1::FailResponse>, Status> {
        let answer = async {
            self.give_back(request).await?;
            Ok(Response::new(v1::FailResponse {}))
        };
        self.0.observe("Fail", answer).await
    }

    type ReadKeyStream = Answers<v1::ReadKeyResponse>;

    async fn read_key(
        &self,
        request: Request<v1::ReadKeyRequest>,
    ) -> Result<Response<Self::ReadKeyStream>, Status> {
        let answer = async { Ok(Response::new(self.key(request)?)) };
        self.0.observe("ReadKey", answer).await
    }

    type ReadHashesStream = Answers<v1::ReadHashesResponse>;

    async fn read_hashes(
        &self,
        request: Request<v1::ReadHashesRequest>,
    ) -> Result<Response<Self::ReadHashesStream>, Status> {
        let answer = async { Ok(Response::new(self.hashes(request)?)) };
        self.0.observe("ReadHashes", answer).await
    }
}

/// Returns the number of an engine's keys in the protocol.
fn kind(engine: EngineKind) -> i32 {
    engine.tag().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_workers_are_cut_to_what_others_may_see() {
        let name = |worker_id: &str| {
            let worker_id = worker_id.to_owned();
            named("pool".into(), Some(&v1::Worker { worker_id })).is_ok()
        };
        assert!(name("box-1.a_B") && name(&"x".repeat(NAME)));
        assert!(!name("") && !name("a b") && !name("a\nb") && !name(&"x".repeat(NAME + 1)));
        assert!(named("pool".into(), None).is_err());
        assert_eq!(visible("a\nb\u{1b}c", 9), "a b c");
        assert_eq!(visible("ää", 3), "ä");
        let long = v1::UnitProgress {
            stage: "range <check>".repeat(9),
            ..Default::default()
        };
        let step = step(long);
        assert!(step.stage.len() == STAGE && step.stage.starts_with("range check"));
    }
}

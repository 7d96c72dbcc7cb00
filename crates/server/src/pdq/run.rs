//! The execution of a query, from its file to the file of the answer.

use super::Pdq;
use super::keys::{Hash, LoadError};
use crate::share::Place;
use bytes::Bytes;
use omr_api::v1::query_response::Part;
use omr_api::v1::{QueryAnswer, QueryProgress, QueryResponse};
use omr_pdq::{Hosted, Params, Plan, Progress, QueryFileError, ServerError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use tonic::Status;

/// The stream of messages to the client.
pub(super) type Answers = Sender<Result<QueryResponse, Status>>;

/// A query that has arrived completely.
pub(super) struct Asked {
    pub(super) served: Arc<Hosted>,
    pub(super) key: Hash,
    pub(super) bytes: Vec<u8>,
    pub(super) room: Place,
}

/// Runs a query when its turn comes, and sends the answer. Stops if the client has left, or if the server stops before.
pub(super) async fn run(pdq: Arc<Pdq>, asked: Asked, answers: Answers) {
    let start = Instant::now();
    if let Err(status) = steps(&pdq, asked, &answers).await {
        // A client that has left needs no response.
        let _ = answers.send(Err(status)).await;
    }
    let seconds = start.elapsed().as_secs_f64();
    pdq.metrics.digest("pdq", seconds);
}

async fn steps(pdq: &Arc<Pdq>, asked: Asked, answers: &Answers) -> Result<(), Status> {
    let arrived = Instant::now();
    let waiting = QueryProgress {
        waiting: true,
        ..QueryProgress::default()
    };
    let _ = answers.try_send(Ok(progress(waiting)));
    let mut stopping = pdq.stopping.clone();
    let acquired = tokio::select! {
        acquired = pdq.running.clone().acquire_owned() => acquired,
        () = answers.closed() => return Ok(()),
        _ = stopping.wait_for(|stopping| *stopping) => {
            return Err(Status::unavailable("the server stops"));
        }
    };
    let turn = acquired.map_err(|_| Status::unavailable("the server stops"))?;
    pdq.metrics.queue_wait(arrived.elapsed().as_secs_f64());
    let (own, to) = (pdq.clone(), answers.clone());
    let answer = crate::refuse::blocking(move || {
        let Asked {
            served,
            key,
            bytes,
            room,
        } = asked;
        let _held = (turn, room);
        own.pool.install(|| own.answer(&served, &key, &bytes, &to))
    });
    send(answers, answer.await?.into()).await;
    Ok(())
}

fn progress(progress: QueryProgress) -> QueryResponse {
    QueryResponse {
        part: Some(Part::Progress(progress)),
    }
}

/// Sends the answer's file in chunks, as fast as the client receives them.
async fn send(answers: &Answers, answer: Bytes) {
    for start in (0..answer.len()).step_by(omr_api::CHUNK_BYTES) {
        let end = answer.len().min(start + omr_api::CHUNK_BYTES);
        let part = Part::Answer(QueryAnswer {
            offset: start as u64,
            data: answer.slice(start..end),
            total_bytes: answer.len() as u64,
        });
        let response = QueryResponse { part: Some(part) };
        // A client that does not receive delays only its own task, while its connection lives.
        if answers.send(Ok(response)).await.is_err() {
            return;
        }
    }
}

/// The client that waits for an answer.
struct Asker<'a> {
    answers: &'a Answers,
    start: Instant,
    most: Duration,
}

impl Asker<'_> {
    /// Returns the reason for which the work was stopped. Another attempt would end the same way.
    fn stopped(&self) -> Status {
        if self.answers.is_closed() {
            Status::cancelled("the client is gone")
        } else {
            Status::failed_precondition(format!(
                "expected a query that takes at most {} s, found one that takes longer: ask for fewer conditions at \
                 once, or of fewer rows",
                self.most.as_secs()
            ))
        }
    }
}

impl Progress for Asker<'_> {
    fn blocks(&self, done: usize, blocks: usize) {
        // A slow client misses some messages.
        let _ = self.answers.try_send(Ok(progress(QueryProgress {
            waiting: false,
            blocks_done: done as u64,
            blocks: blocks as u64,
        })));
    }

    fn is_stopped(&self) -> bool {
        self.answers.is_closed() || self.start.elapsed() >= self.most
    }
}

impl Pdq {
    /// Returns the answer's file.
    fn answer(
        &self,
        served: &Hosted,
        key: &Hash,
        bytes: &[u8],
        answers: &Answers,
    ) -> Result<Vec<u8>, Status> {
        let loaded = match self.keys.get(key, &self.sets) {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Err(no_key()),
            Err(error) => return Err(self.damaged(key, &error)),
        };
        let params = &*loaded.params;
        let start = Instant::now();
        let (query, plan) = served
            .read(params, bytes)
            .map_err(|error| of_query(&error))?;
        self.check_memory(params, &plan)?;
        let asker = Asker {
            answers,
            start,
            most: self.query_time,
        };
        asker.blocks(0, plan.blocks);
        let bytes = served
            .answer(params, &query, &plan, &loaded.key, &asker)
            .map_err(|error| match error {
                ServerError::Stopped => asker.stopped(),
                error => of_answer(&error),
            })?;
        tracing::info!(
            table = served.schema().name,
            blocks = plan.blocks,
            depth = plan.cost.depth,
            transforms = plan.cost.transforms,
            seconds = start.elapsed().as_secs_f64(),
            "a query is answered"
        );
        Ok(bytes)
    }

    /// Checks the memory of a query, whose size the client chooses.
    fn check_memory(&self, params: &Params, plan: &Plan) -> Result<(), Status> {
        let found = plan.memory_bytes(params);
        if found <= self.query_memory {
            Ok(())
        } else {
            Err(Status::failed_precondition(format!(
                "a query of {} constants: expected at most {} bytes of memory, found {found}: ask for fewer \
                 conditions at once",
                plan.cost.constants, self.query_memory
            )))
        }
    }

    fn damaged(&self, key: &Hash, error: &LoadError) -> Status {
        tracing::warn!(%error, "a key on the disk is damaged");
        self.keys.forget(key);
        Status::not_found("the server's copy of the key is damaged: upload it again")
    }
}

/// Returns the error for a hash without a key.
pub(super) fn no_key() -> Status {
    Status::not_found("expected a key that was uploaded, found none of this hash: upload it first")
}

/// The time after which a client should try again if there is no room.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

fn of_query(error: &QueryFileError) -> Status {
    let text = error.to_string();
    match error {
        QueryFileError::Schema(_) | QueryFileError::Key(_) | QueryFileError::Params(_) => {
            Status::failed_precondition(text)
        }
        _ => Status::invalid_argument(text),
    }
}

fn of_answer(error: &ServerError) -> Status {
    match error {
        ServerError::Query(error) => of_query(error),
        error => internal(error),
    }
}

fn internal(error: &dyn std::error::Error) -> Status {
    tracing::error!(%error, "answering a query");
    Status::internal("the query could not be answered; see the server's log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[test]
    fn work_stops_when_its_time_is_up_and_when_nobody_waits() {
        let (answers, ready) = tokio::sync::mpsc::channel(1);
        let asker = |seconds| Asker {
            answers: &answers,
            start: Instant::now(),
            most: Duration::from_secs(seconds),
        };
        assert!(!asker(3600).is_stopped());
        let late = asker(0);
        assert!(late.is_stopped());
        assert_eq!(late.stopped().code(), Code::FailedPrecondition);
        drop(ready);
        assert!(asker(3600).is_stopped());
        assert_eq!(asker(3600).stopped().code(), Code::Cancelled);
    }
}

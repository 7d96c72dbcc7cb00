//! The state that all services of a server share.

use crate::addresses::Addresses;
use crate::caller::{Caller, Callers};
use crate::config::Config;
use crate::damage::Damage;
use crate::jobs::Jobs;
use crate::orders::Orders;
use crate::pages::PageSecret;
use crate::posting::Posting;
use crate::refuse;
use crate::registrations::Registrations;
use crate::room::Room;
use crate::sessions::Sessions;
use crate::share::{Place, Places};
use crate::tokens::Right;
use crate::uploads::Uploads;
use omr_ops::Metrics;
use omr_protocol::{ParamSet, Scheme, Sealing};
use omr_store::{Store, StoreError};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tonic::{Request, Status, Streaming};
use tracing::Instrument;

pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    pub(crate) set: Arc<ParamSet>,
    /// The sealing of payloads.
    pub(crate) sealing: Sealing,
    /// The secret from which the seeds of pages are derived.
    pub(crate) pages: PageSecret,
    pub(crate) callers: Arc<Callers>,
    pub(crate) posting: Posting,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) room: Arc<Room>,
    /// The sessions; `None` if the board's set has no InstantOMR.
    pub(crate) sessions: Option<Arc<Sessions>>,
    pub(crate) orders: Orders,
    pub(crate) registrations: Arc<Registrations>,
    pub(crate) addresses: Addresses,
    pub(crate) metrics: Metrics,
    pub(crate) damage: Arc<Damage>,
    /// The places for streams that stay open.
    pub(crate) streams: Arc<Places>,
    pub(crate) uploads: Uploads,
    /// The length of the longest key of the board's set, in bytes.
    pub(crate) longest_key: u64,
    /// The permits for keys that are checked at a time. Each check needs a core and memory.
    pub(crate) checks: Semaphore,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Runs a method and counts it.
    pub(crate) async fn observe<T>(
        &self,
        method: &'static str,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        observe(&self.metrics, method, work).await
    }

    pub(crate) fn caller<T>(&self, request: &Request<T>, right: Right) -> Result<Caller, Status> {
        self.callers.with_right(request, right)
    }

    /// Reserves a place for a stream that stays open.
    ///
    /// Errors: RESOURCE_EXHAUSTED.
    pub(crate) fn stream(&self, caller: &Caller) -> Result<Place, Status> {
        self.streams.take(caller).ok_or_else(|| {
            refuse::busy(
                "too many open streams: try again later",
                Duration::from_secs(10),
            )
        })
    }

    /// Returns the next message of a client's stream. A client that is silent for long is dropped.
    ///
    /// Errors: DEADLINE_EXCEEDED, and those of the stream.
    pub(crate) async fn next<T>(&self, stream: &mut Streaming<T>) -> Result<Option<T>, Status> {
        next(stream, self.config.limits.idle_seconds).await
    }

    /// Returns the running hash of the log at a length. Returns `None` if the board is shorter, if that message has
    /// expired, or if the hash was lost to damage.
    ///
    /// Errors: those of the store.
    pub(crate) fn log_hash(&self, length: u64) -> Result<Option<[u8; 32]>, Status> {
        match self.store.hash_at(length) {
            Err(error @ StoreError::Damaged { .. }) => {
                self.damage.note(&error);
                Ok(None)
            }
            found => found.map_err(|error| refuse::store(&error)),
        }
    }

    /// Ends all work that has seen messages from `start` on, since they were withdrawn.
    pub(crate) fn withdrawn(&self, start: u64) {
        if let Err(error) = self.pages.renew(&self.store) {
            tracing::error!(%error, "the seeds of pages stay those of the withdrawn branch");
        }
        self.jobs.withdraw(start);
        if let Some(sessions) = &self.sessions {
            sessions.withdraw(start);
        }
    }

    /// Returns the schemes that the board's set serves.
    pub(crate) fn schemes(&self) -> Vec<Scheme> {
        let spec = self.set.spec();
        let serves = |scheme: &Scheme| spec.serves(*scheme);
        Scheme::ALL.into_iter().filter(serves).collect()
    }
}

/// Runs a method in a span of its own, and counts it.
pub(crate) async fn observe<T>(
    metrics: &Metrics,
    method: &'static str,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let start = Instant::now();
    let done = work.instrument(omr_ops::call_span(method)).await;
    let code = done.as_ref().err().map_or(tonic::Code::Ok, Status::code);
    metrics.request(method, code.into(), start.elapsed().as_secs_f64());
    done
}

/// Returns the next message of a client's stream. A client that is silent for `idle` seconds is dropped.
///
/// Errors: DEADLINE_EXCEEDED, and those of the stream.
pub(crate) async fn next<T>(stream: &mut Streaming<T>, idle: u64) -> Result<Option<T>, Status> {
    let next = tokio::time::timeout(Duration::from_secs(idle), stream.message())
        .await
        .map(|next| next.map_err(crate::requests::of_stream));
    next.unwrap_or_else(|_| {
        Err(Status::deadline_exceeded(format!(
            "expected the next message of the stream within {idle} s, found none"
        )))
    })
}

//! Private database queries behind a network: `PdqService` of `proto/omr/v1`.
//!
//! Of `omr-pdq` it takes the server's side alone: `Server`, `EvaluationKey`, `Params`. `tests/pdq_side.rs` holds it to
//! that.

mod arrivals;
mod keys;
mod run;
mod serve;
mod service;
mod tables;

pub use serve::PdqServer;

use crate::caller::Callers;
use crate::config::Config;
use crate::share::Places;
use arrivals::Arrivals;
use keys::Keys;
use omr_ops::Metrics;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tables::{Sets, Tables};
use tokio::sync::{Semaphore, watch};

/// Bytes of the longest query taken.
pub(crate) const LONGEST_QUERY: u64 = 128 << 20;

/// What a server of tables serves, and how much it gives to queries.
#[derive(Clone, Debug)]
pub struct PdqConfig {
    /// Files of tables; their names differ.
    pub tables: Vec<PathBuf>,
    /// Parameter sets that keys and queries may be of.
    pub params: Vec<String>,
    /// Queries that are answered at a time, at least 1.
    pub at_once: usize,
    /// Queries that may wait beside those.
    pub waiting: usize,
    /// Threads for them all; all cores for 0.
    pub threads: usize,
    /// Keys that are kept, at least 1.
    pub keys: usize,
    /// Bytes that they may take; the largest key fits in any case.
    pub key_bytes: u64,
    /// Most bytes of memory that one query may take, for constants and values.
    pub query_memory: u64,
    /// Most seconds that one query may be worked on.
    pub query_seconds: u64,
}

/// What all calls share.
pub(crate) struct Pdq {
    config: Arc<Config>,
    callers: Arc<Callers>,
    metrics: Metrics,
    tables: Tables,
    sets: Sets,
    keys: Arc<Keys>,
    pool: rayon::ThreadPool,
    query_memory: u64,
    query_time: Duration,
    /// Unfinished uploads.
    arrivals: Arrivals,
    /// Keys that are checked at a time.
    checks: Semaphore,
    /// Queries that are here at all.
    room: Arc<Places>,
    /// Queries that are answered.
    running: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

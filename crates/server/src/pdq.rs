//! Private database queries over a network: `PdqService` of `proto/omr/v1`.
//!
//! This module uses only the server's side of `omr-pdq`: `Server`, `EvaluationKey`, `Params`. `tests/pdq_side.rs`
//! checks that.

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

/// The greatest length of a query, in bytes.
pub(crate) const LONGEST_QUERY: u64 = 128 << 20;

/// The configuration of a server of tables: the tables, and the limits of queries.
#[derive(Clone, Debug)]
pub struct PdqConfig {
    /// The files of the tables, whose names must differ.
    pub tables: Vec<PathBuf>,
    /// The names of the parameter sets that keys and queries may have.
    pub params: Vec<String>,
    /// The greatest number of queries that run at a time, at least 1.
    pub at_once: usize,
    /// The greatest number of further queries that wait.
    pub waiting: usize,
    /// The number of threads for all queries; 0 for all cores.
    pub threads: usize,
    /// The greatest number of stored keys, at least 1.
    pub keys: usize,
    /// The greatest number of bytes of stored keys. The largest key fits in any case.
    pub key_bytes: u64,
    /// The greatest number of bytes of memory that one query may use for constants and values.
    pub query_memory: u64,
    /// The greatest number of seconds that one query may run.
    pub query_seconds: u64,
}

/// The state that all calls share.
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
    /// The unfinished uploads.
    arrivals: Arrivals,
    /// The permits for keys that are checked at a time.
    checks: Semaphore,
    /// The places for queries, waiting or running.
    room: Arc<Places>,
    /// The permits for running queries.
    running: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

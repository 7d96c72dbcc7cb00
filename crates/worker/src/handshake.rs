//! The first exchange with a server, which accepts a worker.

use crate::WorkerError;
use omr_protocol::{Mismatch, ParamSet};
use omr_remote::{Client, v1};
use std::sync::Arc;

/// The answer of a server that accepts a worker.
pub struct Handshake {
    /// The constant part of every request for work.
    pub request: v1::LeaseRequest,
    /// The board's parameter set.
    pub set: Arc<ParamSet>,
    /// Length in bytes of a clue of the board.
    pub clue_bytes: usize,
}

impl Handshake {
    /// Asks the server for its capabilities, and checks that it accepts a worker of this build, which is named by its
    /// commit or empty. `name` is the worker's name in the server's log; without it, a random name is used.
    ///
    /// Errors: `Remote`, `Version`, `NoRight`, `Params`.
    pub async fn with(
        client: &Client,
        name: Option<String>,
        build: &str,
    ) -> Result<Self, WorkerError> {
        let known = client.capabilities().await?;
        let own = omr_runner::version(build);
        if !omr_runner::is_same_build(&own, &known.version) {
            let versions = Mismatch::new(own, known.version);
            return Err(WorkerError::Version(versions));
        }
        if !known.rights.is_some_and(|rights| rights.work) {
            return Err(WorkerError::NoRight);
        }
        let board = known.board.unwrap_or_default();
        let set = Arc::new(ParamSet::named(&board.params_id)?);
        let random = || omr_protocol::hex(&omr_remote::random_id()[..8]);
        let worker_id = name.unwrap_or_else(random);
        let engines = set.spec().engines().into_iter();
        Ok(Self {
            request: v1::LeaseRequest {
                worker: Some(v1::Worker { worker_id }),
                version: own,
                params_id: set.name().into(),
                engines: engines.map(|engine| engine.tag().into()).collect(),
                ..v1::LeaseRequest::default()
            },
            set,
            clue_bytes: board.clue_bytes as usize,
        })
    }
}

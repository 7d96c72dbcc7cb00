//! A server that takes a worker.

use crate::WorkerError;
use omr_protocol::{Mismatch, ParamSet};
use omr_remote::{Client, v1};
use std::sync::Arc;

/// What a server said to a worker that suits it.
pub struct Hired {
    /// What every request for work says.
    pub request: v1::LeaseRequest,
    /// The board's parameter set.
    pub set: Arc<ParamSet>,
    /// Bytes of a clue of the board.
    pub clue_bytes: usize,
}

impl Hired {
    /// Asks the server what it is, and whether a worker of this build, named by its commit or empty, suits it. The server's log has the name; a random
    /// one where there is none.
    ///
    /// Errors: `Remote`, `Version`, `NoRight`, `Params`.
    pub async fn by(
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

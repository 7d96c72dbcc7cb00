//! The calls of a worker: it leases units, downloads keys and messages, and uploads digests.

use super::unit::Unit;
use crate::buffer::Bytes;
use crate::client::Connection;
use crate::detector::bounds;
use crate::fault::Fault;
use crate::running::run;
use crate::sets::set;
use omr_binding::BindingError;
use omr_protocol::ParamSet;
use omr_remote::v1::{self, FailRequest, LeaseRequest, Part, RenewRequest};
use omr_remote::{RemoteError, random_id};
use omr_worker::{Handshake, read_part};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyRange};
use std::sync::Arc;

/// The highest number of seconds to wait for work in one call.
const MOST_WAIT: u32 = 30;

/// The calls of a worker of a server, with a token that has the right `work`. `ca` is the certificate of the server's
/// authority, as PEM. Passing errors are `UnreachableError`.
#[pyclass(frozen, module = "omr.ray")]
pub(crate) struct Leases {
    url: String,
    client: Connection,
    set: Arc<ParamSet>,
    request: LeaseRequest,
}

/// Clues, payloads, and the hashes that the board kept.
type Messages<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
);

#[pymethods]
impl Leases {
    #[new]
    #[pyo3(signature = (url, token, *, name=None, ca=None))]
    fn new(
        py: Python<'_>,
        url: String,
        token: String,
        name: Option<String>,
        ca: Option<&[u8]>,
    ) -> PyResult<Self> {
        let client = Connection::new(&url, Some(token), ca.map(Vec::from), None)?;
        let answered = run(py, &None, None, |watch| {
            // The server is asked once which protocol it supports; calls are repeated where the network fails.
            let asked = Handshake::with(&client.inner, name, "");
            client.wait(watch, async { Ok(asked.await) })
        })?;
        let handshake = answered.map_err(Fault::from)?;
        Ok(Self {
            url,
            client,
            set: set(handshake.set.name())?,
            request: handshake.request,
        })
    }

    /// The name of the parameter set of the server.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The name of this worker in the server's log.
    #[getter]
    fn name(&self) -> String {
        self.worker().worker_id
    }

    /// Leases a unit; returns None if there is none within `wait` seconds.
    #[pyo3(signature = (*, wait=20, jobs=0))]
    fn lease(&self, py: Python<'_>, wait: u32, jobs: u32) -> PyResult<Option<Unit>> {
        let request = LeaseRequest {
            wait_seconds: wait.min(MOST_WAIT),
            jobs,
            ..self.request.clone()
        };
        let unit = run(py, &None, None, |watch| {
            let leased = passing(self.client.wait(watch, self.client.inner.lease(&request)))?;
            let Some(sent) = leased else {
                return Ok(None);
            };
            let unit = Unit::new(self.set.clone(), sent)?;
            let first = unit.page_start()?;
            if first == unit.unit.stride.start {
                return Ok(Some(unit));
            }
            // Fetches prepare whole pages, unless messages of the first page have expired.
            let board = passing(self.client.wait(watch, self.client.inner.board()))?;
            let is_kept = board.first_index <= first;
            Ok(Some(if is_kept {
                unit.reading_from(first)
            } else {
                unit
            }))
        })?;
        Ok(unit)
    }

    /// Renews a lease. Returns the positions of the jobs that are still wanted; None if the server does not know the
    /// unit.
    fn renew(&self, py: Python<'_>, unit: &Bound<'_, Unit>) -> PyResult<Option<Vec<u32>>> {
        let request = RenewRequest {
            worker: self.request.worker.clone(),
            unit_id: unit.get().unit.id.to_vec().into(),
            progress: Vec::new(),
        };
        let wanted = run(py, &None, None, |watch| {
            let renewed = self.client.wait(watch, self.client.inner.renew(&request));
            match passing(renewed) {
                Err(Fault::Binding(BindingError::Remote(RemoteError::NotFound(..)))) => Ok(None),
                renewed => renewed.map(Some),
            }
        })?;
        Ok(wanted)
    }

    /// Uploads the digest of a job. Returns False if it is no longer wanted.
    fn complete(
        &self,
        py: Python<'_>,
        unit: &Bound<'_, Unit>,
        job: u32,
        digest: Bytes,
    ) -> PyResult<bool> {
        let (worker, id) = (self.worker(), unit.get().unit.id.to_vec().into());
        let kept = run(py, &None, None, |watch| {
            let digest = digest.to_vec();
            let brought = self.client.inner.complete(&worker, &id, job, digest);
            passing(self.client.wait(watch, brought))
        })?;
        Ok(kept)
    }

    /// Returns a job to the server, without a reason, or with an error that counts as a failed attempt.
    #[pyo3(signature = (unit, job, error=None))]
    fn fail(
        &self,
        py: Python<'_>,
        unit: &Bound<'_, Unit>,
        job: u32,
        error: Option<String>,
    ) -> PyResult<()> {
        let request = FailRequest {
            worker: self.request.worker.clone(),
            unit_id: unit.get().unit.id.to_vec().into(),
            job,
            given_back: error.is_none(),
            error: error.unwrap_or_default(),
        };
        run(py, &None, None, |watch| {
            passing(self.client.wait(watch, self.client.inner.fail(&request)))
        })
    }

    /// Downloads the file of a key of a unit that was leased under this name.
    fn key<'py>(&self, py: Python<'py>, hash: &[u8], bytes: u64) -> PyResult<Bound<'py, PyBytes>> {
        let (worker, hash) = (self.worker(), crate::client::hash_of(hash)?);
        let file = run(py, &None, None, |watch| {
            let read = self.client.inner.read_key(&worker, hash, bytes);
            passing(self.client.wait(watch, read))
        })?;
        Ok(PyBytes::new(py, &file))
    }

    /// Downloads clues, payloads and kept hashes of messages.
    fn messages<'py>(
        &self,
        py: Python<'py>,
        unit: &Bound<'py, Unit>,
        range: &Bound<'py, PyRange>,
    ) -> PyResult<Messages<'py>> {
        let (unit, range) = (unit.get(), bounds(range)?);
        let (clues, payloads, hashes) = run(py, &None, None, |watch| {
            let inner = &self.client.inner;
            let part = |part: Part, bytes: usize| {
                let read = read_part(inner, range.clone(), part, bytes);
                passing(self.client.wait(watch, read))
            };
            let hashes = inner.read_hashes(range.clone());
            let hashes = passing(self.client.wait(watch, hashes))?;
            // The hashes contain the data to which clues are bound.
            let payloads = if unit.unit.indices_only && hashes.is_some() {
                Vec::new()
            } else {
                part(Part::Payloads, unit.unit.payload_bytes)?
            };
            Ok((part(Part::Clues, unit.clue_bytes)?, payloads, hashes))
        })?;
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        let hashes = hashes.map(|hashes| bytes(hashes.concat()));
        Ok((bytes(clues), bytes(payloads), hashes))
    }

    fn __repr__(&self) -> String {
        format!("<omr.ray.Leases of {}>", self.url)
    }
}

impl Leases {
    fn worker(&self) -> v1::Worker {
        let worker = self.request.worker.clone();
        worker.unwrap_or_else(|| v1::Worker {
            worker_id: omr_protocol::hex(&random_id()),
        })
    }
}

/// Turns a failure that may pass, such as a restart of the server, into `Passing`.
fn passing<T>(done: Result<T, Fault>) -> Result<T, Fault> {
    done.map_err(|fault| match fault {
        Fault::Binding(BindingError::Remote(error)) if error.is_passing() => Fault::Passing(error),
        other => other,
    })
}

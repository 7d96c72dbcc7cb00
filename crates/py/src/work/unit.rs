//! Units of work, which travel from the process that leased them to the processes that make them.

use crate::board::PyRange;
use crate::buffer::Bytes;
use crate::fault::Fault;
use crate::sets::set;
use omr_protocol::{ParamSet, hex};
use omr_remote::v1;
use omr_runner::KeyRef;
use omr_worker::LeasedUnit;
use prost::Message;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::sync::Arc;

/// Digests, scans or answers about the same messages that one run makes; it may be pickled.
#[pyclass(frozen, module = "omr.ray")]
pub(crate) struct Unit {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) unit: omr_runner::Unit,
    pub(crate) clue_bytes: usize,
    sent: v1::WorkUnit,
    /// The first message that is read.
    first: u64,
}

/// The pickled parts: the set's name, the unit as the server sent it, and the first message that is read.
type Parts<'py> = (&'static str, Bound<'py, PyBytes>, u64);

/// A key of a job: its hash, its kind, its bytes.
type Key<'py> = (Bound<'py, PyBytes>, &'static str, u64);

#[pymethods]
impl Unit {
    /// Returns a unit from its pickled parts.
    #[new]
    fn of_bytes(params: &str, unit: Bytes, first: u64) -> Result<Self, Fault> {
        let set = set(params)?;
        let sent = v1::WorkUnit::decode(&unit[..]).map_err(|_| Fault::Unit)?;
        let unit = Self::new(set, sent)?;
        Ok(Self { first, ..unit })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Parts<'py>) {
        let bytes = PyBytes::new(py, &self.sent.encode_to_vec());
        (
            PyType::new::<Self>(py),
            (self.set.name(), bytes, self.first),
        )
    }

    /// The random bytes that name the unit.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.unit.id)
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The bytes that name the board and its history.
    #[getter]
    fn history_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.unit.history_id)
    }

    /// Whether the digests are of indices alone.
    #[getter]
    fn indices_only(&self) -> bool {
        self.unit.indices_only
    }

    /// The messages that are read, from the first to the last; for a fetch from the beginning of a page.
    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.first..self.unit.stride.end)
    }

    /// The messages of each batch; None where the unit must be done as a whole.
    #[getter]
    fn batches(&self) -> Vec<PyRange> {
        let batches = omr_runner::batches(&self.unit, &self.set);
        batches.into_iter().map(PyRange).collect()
    }

    /// The seconds for which the unit is leased, unless it is renewed.
    #[getter]
    fn lease_seconds(&self) -> f64 {
        self.unit.lease.as_secs_f64()
    }

    /// The keys of each job: hash, engine, bytes.
    #[getter]
    fn jobs<'py>(&self, py: Python<'py>) -> Vec<Vec<Key<'py>>> {
        let key = |key: &KeyRef| {
            let kind = crate::detector::name(key.kind);
            (PyBytes::new(py, &key.hash), kind, key.bytes)
        };
        let jobs = self.unit.jobs.iter();
        jobs.map(|keys| keys.iter().map(key).collect()).collect()
    }

    fn __repr__(&self) -> String {
        let (jobs, stride) = (self.unit.jobs.len(), self.unit.stride);
        let id = hex(&self.unit.id);
        format!(
            "<omr.ray.Unit {id}: {jobs} jobs over {}..{}>",
            stride.start, stride.end
        )
    }
}

impl Unit {
    /// Parses a unit of a server.
    ///
    /// Errors: `Remote` for an invalid one.
    pub(super) fn new(set: Arc<ParamSet>, sent: v1::WorkUnit) -> Result<Self, Fault> {
        let LeasedUnit { unit, clue_bytes } = LeasedUnit::parse(&sent, &set)?;
        Ok(Self {
            first: unit.stride.start,
            set,
            unit,
            clue_bytes,
            sent,
        })
    }

    /// Returns the first message of the first page of a fetch; that of the range for other units.
    ///
    /// Errors: `Params`.
    pub(super) fn page_start(&self) -> Result<u64, Fault> {
        let start = self.unit.stride.start;
        if self.unit.queries.is_empty() {
            return Ok(start);
        }
        let page = self.set.rounds()?.fetch.spec().page as u64;
        Ok(start / page * page)
    }

    /// Returns the unit with another first message to read.
    pub(super) fn reading_from(self, first: u64) -> Self {
        Self { first, ..self }
    }
}

//! Answers to queries, the results of the second round.

use super::{FetchQuery, MOST_BYTES};
use crate::digest::seconds;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::pickle::{Pickled, as_file};
use crate::sets::set;
use omr_detector::Stages;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::PathBuf;
use std::sync::Arc;

/// A detector's answer to a query. `bytes(answer)` is the answer's file.
#[pyclass(frozen, eq, module = "omr")]
pub(crate) struct FetchAnswer {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) inner: rounds::FetchAnswer,
    pub(crate) bytes: Vec<u8>,
    stages: Stages,
}

impl PartialEq for FetchAnswer {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

#[pymethods]
impl FetchAnswer {
    /// Returns the answer in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, answer: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&answer))?)
    }

    /// Reads the file of an answer.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&Given::Path(path)))?)
    }

    /// Writes the file of the answer.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        Ok(py.detach(|| save_public(&path, overwrite, &self.bytes))?)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        as_file::<Self>(self.__bytes__(py))
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The seconds of each stage, if this process made the answer.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        seconds(py, &self.stages)
    }

    fn __repr__(&self) -> String {
        format!("<omr.FetchAnswer, {} bytes>", self.bytes.len())
    }
}

impl FetchAnswer {
    /// Returns an answer that was made here.
    ///
    /// Errors: `Params`, `Rounds`.
    pub(super) fn new(
        set: &Arc<ParamSet>,
        answer: rounds::FetchAnswer,
        stages: Stages,
    ) -> Result<Self, Fault> {
        Ok(Self {
            bytes: answer.to_bytes(set.rounds()?)?,
            set: set.clone(),
            inner: answer,
            stages,
        })
    }

    /// Reads an answer's file.
    ///
    /// Errors: `Io`, `Frame`, `Params`, `Rounds`.
    fn read(answer: &Given) -> Result<Self, Fault> {
        Self::of_file(&answer.up_to(MOST_BYTES)?)
    }

    /// Parses an answer's file.
    ///
    /// Errors: `Frame`, `Params`, `Rounds`.
    pub(crate) fn of_file(bytes: &[u8]) -> Result<Self, Fault> {
        let set = set(&header_of(bytes, &[Kind::FetchAnswer])?.params_id)?;
        let answer = rounds::FetchAnswer::from_bytes(set.rounds()?, bytes)?;
        Ok(Self {
            set,
            inner: answer,
            bytes: bytes.to_vec(),
            stages: Stages::default(),
        })
    }

    /// Checks that this answers a query.
    ///
    /// Errors: `Rounds`.
    pub(crate) fn check(&self, query: &FetchQuery) -> Result<(), Fault> {
        let params = self.set.rounds()?;
        self.inner
            .ciphertexts(params, &query.header, &query.bytes)?;
        Ok(())
    }
}

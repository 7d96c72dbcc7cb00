//! A recipient's queries for payloads of scans.

use super::MOST_BYTES;
use crate::board::PyRange;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::sets::set;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::RoundsHeader;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// An encrypted query for messages of a scan.
#[pyclass(frozen, eq, module = "omr")]
pub(crate) struct FetchQuery {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) header: RoundsHeader,
    pub(crate) bytes: Vec<u8>,
    asked: Option<Asked>,
}

/// The messages for which a query asks, which only its recipient knows.
pub(crate) struct Asked {
    /// The indices.
    pub(crate) indices: Vec<u64>,
    /// The number of wanted messages for which it does not ask.
    pub(crate) left: usize,
}

impl PartialEq for FetchQuery {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

#[pymethods]
impl FetchQuery {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, query: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::of_file(&query.up_to(MOST_BYTES)?))?)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::from_bytes(py, Given::Path(path))
    }

    #[pyo3(signature = (path, *, overwrite=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        Ok(py.detach(|| save_public(&path, overwrite, &self.bytes))?)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.header.range.clone())
    }

    #[getter]
    fn indices(&self) -> Option<Vec<u64>> {
        self.asked.as_ref().map(|asked| asked.indices.clone())
    }

    #[getter]
    fn left(&self) -> Option<usize> {
        self.asked.as_ref().map(|asked| asked.left)
    }

    fn __repr__(&self) -> String {
        let range = &self.header.range;
        format!(
            "<omr.FetchQuery for messages of {}..{}, {} bytes>",
            range.start,
            range.end,
            self.bytes.len()
        )
    }
}

impl FetchQuery {
    /// Returns a query that was made here.
    pub(crate) fn new(
        set: &Arc<ParamSet>,
        header: RoundsHeader,
        bytes: Vec<u8>,
        asked: Asked,
    ) -> Self {
        Self {
            set: set.clone(),
            header,
            bytes,
            asked: Some(asked),
        }
    }

    /// Parses a query's file.
    ///
    /// Errors: `Frame`, `Params`, `Rounds`.
    fn of_file(bytes: &[u8]) -> Result<Self, Fault> {
        let set = set(&header_of(bytes, &[Kind::FetchQuery])?.params_id)?;
        let query = omr_protocol::rounds::FetchQuery::from_bytes(set.rounds()?, bytes)?;
        Ok(Self {
            set,
            header: query.header,
            bytes: bytes.to_vec(),
            asked: None,
        })
    }
}

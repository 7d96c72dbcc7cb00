//! A recipient's queries for payloads of scans.

use super::MOST_BYTES;
use crate::board::PyRange;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::pickle::{Pickled, as_file};
use crate::sets::set;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::RoundsHeader;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::path::PathBuf;
use std::sync::Arc;

/// An encrypted query for messages of a scan. `bytes(query)` is the file for the detector.
///
/// Repeat a query that was lost with the same bytes. It shows neither which messages are wanted nor how many.
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
    /// Returns the query in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, query: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&query))?)
    }

    /// Reads the file of a query.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&Given::Path(path)))?)
    }

    /// Writes the file of the query.
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

    /// The indices of the messages of the scan.
    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.header.range.clone())
    }

    /// The messages for which it asks; None for a query from a file.
    #[getter]
    fn indices(&self) -> Option<Vec<u64>> {
        self.asked.as_ref().map(|asked| asked.indices.clone())
    }

    /// The number of the recipient's messages that are left for further queries; None for a query from a file.
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

    /// Reads a query's file.
    ///
    /// Errors: `Io`, `Frame`, `Params`, `Rounds`.
    fn read(query: &Given) -> Result<Self, Fault> {
        Self::of_file(&query.up_to(MOST_BYTES)?)
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

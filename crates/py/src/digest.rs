//! Digests, the results of a detector.

use crate::board::PyRange;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::sets::set;
use omr_detector::Stages;
use omr_detector::engine::Answer;
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// The highest number of bytes of a digest's file.
const MOST_BYTES: u64 = 1 << 33;

/// A digest, with the figures of its making where it was made here.
#[pyclass(frozen, eq, module = "omr")]
pub(crate) struct Digest {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) response: Response,
    bytes: Vec<u8>,
    stages: Stages,
    unusable_clues: usize,
    lost: Vec<u64>,
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

#[pymethods]
impl Digest {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, digest: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&digest))?)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&Given::Path(path)))?)
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
    fn scheme(&self) -> &'static str {
        self.response.scheme().name()
    }

    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.response.request().range)
    }

    #[getter]
    fn bound(&self) -> usize {
        self.response.request().bound
    }

    #[getter]
    fn payload_bytes(&self) -> Option<usize> {
        self.response.request().payload_bytes
    }

    #[getter]
    fn board_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.response.board_id())
    }

    #[getter]
    fn sealing(&self) -> &'static str {
        self.response.sealing().name()
    }

    #[getter]
    fn seed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let seed = match &self.response {
            Response::Sophomr(digest) | Response::Hybrid(digest, _) => &digest.header.seed[..],
            Response::Instantomr(digest) => &digest.header.seed[..],
            // Scans are objects of another class.
            Response::Scan(_) => &[],
        };
        PyBytes::new(py, seed)
    }

    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        seconds(py, &self.stages)
    }

    #[getter]
    fn unusable_clues(&self) -> usize {
        self.unusable_clues
    }

    #[getter]
    fn lost(&self) -> Vec<u64> {
        self.lost.clone()
    }

    fn __repr__(&self) -> String {
        let range = self.response.request().range;
        format!(
            "<omr.Digest {} of messages {}..{}, {} bytes>",
            self.response.scheme().name(),
            range.start,
            range.end,
            self.bytes.len()
        )
    }
}

impl Digest {
    /// Returns a digest that was made here. `lost` are the messages in its range that the board has lost by damage.
    pub(crate) fn new(set: &Arc<ParamSet>, answer: Answer, lost: Vec<u64>) -> Result<Self, Fault> {
        Ok(Self {
            set: set.clone(),
            bytes: answer.response.to_bytes(set)?,
            response: answer.response,
            stages: answer.stages,
            // The detector counts lost messages among the clues that cannot be read.
            unusable_clues: answer.unusable_clues.saturating_sub(lost.len()),
            lost,
        })
    }

    /// Reads a digest's file.
    ///
    /// Errors: `Io`, `Frame`, `Params`, `Digest`.
    fn read(digest: &Given) -> Result<Self, Fault> {
        Self::of_file(&digest.up_to(MOST_BYTES)?)
    }

    /// Parses a digest's file.
    ///
    /// Errors: `Frame`, `Params`, `Digest`.
    pub(crate) fn of_file(bytes: &[u8]) -> Result<Self, Fault> {
        let set = set(&header_of(bytes, &[Kind::Digest])?.params_id)?;
        Ok(Self {
            response: Response::from_bytes(&set, bytes)?,
            bytes: bytes.to_vec(),
            set,
            stages: Stages::default(),
            unusable_clues: 0,
            lost: Vec::new(),
        })
    }
}

/// Returns the seconds of each stage as a dictionary.
pub(crate) fn seconds<'py>(py: Python<'py>, stages: &Stages) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, seconds) in stages.seconds() {
        named.set_item(name, seconds)?;
    }
    Ok(named)
}

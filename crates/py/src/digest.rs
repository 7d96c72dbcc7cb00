//! Digests, the results of a detector.

use crate::board::PyRange;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::pickle::{Pickled, as_file};
use crate::sets::set;
use omr_detector::Stages;
use omr_detector::engine::Answer;
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::PathBuf;
use std::sync::Arc;

/// The highest number of bytes of a digest's file.
const MOST_BYTES: u64 = 1 << 33;

/// The result of a detector. `bytes(digest)` is the digest's file.
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
    /// Returns the digest in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, digest: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&digest))?)
    }

    /// Reads the file of a digest.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&Given::Path(path)))?)
    }

    /// Writes the file of the digest.
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

    /// The name of the scheme that made the digest.
    #[getter]
    fn scheme(&self) -> &'static str {
        self.response.scheme().name()
    }

    /// The indices of the messages that were examined.
    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.response.request().range)
    }

    /// The largest number of the recipient's messages for which the digest has room.
    #[getter]
    fn bound(&self) -> usize {
        self.response.request().bound
    }

    /// The size of each payload in bytes; None for a digest of indices.
    #[getter]
    fn payload_bytes(&self) -> Option<usize> {
        self.response.request().payload_bytes
    }

    /// The id of the board.
    #[getter]
    fn board_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.response.board_id())
    }

    /// The way in which the board's payloads are sealed.
    #[getter]
    fn sealing(&self) -> &'static str {
        self.response.sealing().name()
    }

    /// The random bytes that placed the messages in the digest.
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

    /// The seconds of each stage, if this process made the digest.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        seconds(py, &self.stages)
    }

    /// The number of clues that cannot be read, without those of `lost` messages, if this process made the digest.
    #[getter]
    fn unusable_clues(&self) -> usize {
        self.unusable_clues
    }

    /// The messages that the board has lost by damage, if this process made the digest: no digest can contain them.
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

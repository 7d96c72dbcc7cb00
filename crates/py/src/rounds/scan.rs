//! Scans, the results of the first round.

use super::MOST_BYTES;
use crate::board::PyRange;
use crate::digest::seconds;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::sets::set;
use omr_detector::Stages;
use omr_detector::rounds::ScanOutput;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::Scanned;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A scan, with the figures of its making where it was made here.
#[pyclass(frozen, eq, module = "omr")]
pub(crate) struct Scan {
    pub(crate) set: Arc<ParamSet>,
    pub(crate) scanned: Scanned,
    bytes: Vec<u8>,
    stages: Stages,
    unusable_clues: usize,
    lost: Vec<u64>,
}

impl PartialEq for Scan {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

#[pymethods]
impl Scan {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, scan: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::of_file(&scan.up_to(MOST_BYTES)?))?)
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
        PyRange(self.scanned.header.range.clone())
    }

    #[getter]
    fn board_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.scanned.header.board_id)
    }

    #[getter]
    fn sealing(&self) -> &'static str {
        self.scanned.header.sealing.name()
    }

    /// Returns whether the scan contains all payloads.
    #[getter]
    pub(crate) fn has_payloads(&self) -> bool {
        !self.scanned.payloads.is_empty()
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
        let range = &self.scanned.header.range;
        format!(
            "<omr.Scan of messages {}..{}, {} bytes>",
            range.start,
            range.end,
            self.bytes.len()
        )
    }
}

impl Scan {
    /// Returns a scan that was made here. `lost` are the messages in its range that the board has lost by damage.
    ///
    /// Errors: `Params`, `Rounds`.
    pub(crate) fn new(
        set: &Arc<ParamSet>,
        output: ScanOutput,
        lost: Vec<u64>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            bytes: output.scanned.to_bytes(set.rounds()?)?,
            set: set.clone(),
            scanned: output.scanned,
            stages: output.stages,
            // The detector counts lost messages among the clues that cannot be read.
            unusable_clues: output.unusable_clues.saturating_sub(lost.len()),
            lost,
        })
    }

    /// Parses a scan's file.
    ///
    /// Errors: `Frame`, `Params`, `Rounds`.
    pub(crate) fn of_file(bytes: &[u8]) -> Result<Self, Fault> {
        let set = set(&header_of(bytes, &[Kind::Scan])?.params_id)?;
        Ok(Self {
            scanned: Scanned::from_bytes(set.rounds()?, bytes)?,
            bytes: bytes.to_vec(),
            set,
            stages: Stages::default(),
            unusable_clues: 0,
            lost: Vec::new(),
        })
    }
}

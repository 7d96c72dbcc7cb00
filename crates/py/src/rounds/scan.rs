//! Scans, the results of the first round.

use super::MOST_BYTES;
use crate::board::PyRange;
use crate::digest::seconds;
use crate::fault::{Fault, header_of};
use crate::files::{Given, save_public};
use crate::pickle::{Pickled, as_file};
use crate::sets::set;
use omr_detector::Stages;
use omr_detector::rounds::ScanOutput;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::Scanned;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::PathBuf;
use std::sync::Arc;

/// The first of two rounds: what a recipient needs to find messages. `bytes(scan)` is the scan's file.
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
    /// Returns the scan in a file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, scan: Given) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&scan))?)
    }

    /// Reads the file of a scan.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::read(&Given::Path(path)))?)
    }

    /// Writes the file of the scan.
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

    /// The indices of the messages that were scanned.
    #[getter]
    fn range(&self) -> PyRange {
        PyRange(self.scanned.header.range.clone())
    }

    /// The id of the board.
    #[getter]
    fn board_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.scanned.header.board_id)
    }

    /// The way in which the board's payloads are sealed.
    #[getter]
    fn sealing(&self) -> &'static str {
        self.scanned.header.sealing.name()
    }

    /// Whether the scan contains all payloads, as one of up to 512 messages does: there is nothing to be fetched.
    #[getter]
    pub(crate) fn has_payloads(&self) -> bool {
        !self.scanned.payloads.is_empty()
    }

    /// The seconds of each stage, if this process made the scan.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        seconds(py, &self.stages)
    }

    /// The number of clues that cannot be read, as in `Digest`.
    #[getter]
    fn unusable_clues(&self) -> usize {
        self.unusable_clues
    }

    /// The messages that the board has lost by damage, as in `Digest`.
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

    /// Reads a scan's file.
    ///
    /// Errors: `Io`, `Frame`, `Params`, `Rounds`.
    fn read(scan: &Given) -> Result<Self, Fault> {
        Self::of_file(&scan.up_to(MOST_BYTES)?)
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

//! Rows of an answer.

use super::capsule::stream_of;
use crate::fault::Fault;
use arrow::array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The rows of an answer. Data frames of other libraries read them by Arrow's interface.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Rows {
    rows: omr_table::Rows,
    batch: RecordBatch,
}

#[pymethods]
impl Rows {
    /// Returns the row's numbers in the table, counted from 0; `None` where the owner keeps them secret.
    #[getter]
    fn numbers(&self) -> Option<Vec<u64>> {
        self.rows.numbers.clone()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        let columns = self.rows.columns.iter();
        columns.map(|column| column.name.clone()).collect()
    }

    fn to_csv(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.rows.write_csv(&mut text).map_err(Fault::from)?;
        Ok(String::from_utf8(text)?)
    }

    fn to_json(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.rows.write_json(&mut text).map_err(Fault::from)?;
        Ok(String::from_utf8(text)?)
    }

    fn __len__(&self) -> usize {
        self.rows.rows.len()
    }

    /// Returns a stream of one batch by Arrow's interface. It always has the schema of the rows, as the interface
    /// allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream_of(py, self.batch.clone())
    }

    fn __repr__(&self) -> String {
        format!("<omr.pdq.Rows: {} of {:?}>", self.__len__(), self.columns())
    }
}

impl Rows {
    /// Returns rows as one Arrow batch.
    ///
    /// Errors: `Output`.
    pub(super) fn new(rows: omr_table::Rows) -> Result<Self, Fault> {
        let batch = rows.record_batch()?;
        Ok(Self { rows, batch })
    }
}

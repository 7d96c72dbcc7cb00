//! Rows of an answer.

use crate::capsule::stream_of;
use crate::fault::Fault;
use arrow::array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows of an answer, for any data frame: `polars.DataFrame(rows)`, `pyarrow.table(rows)`.
#[pyclass(frozen, module = "omr.pdq")]
pub(crate) struct Rows {
    rows: omr_table::Rows,
    batch: RecordBatch,
}

#[pymethods]
impl Rows {
    /// The numbers of the rows in the table, counted from 0; None where the owner keeps them secret.
    #[getter]
    fn numbers(&self) -> Option<Vec<u64>> {
        self.rows.numbers.clone()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let columns = self.rows.columns.iter();
        columns.map(|column| column.name.clone()).collect()
    }

    /// Returns the rows as comma-separated values under their names.
    fn to_csv(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.rows.write_csv(&mut text).map_err(Fault::from)?;
        Ok(String::from_utf8(text)?)
    }

    /// Returns the rows as a list in JSON.
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
        let schema = self.batch.schema();
        stream_of(
            py,
            RecordBatchIterator::new([Ok(self.batch.clone())], schema),
        )
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

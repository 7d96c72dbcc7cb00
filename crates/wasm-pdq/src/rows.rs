//! Rows of an answer, for showing and saving.

use crate::error::{WasmError, other};
use js_sys::Array;
use omr_errors::Mismatch;
use omr_table::Value;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// The rows of an answer.
#[wasm_bindgen]
pub struct Rows(pub(crate) omr_table::Rows);

#[wasm_bindgen]
impl Rows {
    /// Returns the number of rows.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.rows.len()
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let columns = self.0.columns.iter();
        columns.map(|column| column.name.clone()).collect()
    }

    /// Returns the numbers of the rows in the table; undefined if the server keeps them secret.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let numbers = self.0.numbers.as_ref()?;
        Some(numbers.iter().map(|&number| number as f64).collect())
    }

    /// Returns the values of a row as text; undefined stands for an absent value.
    ///
    /// Errors: `Row`.
    pub fn row(&self, at: usize) -> Result<Array, JsValue> {
        let rows = self.0.rows.len();
        let row = self
            .0
            .rows
            .get(at)
            .ok_or_else(|| other(WasmError::Row(Mismatch::new(rows, at))))?;
        let columns = self.0.columns.iter().zip(row);
        let texts = columns.map(|(column, value)| match value {
            Value::Null => JsValue::UNDEFINED,
            present => JsValue::from(present.show(column.kind).to_string()),
        });
        Ok(texts.collect())
    }

    /// Returns all rows as a CSV file for spreadsheets, without formulas.
    pub fn csv(&self) -> Result<Vec<u8>, JsValue> {
        let mut file = Vec::new();
        self.0.write_spreadsheet_csv(&mut file).map_err(other)?;
        Ok(file)
    }
}

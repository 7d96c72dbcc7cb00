//! Rows as a page shows and saves them.

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
    /// How many there are.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.rows.len()
    }

    /// Names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let columns = self.0.columns.iter();
        columns.map(|column| column.name.clone()).collect()
    }

    /// Numbers of the rows in the table; nothing where the server keeps them to itself.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let numbers = self.0.numbers.as_ref()?;
        Some(numbers.iter().map(|&number| number as f64).collect())
    }

    /// The values of a row as text; an absent one is undefined.
    ///
    /// Errors: `Row`.
    pub fn row(&self, at: usize) -> Result<Array, JsValue> {
        let rows = self.0.rows.len();
        let row = self.0.rows.get(at);
        let row = row.ok_or_else(|| other(WasmError::Row(Mismatch::new(rows, at))))?;
        let values = self.0.columns.iter().zip(row);
        let values = values.map(|(column, value)| match value {
            Value::Null => JsValue::UNDEFINED,
            value => JsValue::from(value.show(column.kind).to_string()),
        });
        Ok(values.collect())
    }

    /// All of them as a file of CSV for spreadsheets, without formulas.
    pub fn csv(&self) -> Result<Vec<u8>, JsValue> {
        let mut file = Vec::new();
        self.0.write_spreadsheet_csv(&mut file).map_err(other)?;
        Ok(file)
    }
}

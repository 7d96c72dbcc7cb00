//! The public part of a table.

use crate::error::{WasmError, other};
use omr_errors::Mismatch;
use omr_pdq::Public;
use omr_table::{ColumnType, MAX_SCHEMA_BYTES, Value};
use std::rc::Rc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A column.
#[wasm_bindgen(getter_with_clone)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The column's type, as declared.
    pub kind: String,
    /// Whether values may be absent.
    pub nullable: bool,
    /// The smallest value, if values have an order.
    pub least: Option<String>,
    /// The largest value, if values have an order.
    pub most: Option<String>,
}

/// The schema of a table, and further public data if the table is encrypted.
#[wasm_bindgen]
pub struct Table(pub(crate) Rc<Public>);

#[wasm_bindgen]
impl Table {
    /// Reads a server's description of a table.
    ///
    /// Errors: those of an invalid schema.
    #[wasm_bindgen(constructor)]
    pub fn new(json: &[u8]) -> Result<Table, JsValue> {
        // The description of an encrypted table contains a list beside the schema.
        let most = 2 * MAX_SCHEMA_BYTES;
        if json.len() > most {
            let sizes = Mismatch::new(most, json.len());
            return Err(other(WasmError::Schema(sizes)));
        }
        let public = Public::from_json(json).map_err(other)?;
        Ok(Self(Rc::new(public)))
    }

    /// Returns the table's name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.schema().name.clone()
    }

    /// Returns the number of rows.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> f64 {
        self.0.schema().rows as f64
    }

    /// Returns whether the table is encrypted, so that the server cannot read it. Queries then need the keys with which
    /// it was encrypted.
    #[wasm_bindgen(getter)]
    pub fn encrypted(&self) -> bool {
        matches!(*self.0, Public::Encrypted(_))
    }

    /// Returns the columns in their order.
    pub fn columns(&self) -> Vec<Column> {
        let columns = self.0.schema().columns.iter().map(|column| Column {
            name: column.name.clone(),
            kind: column.kind.to_string(),
            nullable: column.nullable,
            least: column.domain.map(|domain| shown(column.kind, domain.min)),
            most: column.domain.map(|domain| shown(column.kind, domain.max)),
        });
        columns.collect()
    }
}

fn shown(kind: ColumnType, ordinal: i64) -> String {
    let value = Value::from_ordinal(kind, ordinal);
    value.map_or_else(|| ordinal.to_string(), |value| value.show(kind).to_string())
}

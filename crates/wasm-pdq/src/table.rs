//! What is public about a table.

use crate::error::{WasmError, other};
use omr_errors::Mismatch;
use omr_pdq::Public;
use omr_table::{ColumnType, MAX_SCHEMA_BYTES, Value};
use std::rc::Rc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A column.
#[wasm_bindgen(getter_with_clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as it is declared.
    pub kind: String,
    /// Whether values may be absent.
    pub nullable: bool,
    /// The smallest value, where there is an order.
    pub least: Option<String>,
    /// The largest.
    pub most: Option<String>,
}

/// The schema of a table, and of an encrypted one what else is public.
#[wasm_bindgen]
pub struct Table(pub(crate) Rc<Public>);

#[wasm_bindgen]
impl Table {
    /// Reads what servers tell of a table.
    ///
    /// Errors: what a schema may not be.
    #[wasm_bindgen(constructor)]
    pub fn new(json: &[u8]) -> Result<Table, JsValue> {
        // Beside the schema an encrypted table's has a list.
        let most = 2 * MAX_SCHEMA_BYTES;
        if json.len() > most {
            let sizes = Mismatch::new(most, json.len());
            return Err(other(WasmError::Schema(sizes)));
        }
        let public = Public::from_json(json).map_err(other)?;
        Ok(Self(Rc::new(public)))
    }

    /// Its name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.schema().name.clone()
    }

    /// How many rows it has.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> f64 {
        self.0.schema().rows as f64
    }

    /// Whether the server cannot read it: queries need the keys that it was encrypted with.
    #[wasm_bindgen(getter)]
    pub fn encrypted(&self) -> bool {
        matches!(*self.0, Public::Encrypted(_))
    }

    /// The columns in their order.
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

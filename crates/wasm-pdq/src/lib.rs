//! Private database queries in a browser: the asker's side of `omr-pdq`, and tables' schemas, for JavaScript. No logic of
//! its own.
#![forbid(unsafe_code)]

mod error;
mod keys;
mod question;
mod rows;
mod set;
mod table;

pub use keys::{Keys, MadeKey};
pub use question::{Plan, Question};
pub use rows::Rows;
pub use set::Set;
pub use table::{Column, Table};

use wasm_bindgen::prelude::wasm_bindgen;

/// BLAKE3, by which servers name files.
#[wasm_bindgen]
pub fn hash(bytes: &[u8]) -> Vec<u8> {
    blake3::hash(bytes).as_bytes().to_vec()
}

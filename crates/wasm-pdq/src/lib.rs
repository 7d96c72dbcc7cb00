//! Private database queries in a browser: the client's side of `omr-pdq`, and tables' schemas, for JavaScript. This
//! crate has no logic of its own.
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

/// Returns BLAKE3 of bytes, which is the name of files on servers.
#[wasm_bindgen]
pub fn hash(bytes: &[u8]) -> Vec<u8> {
    blake3::hash(bytes).as_bytes().to_vec()
}

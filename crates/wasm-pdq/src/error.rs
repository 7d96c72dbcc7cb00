//! Errors for JavaScript: an `Error` with its kind and further fields.

use js_sys::{Error, Reflect};
use omr_errors::Mismatch;
use omr_pdq::{DecodeError, PlanError};
use omr_table::QueryError;
use std::ops::Range;
use wasm_bindgen::prelude::JsValue;

/// An error of input from JavaScript.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WasmError {
    /// The schema is longer than the limit.
    #[error("expected a schema of at most {} bytes, found {}", .0.expected, .0.found)]
    Schema(Mismatch<usize>),
    /// The parameter set is for tests.
    #[error("expected a parameter set of 128 bits of security, found {0}, which is for tests")]
    Insecure(&'static str),
    /// The row does not exist.
    #[error("expected a row below {}, found {}", .0.expected, .0.found)]
    Row(Mismatch<usize>),
    /// JavaScript stopped the work.
    #[error("stopped by the caller")]
    Stopped,
}

/// Makes an error of a kind, with further fields.
fn error<const N: usize>(kind: &str, message: &str, fields: [(&str, JsValue); N]) -> JsValue {
    let error: JsValue = Error::new(message).into();
    let first = ("kind", JsValue::from(kind));
    for (name, value) in [first].into_iter().chain(fields) {
        // Fields can always be set on an object that was made here.
        let _ = Reflect::set(&error, &name.into(), &value);
    }
    error
}

/// Makes an error without further fields.
pub(crate) fn other(cause: impl std::fmt::Display) -> JsValue {
    error("other", &cause.to_string(), [])
}

/// Makes the error of a text that is no query. `from` and `to` are the place of the fault in the text.
pub(crate) fn of_query(cause: &QueryError, sql: &str) -> JsValue {
    let Some(Range { start, end }) = cause.place(sql) else {
        return error("syntax", &cause.to_string(), []);
    };
    // JavaScript counts units of UTF-16.
    let at = |place: usize| JsValue::from(sql[..place].encode_utf16().count());
    let fields = [("from", at(start)), ("to", at(end))];
    error("syntax", &cause.to_string(), fields)
}

/// Makes the error of a query that cannot be planned. Its kind is `depth` if another set may have room for the query.
pub(crate) fn of_plan(cause: &PlanError) -> JsValue {
    let kind = match cause {
        PlanError::Depth(_) | PlanError::Noise(_) => "depth",
        _ => "plan",
    };
    error(kind, &cause.to_string(), [])
}

/// Makes the error of an answer. `found` is the number of matching rows if they are too many.
pub(crate) fn of_answer(cause: &DecodeError) -> JsValue {
    match cause {
        DecodeError::Overflow { found, .. } => {
            let number = JsValue::from(*found as f64);
            error("overflow", &cause.to_string(), [("found", number)])
        }
        cause => error("answer", &cause.to_string(), []),
    }
}

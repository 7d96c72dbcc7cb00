//! What goes wrong, for JavaScript: an `Error` with the kind of what is wrong, and with what there is to show of it.

use js_sys::{Error, Reflect};
use omr_errors::Mismatch;
use omr_pdq::{DecodeError, PlanError};
use omr_table::QueryError;
use std::ops::Range;
use wasm_bindgen::prelude::JsValue;

/// Input that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WasmError {
    /// A schema longer than any.
    #[error("expected a schema of at most {} bytes, found {}", .0.expected, .0.found)]
    Schema(Mismatch<usize>),
    /// A set for tests.
    #[error("expected a parameter set of 128 bits of security, found {0}, which is for tests")]
    Insecure(&'static str),
    /// No such row.
    #[error("expected a row below {}, found {}", .0.expected, .0.found)]
    Row(Mismatch<usize>),
    /// JavaScript wants no more.
    #[error("stopped by the caller")]
    Stopped,
}

/// An error of some kind, with further fields.
fn error<const N: usize>(kind: &str, message: &str, fields: [(&str, JsValue); N]) -> JsValue {
    let error: JsValue = Error::new(message).into();
    let kind = ("kind", JsValue::from(kind));
    for (name, value) in [kind].into_iter().chain(fields) {
        // An object that was made here takes any field.
        let _ = Reflect::set(&error, &name.into(), &value);
    }
    error
}

/// Of an error that has no more to say.
pub(crate) fn other(cause: impl std::fmt::Display) -> JsValue {
    error("other", &cause.to_string(), [])
}

/// Of a text that is no query; `from` and `to` are places of what is wrong in it.
pub(crate) fn of_query(cause: &QueryError, sql: &str) -> JsValue {
    let Some(Range { start, end }) = cause.place(sql) else {
        return error("syntax", &cause.to_string(), []);
    };
    // JavaScript counts units of UTF-16.
    let at = |place: usize| JsValue::from(sql[..place].encode_utf16().count());
    let fields = [("from", at(start)), ("to", at(end))];
    error("syntax", &cause.to_string(), fields)
}

/// Of a query that cannot be planned; `depth` where another set may have room for it.
pub(crate) fn of_plan(cause: &PlanError) -> JsValue {
    let kind = match cause {
        PlanError::Depth(_) | PlanError::Noise(_) => "depth",
        _ => "plan",
    };
    error(kind, &cause.to_string(), [])
}

/// Of an answer; `found` are the rows that match where they are too many.
pub(crate) fn of_answer(cause: &DecodeError) -> JsValue {
    match cause {
        DecodeError::Overflow { found, .. } => {
            let found = JsValue::from(*found as f64);
            error("overflow", &cause.to_string(), [("found", found)])
        }
        cause => error("answer", &cause.to_string(), []),
    }
}

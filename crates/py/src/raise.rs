//! Turns faults into Python's exceptions: a class of `omr.errors` for each kind, with the figures as attributes.

mod advice;
mod pdq;

pub(crate) use advice::with_advice;

use crate::fault::Fault;
use omr_binding::{BindingError, Flat, Kind, Value};
use omr_board::LocalError;
use omr_detector::DetectorError;
use omr_errors::chain;
use omr_protocol::Mismatch;
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_store::StoreError;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// A class of `omr.errors` and the fields of its exception.
struct Class {
    name: String,
    values: Vec<(&'static str, Value)>,
}

/// The classes have the names of the kinds.
impl From<Flat> for Class {
    fn from(flat: Flat) -> Self {
        Self {
            name: format!("{:?}Error", flat.kind),
            values: flat.values,
        }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let message = text(&fault);
        let class = match fault {
            Fault::Python(error) => return error,
            Fault::Pickle(_) => return PyTypeError::new_err(message),
            Fault::Index { .. } => return PyIndexError::new_err(message),
            Fault::Sealing(_)
            | Fault::Kind(_)
            | Fault::Scheme(_)
            | Fault::Engine(_)
            | Fault::Seed(_)
            | Fault::Hash(_)
            | Fault::Delimiter(_)
            | Fault::Binding(BindingError::BirthdayOfNew | BindingError::Birthday(_))
            | Fault::Period(_)
            | Fault::Canaries(_)
            | Fault::Unit
            | Fault::Batches { .. }
            | Fault::Step(_)
            | Fault::WholeScan
            | Fault::Threads => return PyValueError::new_err(message),
            other => match class(other) {
                Ok(class) => class,
                Err(system) => return system.into(),
            },
        };
        Python::attach(|py| raised(py, class, &message).unwrap_or_else(|error| error))
    }
}

/// Returns a fault's text with its causes and advice.
fn text(fault: &Fault) -> String {
    match fault {
        Fault::Binding(BindingError::Mail(error)) => with_advice(error),
        other => chain(other),
    }
}

fn raised(py: Python<'_>, class: Class, message: &str) -> PyResult<PyErr> {
    let named = PyDict::new(py);
    for (field, value) in class.values {
        match value {
            Value::Number(number) => named.set_item(field, number)?,
            Value::Text(text) => named.set_item(field, text)?,
        }
    }
    let class = py.import("omr.errors")?.getattr(&*class.name)?;
    let exception = class.call((message,), Some(&named))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the class of a fault, or the system's error where that is the cause.
fn class(fault: Fault) -> Result<Class, std::io::Error> {
    let flat = match fault {
        // Another error reaches the caller.
        Fault::Binding(BindingError::Stopped) => return Ok(bare("OmrError")),
        Fault::Binding(error) => error.try_into()?,
        Fault::OtherParams(names) => Flat::both(Kind::OtherParams, names),
        Fault::Frame(error) => error.try_into()?,
        Fault::Clue(error) => error.try_into()?,
        Fault::Secret(error) => error.try_into()?,
        Fault::Key(error) => error.try_into()?,
        Fault::Digest(error) => error.try_into()?,
        Fault::Session(SessionError::Frame(error)) => error.try_into()?,
        Fault::Session(SessionError::Digest(error)) => error.try_into()?,
        Fault::Session(_) => Flat::bare(Kind::File),
        Fault::Params(_) => Flat::bare(Kind::Params),
        Fault::NoPassphrase | Fault::Protection(_) => Flat::bare(Kind::Passphrase),
        Fault::OtherAddress(ids) => Flat::both(Kind::File, ids),
        Fault::NoAddress | Fault::Periods(_) => Flat::bare(Kind::File),
        Fault::Store(error) => return store(error),
        Fault::Closed => return Ok(bare("BoardClosedError")),
        Fault::OtherBoard(ids) => Flat::both(Kind::Board, ids),
        Fault::OtherHistory(error) => return Ok(other_history(&error)),
        Fault::ClueKind(kinds) => Flat::both(Kind::Board, kinds),
        Fault::Local(LocalError::Plan(error)) => error.into(),
        Fault::Local(LocalError::PayloadBytes { bytes, .. }) => Flat::both(Kind::Board, bytes),
        Fault::Local(LocalError::BadClue { source, .. }) => source.try_into()?,
        Fault::Local(_) => Flat::bare(Kind::Board),
        Fault::Letter(_) | Fault::TooManyParts(_) => Flat::bare(Kind::Letter),
        Fault::Detector(error) => return detector(error),
        Fault::Plan(error) => error.into(),
        Fault::TwoKeys(_)
        | Fault::NoKey
        | Fault::NoInstant
        | Fault::NoRounds
        | Fault::OnlyScans
        | Fault::Cut(_) => Flat::bare(Kind::Detector),
        Fault::Rounds(error) => error.try_into()?,
        Fault::Passing(_) => Flat::bare(Kind::Unreachable),
        Fault::Worker(omr_worker::WorkerError::NoRight) => Flat::bare(Kind::Access),
        Fault::Worker(_) | Fault::ClientClosed => Flat::bare(Kind::Server),
        Fault::Decode(error) => error.into(),
        Fault::LoneAnswer(_) => Flat::bare(Kind::Decode),
        Fault::OtherDigest(ids) => Flat::both(Kind::Decode, ids),
        Fault::OtherSealing(sealings) => Flat::both(Kind::Decode, sealings),
        other => return pdq::class(other),
    };
    Ok(flat.into())
}

fn bare(name: &str) -> Class {
    Class {
        name: name.to_owned(),
        values: Vec::new(),
    }
}

fn both<E: Display, F: Display>(name: &str, values: Mismatch<E, F>) -> Class {
    Class {
        name: name.to_owned(),
        // A kind with the same values.
        values: Flat::both(Kind::Value, values).values,
    }
}

fn other_history(error: &OtherHistory) -> Class {
    let (seen, board) = (&error.seen, &error.board);
    let mut values = vec![
        ("expected", Value::Number(seen.length)),
        ("found", Value::Number(board.length)),
    ];
    let hashes = [("expected_hash", seen.hash), ("found_hash", board.hash)];
    for (name, hash) in hashes {
        values.extend(hash.map(|hash| (name, Value::Text(omr_protocol::hex(&hash)))));
    }
    values.extend(error.common.map(|length| ("common", Value::Number(length))));
    Class {
        name: "OtherHistoryError".to_owned(),
        values,
    }
}

fn store(error: StoreError) -> Result<Class, std::io::Error> {
    Ok(match error {
        StoreError::Io(error) => return Err(error),
        StoreError::Locked { .. } => bare("BoardBusyError"),
        _ => bare("BoardError"),
    })
}

fn detector(error: DetectorError) -> Result<Class, std::io::Error> {
    Ok(match error {
        DetectorError::Source(error) => match error.downcast::<StoreError>() {
            Ok(error) => return store(*error),
            Err(_) => bare("BoardError"),
        },
        DetectorError::ClueKind(kinds) => both("DetectorError", kinds),
        DetectorError::Plan(error) => Flat::from(error).into(),
        DetectorError::Rounds(error) => Flat::try_from(error)?.into(),
        _ => bare("DetectorError"),
    })
}

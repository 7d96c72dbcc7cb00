//! Turns faults into Python's exceptions: a class of `omr.errors` for each kind, with the figures as attributes.

mod mail;
mod pdq;

pub(crate) use mail::with_advice;

use crate::fault::Fault;
use omr_board::LocalError;
use omr_client::{DecodeError, SecretKeyError, WordsError};
use omr_detector::DetectorError;
use omr_errors::chain;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_protocol::rounds::RoundsError;
use omr_protocol::{ClueError, DetectionKeyError, DigestError, Mismatch, PlanError};
use omr_remote::{RemoteError, RemoteErrorKind};
use omr_store::StoreError;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// The value of an attribute of an exception.
#[derive(IntoPyObject)]
enum Field {
    Number(u64),
    Text(String),
}

/// A class of `omr.errors` and the fields of its exception.
type Class = (&'static str, Vec<(&'static str, Field)>);

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let message = text(&fault);
        let class = match fault {
            Fault::Io(error) => return error.into(),
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
            | Fault::BirthdayOfNew
            | Fault::Birthday(_)
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
        Fault::Mail(error) => with_advice(error),
        other => chain(other),
    }
}

fn raised(py: Python<'_>, class: Class, message: &str) -> PyResult<PyErr> {
    let (name, fields) = class;
    let named = PyDict::new(py);
    for (field, value) in fields {
        named.set_item(field, value)?;
    }
    let class = py.import("omr.errors")?.getattr(name)?;
    let exception = class.call((message,), Some(&named))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the class of a fault, or the system's error where that is the cause.
fn class(fault: Fault) -> Result<Class, std::io::Error> {
    Ok(match fault {
        Fault::OtherParams(names) => both("OtherParamsError", names),
        Fault::Frame(error) => return frame(error),
        Fault::Clue(error) => return clue(error),
        Fault::Secret(error) => return secret(error),
        Fault::Words(WordsError::Count(counts)) => both("WordsError", counts),
        Fault::Words(_) => bare("WordsError"),
        Fault::Key(error) => return key(error),
        Fault::Digest(error) => return digest(error),
        Fault::Session(error) => return session(error),
        Fault::Params(_) => bare("ParamsError"),
        Fault::Lock(omr_client::locked::LockError::Frame(error)) => return frame(error),
        Fault::Lock(_) | Fault::NoPassphrase | Fault::Protection(_) => bare("PassphraseError"),
        Fault::OtherAddress(ids) => both("FileError", ids),
        Fault::NoAddress | Fault::Periods(_) => bare("FileError"),
        Fault::Store(error) => return store(error),
        Fault::Closed => bare("BoardClosedError"),
        Fault::OtherBoard(ids) => both("BoardError", ids),
        Fault::OtherHistory(error) => other_history(&error),
        Fault::ClueKind(kinds) => both("BoardError", kinds),
        Fault::Local(LocalError::Plan(error)) => plan(&error),
        Fault::Local(LocalError::PayloadBytes { bytes, .. }) => both("BoardError", bytes),
        Fault::Local(LocalError::BadClue { source, .. }) => return clue(source),
        Fault::Local(_) => bare("BoardError"),
        Fault::Letter(_) | Fault::TooManyParts(_) => bare("LetterError"),
        Fault::Detector(error) => return detector(error),
        Fault::Plan(error) => plan(&error),
        Fault::TwoKeys(_)
        | Fault::NoKey
        | Fault::NoInstant
        | Fault::NoRounds
        | Fault::OnlyScans
        | Fault::Cut(_) => bare("DetectorError"),
        Fault::Rounds(error) => return rounds(error),
        Fault::Remote(error) => return remote(error),
        Fault::Mail(error) => return mail::class(error),
        Fault::InboxClosed => bare("InboxClosedError"),
        Fault::Fetching | Fault::Beside => bare("InboxBusyError"),
        Fault::Passing(_) => bare("UnreachableError"),
        Fault::Worker(omr_worker::WorkerError::NoRight) => bare("AccessError"),
        Fault::Worker(_) | Fault::ClientClosed => bare("ServerError"),
        Fault::Decode(error) => return Ok(decode(error)),
        Fault::LoneAnswer(_) => bare("DecodeError"),
        Fault::OtherDigest(ids) => both("DecodeError", ids),
        Fault::OtherSealing(sealings) => both("DecodeError", sealings),
        other => return pdq::class(other),
    })
}

fn bare(name: &'static str) -> Class {
    (name, Vec::new())
}

fn both<E: Display, F: Display>(name: &'static str, values: Mismatch<E, F>) -> Class {
    let expected = ("expected", Field::Text(values.expected.to_string()));
    let found = ("found", Field::Text(values.found.to_string()));
    (name, vec![expected, found])
}

fn other_history(error: &OtherHistory) -> Class {
    let (seen, board) = (&error.seen, &error.board);
    let mut fields = vec![
        ("expected", Field::Number(seen.length)),
        ("found", Field::Number(board.length)),
    ];
    let hashes = [("expected_hash", seen.hash), ("found_hash", board.hash)];
    for (name, hash) in hashes {
        fields.extend(hash.map(|hash| (name, Field::Text(omr_protocol::hex(&hash)))));
    }
    fields.extend(error.common.map(|length| ("common", Field::Number(length))));
    ("OtherHistoryError", fields)
}

fn frame(error: FrameError) -> Result<Class, std::io::Error> {
    Ok(match error {
        FrameError::Io(error) => return Err(error),
        FrameError::Params(names) => both("OtherParamsError", names),
        FrameError::Kind(kinds) => both("FileError", kinds),
        FrameError::UnknownKind(kinds) => both("FileError", kinds),
        FrameError::Truncated(bytes) => both("FileError", bytes),
        _ => bare("FileError"),
    })
}

fn clue(error: ClueError) -> Result<Class, std::io::Error> {
    match error {
        ClueError::Frame(error) => frame(error),
        ClueError::Length(bytes) => Ok(both("FileError", bytes)),
        ClueError::Signature | ClueError::Kind(_) => Ok(bare("BoardError")),
        _ => Ok(bare("FileError")),
    }
}

fn secret(error: SecretKeyError) -> Result<Class, std::io::Error> {
    match error {
        SecretKeyError::Frame(error) => frame(error),
        SecretKeyError::Length(bytes) => Ok(both("FileError", bytes)),
        _ => Ok(bare("FileError")),
    }
}

fn key(error: DetectionKeyError) -> Result<Class, std::io::Error> {
    match error {
        DetectionKeyError::Frame(error) => frame(error),
        DetectionKeyError::Params(_) => Ok(bare("ParamsError")),
        DetectionKeyError::Length(bytes) => Ok(both("FileError", bytes)),
        _ => Ok(bare("FileError")),
    }
}

fn digest(error: DigestError) -> Result<Class, std::io::Error> {
    match error {
        DigestError::Frame(error) => frame(error),
        DigestError::Scan(error) => rounds(error),
        DigestError::Params(_) => Ok(bare("ParamsError")),
        DigestError::Length(bytes) => Ok(both("FileError", bytes)),
        _ => Ok(bare("FileError")),
    }
}

fn rounds(error: RoundsError) -> Result<Class, std::io::Error> {
    Ok(match error {
        RoundsError::Frame(error) => return frame(error),
        RoundsError::Params(_) => bare("ParamsError"),
        RoundsError::Plan(error) => plan(&error),
        RoundsError::Length { of, .. } => both("FileError", of),
        RoundsError::OtherScan(subjects) => both("DetectorError", subjects),
        _ => bare("FileError"),
    })
}

fn session(error: SessionError) -> Result<Class, std::io::Error> {
    match error {
        SessionError::Frame(error) => frame(error),
        SessionError::Digest(error) => digest(error),
        _ => Ok(bare("FileError")),
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
        DetectorError::Plan(error) => plan(&error),
        DetectorError::Rounds(error) => return rounds(error),
        _ => bare("DetectorError"),
    })
}

fn remote(error: RemoteError) -> Result<Class, std::io::Error> {
    if let RemoteError::File(_, error) = error {
        return Err(error);
    }
    Ok(match error.kind() {
        RemoteErrorKind::Unreachable => bare("UnreachableError"),
        RemoteErrorKind::Access => bare("AccessError"),
        _ => bare("ServerError"),
    })
}

fn plan(error: &PlanError) -> Class {
    let found = |found: usize| vec![("found", Field::Number(found as u64))];
    match *error {
        PlanError::Bound(bound) => ("PlanError", found(bound)),
        PlanError::SetBound {
            limit, found: over, ..
        } => {
            let mut fields = found(over);
            fields.push(("expected", Field::Number(limit as u64)));
            ("PlanError", fields)
        }
        PlanError::Payload(bytes) => ("PlanError", found(bytes)),
        _ => bare("PlanError"),
    }
}

fn decode(error: DecodeError) -> Class {
    match error {
        DecodeError::Overflow {
            start,
            end,
            count,
            bound,
        } => {
            let fields = vec![
                ("start", Field::Number(start)),
                ("end", Field::Number(end)),
                ("count", Field::Number(count as u64)),
                ("bound", Field::Number(bound as u64)),
            ];
            ("DigestOverflowError", fields)
        }
        DecodeError::OtherKey(ids) => {
            let (expected, found) = (
                omr_protocol::hex(&ids.expected),
                omr_protocol::hex(&ids.found),
            );
            both("OtherKeyError", Mismatch::new(expected, found))
        }
        DecodeError::Clues(kinds) => both("DecodeError", kinds),
        DecodeError::Params(_) => bare("ParamsError"),
        _ => bare("DecodeError"),
    }
}

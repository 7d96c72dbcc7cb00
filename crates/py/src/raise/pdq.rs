//! The exceptions of errors of private queries.

use super::{Class, bare, both};
use crate::fault::Fault;
use omr_binding::{Flat, Value};
use omr_pdq::{AnswerError, KeyError, QueryFileError, ServerError, TableFileError};
use omr_table::{FileError, ImportError};

/// Returns the class of a fault, or the system's error where that is the cause.
pub(super) fn class(fault: Fault) -> Result<Class, std::io::Error> {
    Ok(match fault {
        Fault::PdqParams(_) => bare("ParamsError"),
        Fault::PdqPlan(_) | Fault::Query(_) => bare("QueryError"),
        Fault::PdqKey(KeyError::Frame(error)) => Flat::try_from(error)?.into(),
        Fault::QueryFile(QueryFileError::Frame(error)) => Flat::try_from(error)?.into(),
        Fault::QueryFile(QueryFileError::Schema(ids)) => both("QueryError", ids),
        Fault::Answer(AnswerError::Frame(error)) => Flat::try_from(error)?.into(),
        Fault::PdqServer(ServerError::Query(QueryFileError::Key(ids))) => {
            both("OtherKeyError", ids)
        }
        Fault::Rows(error) => rows(error),
        Fault::TableFile(TableFileError::Clear(FileError::Io(_, error)))
        | Fault::ClearTable(FileError::Io(_, error))
        | Fault::Import(ImportError::Io(error)) => return Err(error),
        Fault::TableFile(TableFileError::Frame(error)) => Flat::try_from(error)?.into(),
        Fault::PdqKey(_)
        | Fault::QueryFile(_)
        | Fault::Answer(_)
        | Fault::TableFile(_)
        | Fault::ClearTable(_) => bare("FileError"),
        Fault::Import(_)
        | Fault::Schema(_)
        | Fault::Arrow(_)
        | Fault::NoTable(_)
        | Fault::Output(_) => bare("TableError"),
        _ => bare("OmrError"),
    })
}

fn rows(error: omr_pdq::DecodeError) -> Class {
    match error {
        omr_pdq::DecodeError::Overflow { bound, found } => {
            let values = vec![
                ("count", Value::Number(found)),
                ("bound", Value::Number(bound as u64)),
            ];
            Class {
                name: "RowsOverflowError".to_owned(),
                values,
            }
        }
        omr_pdq::DecodeError::Key(ids) => both("OtherKeyError", ids),
        _ => bare("DecodeError"),
    }
}

//! The Python module `omr._omr`: identities, boards, detectors and digests as Python objects.
//!
//! It has no logic of its own. Long work runs on another thread than the caller's, without the interpreter's lock, see
//! `running`. Exceptions are classes of the Python module `omr.errors`, see `fault`.
#![deny(unsafe_code)]
// Each wheel of a release leaves out the part of the other wheel.
#![cfg_attr(
    not(all(feature = "core", feature = "pdq")),
    allow(dead_code, unused_imports)
)]

mod board;
mod buffer;
mod capsule;
mod client;
mod decoded;
mod detector;
mod digest;
mod fault;
mod files;
mod identity;
mod inbox;
mod message;
mod open;
mod pdq;
mod pickle;
mod post;
mod raise;
mod rounds;
mod running;
mod session;
mod sets;
mod words;
mod work;

#[cfg(feature = "core")]
#[pyo3::pymodule]
mod _omr {
    #[pymodule_export]
    use crate::board::Board;
    #[pymodule_export]
    use crate::client::{BoardInfo, Client};
    #[pymodule_export]
    use crate::decoded::{Decoded, Incomplete, LeftOut, Letter};
    #[pymodule_export]
    use crate::detector::Detector;
    #[pymodule_export]
    use crate::digest::Digest;
    #[pymodule_export]
    use crate::identity::{Identity, Retrieved};
    #[pymodule_export]
    use crate::inbox::{Canary, Inbox, InboxLetter, Kept, Taken, Waiting, Watch};
    #[pymodule_export]
    use crate::message::{Message, Messages};
    #[cfg(feature = "pdq")]
    #[pymodule_export]
    use crate::pdq::{EvaluationKey, Keys, Query, Rows, Schema, Server, Table};
    #[pymodule_export]
    use crate::rounds::{FetchAnswer, FetchQuery, Scan};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::sets::{ParameterSet, parameter_sets};
    #[pymodule_export]
    use crate::words::Words;
    #[pymodule_export]
    use crate::work::{Leases, Maker, Unit};
}

#[cfg(not(feature = "core"))]
#[pyo3::pymodule]
mod _omr {
    #[pymodule_export]
    use crate::pdq::{EvaluationKey, Keys, Query, Rows, Schema, Server, Table};
}

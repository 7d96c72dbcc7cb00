//! The Python module `omr._omr`: identities, boards, detectors and digests as Python objects.
//!
//! It has no logic of its own. What takes long runs beside the caller's thread without the interpreter's lock, see
//! `running`. Exceptions are classes of the Python module `omr.errors`, see `fault`.
#![forbid(unsafe_code)]

mod board;
mod client;
mod decoded;
mod detector;
mod digest;
mod fault;
mod files;
mod identity;
mod message;
mod open;
mod post;
mod raise;
mod running;
mod session;
mod sets;
mod source;

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
    use crate::message::{Message, Messages};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::sets::{ParameterSet, parameter_sets};
}

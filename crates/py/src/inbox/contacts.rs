//! Recipients.

use crate::buffer::Bytes;
use crate::fault::Fault;
use crate::running::Watch;
use omr_binding::OpenInbox;
use omr_mail::Address;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// A recipient.
#[derive(FromPyObject)]
pub(crate) enum To {
    /// The bytes of a file: an address, a short address or a `clue.key`.
    Bytes(Bytes),
    /// An address, a short address or the name of a contact, as text.
    Text(PyBackedStr),
}

impl To {
    /// Returns the address of the recipient.
    ///
    /// Errors: `Binding`.
    pub(super) fn found(&self, opened: &OpenInbox, watch: &Watch) -> Result<Address, Fault> {
        Ok(match self {
            Self::Bytes(bytes) => opened.recipient_in(bytes.to_vec(), watch)?,
            Self::Text(text) => opened.recipient(text, watch)?,
        })
    }
}

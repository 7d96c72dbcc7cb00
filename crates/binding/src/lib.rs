//! The common part of bindings for other languages: an open inbox, whose calls wait and can be stopped, and one kind for
//! each error.
#![forbid(unsafe_code)]

mod again;
mod canary;
mod contacts;
mod create;
mod error;
mod fetch;
mod flat;
mod letter;
mod network;
mod open;

pub use contacts::Outgoing;
pub use create::{Wanted, create, located, open, own_server, register};
pub use error::BindingError;
pub use fetch::Decoded;
pub use flat::{Flat, Kind, Value};
pub use letter::{Received, genuine_sender, is_forged, short_address};
pub use network::{Network, Watch};
pub use open::{OpenInbox, Turn};

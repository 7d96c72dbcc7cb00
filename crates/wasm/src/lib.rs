//! Recipients and senders in a browser: client, inbox and protocol for JavaScript. This crate has no logic of its own.
//!
//! Secrets are passed as arrays that are moved into the module and wiped, and returned in one copy that JavaScript
//! owns. docs/security/implementation.md describes copies and timing of JavaScript engines.
#![forbid(unsafe_code)]

mod address;
mod error;
mod identity;
mod inbox;
mod keys;
mod letter;

pub use address::{short_address, short_fingerprint};
pub use identity::{Found, Identity};
pub use inbox::{Form, Inbox, KeptRange, Listed, NextCall, Stored, Waiting};
pub use keys::{MadeKey, crc32c, write_in_chunks};
pub use letter::{Header, Message, Signer, Writer, sealing_tag};

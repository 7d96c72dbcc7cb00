//! A recipient and her senders in a browser: client, inbox and protocol for JavaScript. No logic of its own.
//!
//! Secrets come as arrays that are moved in and wiped, and leave in one copy that JavaScript owns; what engines do with
//! their own copies and with time is in docs/security/implementation.md.
#![forbid(unsafe_code)]

mod address;
mod error;
mod identity;
mod inbox;
mod keys;
mod letter;

pub use address::{short_address, short_fingerprint};
pub use identity::{Found, Identity};
pub use inbox::{Form, Inbox, KeptRange, Listed, NextCall, Stored};
pub use keys::{MadeKey, crc32c, write_in_chunks};
pub use letter::{Message, Writer, sealing_tag};

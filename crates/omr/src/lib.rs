//! Oblivious message retrieval: messages wait on a public board, encrypted, each with a *clue*. An untrusted *detector*
//! finds those of a recipient under encryption, without learning which they are, and makes a short *digest* that the
//! recipient alone can decode.
//!
//! This crate is the front door: programs depend on it alone. Each module is a crate of its own, and those are the only
//! promises; all other crates named `omr-` are internal.
//!
//! | Module | Feature | Contents |
//! |---|---|---|
//! | `client` | `client` (default) | senders and recipients: keys, clues, sealing, decoding |
//! | `detector` | `detector` (default) | the untrusted party, which cannot name a secret key |
//! | `protocol` | always | parameter sets, keys, clues, digests, and their files |
//! | `mail` | `mail` | identities, addresses and an inbox, for a wallet or a messenger |
//! | `remote` | `remote` | calls of a server, with retries |
//!
//! A whole retrieval:
//!
#![cfg_attr(all(feature = "client", feature = "detector"), doc = "```")]
#![cfg_attr(not(all(feature = "client", feature = "detector")), doc = "```ignore")]
#![doc = include_str!("../retrieval.rs")]
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "client")]
pub use omr_client as client;
#[cfg(feature = "detector")]
pub use omr_detector as detector;
#[cfg(feature = "mail")]
pub use omr_mail as mail;
pub use omr_protocol as protocol;
#[cfg(feature = "remote")]
pub use omr_remote as remote;

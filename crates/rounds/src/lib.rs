//! Retrieval in two rounds: the distances of all clues first, then a private fetch of payloads.
//!
//! 1. **[Scan](scan)**: clues are packed as for a digest, which gives an encrypted distance for each message. The
//!    ciphertexts of up to 32 blocks are switched to one mask, rounded and sent. The recipient decrypts them and finds
//!    which messages are pertinent; nothing can overflow.
//! 2. **[Fetch](fetch)**: the recipient asks for a fixed number of payloads with encrypted selections (batch PIR). The
//!    answer contains one payload for each of the fetch's buckets, whatever was asked for.
//!
//! Both parties are here; neither knows files, boards or the network. Nothing that a detector computes depends on what
//! is encrypted. The first round follows UnifOMR (ePrint 2026/910), with masks that several ciphertexts share; buckets
//! of a batch PIR are those of Angel, Chen, Laine and Setty (2018).
#![forbid(unsafe_code)]

mod error;
pub mod fetch;
pub mod scan;

pub use error::RoundsError;

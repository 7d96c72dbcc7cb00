//! The service's protocol: messages, clients and servers generated from `proto/omr/v1`.
//!
//! The protocol files describe each call and each field.
#![forbid(unsafe_code)]

mod address;
mod refusal;
mod work;

pub use address::{FINGERPRINT_BYTES, address_fingerprint};
pub use omr_protocol::order_batch_id;
pub use refusal::{post_refusal, with_post_refusal};
pub use work::{WORK_BITS_MAX, check_posting_work, posting_work};

/// Version 1 of the protocol.
pub mod v1 {
    tonic::include_proto!("omr.v1");
}

/// Descriptors of all protocol files, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Bytes of a chunk of a key, a digest or a backup.
pub const CHUNK_BYTES: usize = 1 << 20;
/// The largest message of the protocol that either side accepts.
pub const MESSAGE_BYTES: usize = 8 << 20;

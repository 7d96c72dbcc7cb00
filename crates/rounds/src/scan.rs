//! The first round: encrypted distances of all clues of a range, on few masks.
//!
//! Messages lie in *blocks* (512 in the published sets), blocks in *groups* as many as fill the larger ring (4), and
//! groups in *sections* (8 groups, 16,384 messages). [`omr_opening::pack`] makes one ciphertext of module LWE for each
//! coordinate of a block. The blocks of a group are interleaved: with step k, coefficient `k y + i` of the group belongs
//! to message y of its block i, under the secrets `u_l(X^k)`. One key switch for each section and coordinate gives one
//! mask, and one body for each group under a secret of its own. Both are rounded: a body to `body_bits`, the mask to
//! `mask_bits`.

mod key;
mod open;
mod share;
mod spec;

pub use key::{ScanKey, switch_key, switch_key_of};
pub use open::ScanSecret;
pub use share::{Packed, ScanPart, share};
pub use spec::{COORDINATES, Scan, ScanSpec};

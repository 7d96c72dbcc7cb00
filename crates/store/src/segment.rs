//! The rows of segments. A segment is an immutable object of consecutive messages, which only a server's store has.

use crate::error::{Evidence, StoreError};
use crate::format::{SEGMENTS, bad_row, index_key, index_of, numbers};
use crate::tables::View;
use omr_errors::{Mismatch, hex};

/// The folder of segments among the objects.
pub(crate) const SEGMENTS_PREFIX: &str = "segments";

/// A segment of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// The index of the segment's first message.
    pub first: u64,
    /// The number of messages in the segment.
    pub count: u64,
    /// The length of the object in bytes.
    pub bytes: u64,
    /// The BLAKE3 hash of the object without its last 32 bytes, which contain this hash.
    pub hash: [u8; 32],
    /// The time at which the segment was sealed, by the store's clock, after all of its messages were appended. `None`
    /// if a damaged row was made again from the object.
    pub sealed_at: Option<u64>,
}

impl Segment {
    /// Returns the name of the object.
    pub fn name(&self) -> String {
        format!(
            "{SEGMENTS_PREFIX}/{:020}-{}.seg",
            self.first,
            hex(&self.hash)
        )
    }

    /// Returns the index after the segment's last message.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// Encodes the value of the segment's row.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = crate::format::pack([self.count, self.bytes]);
        out.extend_from_slice(&self.hash);
        let time = self.sealed_at.map(u64::to_le_bytes);
        out.extend(time.into_iter().flatten());
        out
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        let bad = || bad_row("segments", key, Evidence::Bytes(56), value.len());
        let (sizes, rest) = value.split_at_checked(16).ok_or_else(bad)?;
        let [count, bytes] = numbers("segments", key, sizes)?;
        let (hash, time) = rest.split_first_chunk::<32>().ok_or_else(bad)?;
        let sealed_at = match time {
            [] => None,
            time => Some(u64::from_le_bytes(time.try_into().map_err(|_| bad())?)),
        };
        Ok(Self {
            first: index_of("segments", key)?,
            count,
            bytes,
            hash: *hash,
            sealed_at,
        })
    }

    /// Returns the error of a damaged segment.
    pub(crate) fn damaged(&self, evidence: Mismatch<Evidence>) -> StoreError {
        StoreError::Damaged {
            object: self.name(),
            first: self.first,
            end: self.end(),
            evidence,
        }
    }
}

/// Returns the segment that contains message `index`.
pub(crate) fn holding(view: &View, index: u64) -> Result<Segment, StoreError> {
    let missing = |found| {
        let evidence = Mismatch::new(Evidence::Present, found);
        StoreError::row("segments", &index_key(index), evidence)
    };
    let (key, row) = view
        .last_to(SEGMENTS, &index_key(index))?
        .ok_or_else(|| missing(Evidence::Missing))?;
    let segment = Segment::decode(&key, view.open(SEGMENTS, &key, &row)?)?;
    if index >= segment.end() {
        return Err(missing(Evidence::Number(segment.first)));
    }
    Ok(segment)
}

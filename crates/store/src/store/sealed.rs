//! Segments as objects: creation, tests, fetching and a cache.

use omr_errors::Mismatch;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::objects::Place;
use crate::error::{Evidence, StoreError};
use crate::format::{Layout, SEGMENTS, u32_at};
use crate::meta::lock;
use crate::segment::Segment;
use crate::tables::{List, View};

/// The version of segments that this build reads and writes.
pub const SEGMENT_VERSION: u32 = 1;
pub(crate) const MAGIC: [u8; 8] = *b"omr-seg\n";
pub(crate) const HEADER_BYTES: usize = 56;
pub(crate) const HASH_BYTES: usize = 32;
/// The greatest number of bytes of segments in memory. At least one segment stays.
const CACHE_BYTES: usize = 64 << 20;

/// Lists the segments of one moment, in order.
pub(crate) fn list(view: &View) -> Result<List<Segment>, StoreError> {
    view.list(SEGMENTS, Segment::decode)
}

/// Returns the segment of the messages from `first` on, and its bytes. `records` consists of whole records.
pub(crate) fn build(
    layout: &Layout,
    board_id: &[u8; 16],
    first: u64,
    records: &[u8],
) -> (Segment, Bytes) {
    let count = (records.len() / layout.record_bytes()) as u64;
    let mut out = Vec::with_capacity(HEADER_BYTES + records.len() + HASH_BYTES);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&SEGMENT_VERSION.to_le_bytes());
    out.extend_from_slice(board_id);
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&(layout.clue_bytes as u32).to_le_bytes());
    out.extend_from_slice(&(layout.payload_bytes as u32).to_le_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(records);
    let hash = *blake3::hash(&out).as_bytes();
    out.extend_from_slice(&hash);
    let segment = Segment {
        first,
        count,
        bytes: out.len() as u64,
        hash,
        sealed_at: None,
    };
    (segment, Bytes::from(out))
}

/// Tests the bytes of a segment against its row.
///
/// Errors: [`StoreError::Damaged`], [`StoreError::Version`].
pub(crate) fn check(
    layout: &Layout,
    board_id: &[u8; 16],
    segment: &Segment,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let Some((body, hash)) = bytes.split_last_chunk::<HASH_BYTES>() else {
        let found = Evidence::Bytes(bytes.len() as u64);
        return Err(segment.damaged(Mismatch::new(Evidence::Bytes(segment.bytes), found)));
    };
    let magic = body.first_chunk::<8>().copied().unwrap_or_default();
    let board = body.get(12..28).and_then(|bytes| bytes.try_into().ok());
    let sizes = sizes_word(layout.clue_bytes as u32, layout.payload_bytes as u32);
    let found_sizes = u32_at(body, 44)
        .zip(u32_at(body, 48))
        .map_or(0, |(clue, payload)| sizes_word(clue, payload));
    let sealed = *blake3::hash(body).as_bytes();
    let records = segment.count.saturating_mul(layout.record_bytes() as u64);
    let whole = records.saturating_add((HEADER_BYTES + HASH_BYTES) as u64);
    let bytes_found = Evidence::Bytes(bytes.len() as u64);
    let number = |at| Evidence::Number(u64_at(body, at).unwrap_or_default());
    for (expected, found) in [
        (Evidence::Bytes(segment.bytes), bytes_found.clone()),
        (Evidence::Magic(MAGIC), Evidence::Magic(magic)),
        (
            Evidence::Board(*board_id),
            Evidence::Board(board.unwrap_or_default()),
        ),
        (Evidence::Number(segment.first), number(28)),
        (Evidence::Number(segment.count), number(36)),
        (Evidence::hash(segment.hash), Evidence::hash(sealed)),
        (Evidence::hash(segment.hash), Evidence::hash(*hash)),
        // These tests come after that of the hash: with the right hash, the bytes were written this way.
        (Evidence::Number(sizes), Evidence::Number(found_sizes)),
        (Evidence::Bytes(whole), bytes_found),
    ] {
        if expected != found {
            return Err(segment.damaged(Mismatch::new(expected, found)));
        }
    }
    check_version(u32_at(body, 8).unwrap_or_default())
}

/// Returns the board in the first bytes of a segment, or `None` if they are not the beginning of a segment.
pub(crate) fn board_of(head: &[u8]) -> Option<[u8; 16]> {
    if head.first_chunk() != Some(&MAGIC) {
        return None;
    }
    head.get(12..28)?.try_into().ok()
}

/// Returns the segment that whole bytes of an object describe, after a test of the bytes.
///
/// Errors: [`StoreError::Damaged`], [`StoreError::Version`].
pub(crate) fn described(
    layout: &Layout,
    board_id: &[u8; 16],
    first: u64,
    bytes: &[u8],
) -> Result<Segment, StoreError> {
    let hash = bytes.last_chunk::<HASH_BYTES>().copied();
    let segment = Segment {
        first,
        count: u64_at(bytes, 36).unwrap_or_default(),
        bytes: bytes.len() as u64,
        hash: hash.unwrap_or_default(),
        sealed_at: None,
    };
    check(layout, board_id, &segment, bytes)?;
    Ok(segment)
}

fn check_version(found: u32) -> Result<(), StoreError> {
    if found != SEGMENT_VERSION {
        return Err(StoreError::version("a segment", SEGMENT_VERSION, found));
    }
    Ok(())
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// Combines both lengths into one number.
fn sizes_word(clue_bytes: u32, payload_bytes: u32) -> u64 {
    (u64::from(clue_bytes) << 32) | u64::from(payload_bytes)
}

/// Fetches a segment and tests it, including its header and hash.
pub(crate) fn fetch(
    place: &Place,
    layout: &Layout,
    board_id: &[u8; 16],
    segment: &Segment,
) -> Result<Bytes, StoreError> {
    let Some(bytes) = place.get(&segment.name())? else {
        return Err(segment.damaged(Mismatch::new(Evidence::Present, Evidence::Missing)));
    };
    check(layout, board_id, segment, &bytes)?;
    Ok(bytes)
}

/// Returns the records in the bytes of a tested segment.
pub(crate) fn records(bytes: &Bytes) -> Bytes {
    bytes.slice(HEADER_BYTES..bytes.len() - HASH_BYTES)
}

/// The records of a segment, once a reader has fetched them.
type Slot = Arc<Mutex<Option<Bytes>>>;

/// The segments that were read last.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The slots, most recent first.
    slots: Mutex<VecDeque<(Segment, Slot)>>,
}

impl Cache {
    /// Returns the records of `segment`, and calls `fetch` if they are not in memory. Other readers of the same segment
    /// wait meanwhile.
    pub(crate) fn get(
        &self,
        segment: &Segment,
        fetch: impl FnOnce() -> Result<Bytes, StoreError>,
    ) -> Result<Bytes, StoreError> {
        let slot = self.slot(segment);
        let mut held = lock(&slot);
        if let Some(records) = &*held {
            return Ok(records.clone());
        }
        let records = fetch()?;
        *held = Some(records.clone());
        Ok(records)
    }

    /// Returns the slot of `segment`, and makes it the most recent. The oldest slots are evicted.
    fn slot(&self, segment: &Segment) -> Slot {
        let mut slots = lock(&self.slots);
        let known = slots.iter().position(|(held, _)| held == segment);
        let entry = known
            .and_then(|at| slots.remove(at))
            .unwrap_or_else(|| (*segment, Slot::default()));
        let slot = entry.1.clone();
        slots.push_front(entry);
        let mut bytes = 0usize;
        let mut kept = 0;
        for (held, _) in slots.iter() {
            bytes = bytes.saturating_add(usize::try_from(held.bytes).unwrap_or(usize::MAX));
            if kept > 0 && bytes > CACHE_BYTES {
                break;
            }
            kept += 1;
        }
        slots.truncate(kept);
        slot
    }
}

//! The layout of a part, and its writing and parsing.

use super::envelope::unmarked;
use super::{FileHash, FragmentError, HASH_BYTES, MAX_PARTS, MessageId, varint};
use omr_protocol::Mismatch;

/// A parsed part, which borrows its contents.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Single(&'a [u8]),
    Multi(Multi<'a>),
}

/// A part of a file that has several.
#[derive(Debug)]
pub(super) struct Multi<'a> {
    pub(super) id: MessageId,
    pub(super) total: u32,
    pub(super) index: u32,
    pub(super) hash: FileHash,
    pub(super) content: &'a [u8],
}

/// The file that a part belongs to, and the part's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// The file.
    pub id: MessageId,
    /// Number of parts of the file.
    pub total: u32,
    /// The number of this part, below `total`.
    pub index: u32,
}

/// Returns the file and the number of a part; `None` for a file in one part.
///
/// Errors: those of a malformed part.
pub fn place(part: &[u8]) -> Result<Option<PartPlace>, FragmentError> {
    Ok(match parse(unmarked(part)?.1)? {
        Part::Single(_) => None,
        Part::Multi(Multi {
            id, total, index, ..
        }) => Some(PartPlace { id, total, index }),
    })
}

/// Returns the bytes of content of every part but the last, for a file in `total` parts; `None` if there is room for
/// none.
///
/// The header is counted with its longest numbers, so that all parts have equally many bytes of content.
pub(super) fn chunk(capacity: usize, total: u32) -> Option<usize> {
    let numbers = varint::len(head(capacity, false)) + 2 * varint::len(u64::from(total));
    let header = numbers + size_of::<MessageId>() + HASH_BYTES;
    capacity.checked_sub(header).filter(|chunk| *chunk > 0)
}

/// Returns whether a file of `len` bytes fits one part.
pub(super) fn fits_single(capacity: usize, len: usize) -> bool {
    varint::len(head(len, true))
        .checked_add(len)
        .is_some_and(|need| need <= capacity)
}

pub(super) fn write_single(content: &[u8], capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    varint::write(head(content.len(), true), &mut out);
    finish(out, content, capacity)
}

impl Multi<'_> {
    pub(super) fn write(&self, capacity: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(capacity);
        varint::write(head(self.content.len(), false), &mut out);
        out.extend_from_slice(&self.id);
        varint::write(u64::from(self.total), &mut out);
        varint::write(u64::from(self.index), &mut out);
        out.extend_from_slice(&self.hash);
        finish(out, self.content, capacity)
    }
}

/// Parses a part of any length.
///
/// Errors: `Truncated`, `Number`, `Total`, `Index`, `Length`, `Padding`.
pub(super) fn parse(part: &[u8]) -> Result<Part<'_>, FragmentError> {
    let mut rest = part;
    let head = varint::read(&mut rest, part.len())?;
    let len = head >> 1;
    if head & 1 == 1 {
        return Ok(Part::Single(content(rest, len, 0, rest.len())?));
    }

    let id = *take(&mut rest, part.len())?;
    let found = varint::read(&mut rest, part.len())?;
    let in_range = |total: &u32| (2..=MAX_PARTS).contains(total);
    let total = u32::try_from(found)
        .ok()
        .filter(in_range)
        .ok_or(FragmentError::Total(found))?;
    let found = varint::read(&mut rest, part.len())?;
    let below = |index: &u32| *index < total;
    let index = u32::try_from(found)
        .ok()
        .filter(below)
        .ok_or(FragmentError::Index(Mismatch::new(total, found)))?;
    let hash = *take(&mut rest, part.len())?;

    let most = chunk(part.len(), total).ok_or(FragmentError::Truncated(part.len()))?;
    let least = if index + 1 == total { 1 } else { most };
    let content = content(rest, len, least, most)?;
    Ok(Part::Multi(Multi {
        id,
        total,
        index,
        hash,
        content,
    }))
}

fn head(len: usize, single: bool) -> u64 {
    // Lengths of slices are below 2^63.
    (len as u64) << 1 | u64::from(single)
}

fn finish(mut out: Vec<u8>, content: &[u8], capacity: usize) -> Vec<u8> {
    out.extend_from_slice(content);
    out.resize(capacity, 0);
    out
}

fn take<'a, const N: usize>(
    rest: &mut &'a [u8],
    part_len: usize,
) -> Result<&'a [u8; N], FragmentError> {
    let (field, after) = rest
        .split_first_chunk()
        .ok_or(FragmentError::Truncated(part_len))?;
    *rest = after;
    Ok(field)
}

/// Returns the first `len` bytes of `rest`, if `len` is in `least..=most` and all bytes after them are zero.
fn content(rest: &[u8], len: u64, least: usize, most: usize) -> Result<&[u8], FragmentError> {
    let in_range = |len: &usize| (least..=most).contains(len);
    let split = usize::try_from(len).ok().filter(in_range);
    let Some((content, padding)) = split.and_then(|len| rest.split_at_checked(len)) else {
        return Err(FragmentError::Length {
            least: least as u64,
            most: most as u64,
            found: len,
        });
    };
    if padding.iter().any(|byte| *byte != 0) {
        return Err(FragmentError::Padding);
    }
    Ok(content)
}

//! Splitting a file into parts.

use rand_core::CryptoRng;

use super::part::{Multi, chunk, fits_single, write_single};
use super::{FragmentError, MAX_PARTS, MessageId, file_hash};

/// The numbers of parts and bytes in which a file is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of parts.
    pub parts: u32,
    /// Bytes of the file in each part but the last.
    pub bytes: usize,
}

/// Returns the shape in which [`split`] splits a file of `len` bytes.
///
/// Errors: `CapacityTooSmall`.
pub fn shape(len: u64, capacity: usize) -> Result<Shape, FragmentError> {
    let file = usize::try_from(len).unwrap_or(usize::MAX);
    if fits_single(capacity, file) {
        return Ok(Shape {
            parts: 1,
            bytes: file,
        });
    }
    let (parts, bytes) = plan(capacity, file).ok_or_else(|| too_small(capacity, file))?;
    Ok(Shape { parts, bytes })
}

/// Returns the largest number of bytes of a file in a part of `capacity` bytes, for files in two parts or more; 0 if
/// there is no room.
#[must_use]
pub fn most_in_part(capacity: usize) -> usize {
    chunk(capacity, 2).unwrap_or(0)
}

/// Splits a file into the fewest parts of exactly `capacity` bytes.
///
/// `capacity` is the payload's length less the sealing's overhead. The header of a file in one part has 1 to 3 bytes;
/// each part of a file in several has a header of 27 to 36 bytes.
///
/// Shape:  any number of bytes to one or more parts of `capacity` bytes, in order.
/// Errors: `CapacityTooSmall`.
pub fn split(
    bytes: &[u8],
    capacity: usize,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, FragmentError> {
    if fits_single(capacity, bytes.len()) {
        return Ok(vec![write_single(bytes, capacity)]);
    }
    let (total, chunk) =
        plan(capacity, bytes.len()).ok_or_else(|| too_small(capacity, bytes.len()))?;
    let mut id = MessageId::default();
    rng.fill_bytes(&mut id);
    let hash = file_hash(bytes);
    let parts = (0..total).zip(bytes.chunks(chunk));
    Ok(parts
        .map(|(index, content)| {
            Multi {
                id,
                total,
                index,
                hash,
                content,
            }
            .write(capacity)
        })
        .collect())
}

/// The largest numbers of parts that are written in 1, 2, 3 and 4 bytes.
const LAST_OF_WIDTH: [u32; 4] = [(1 << 7) - 1, (1 << 14) - 1, (1 << 21) - 1, MAX_PARTS];

/// Returns the least number of parts for `len` bytes, and the bytes in each but the last.
fn plan(capacity: usize, len: usize) -> Option<(u32, usize)> {
    for most in LAST_OF_WIDTH {
        let chunk = chunk(capacity, most)?;
        // The number is above the largest of the narrower width, because chunks only shrink, so it has this width and
        // is at least 2.
        if let Ok(total) = u32::try_from(len.div_ceil(chunk))
            && total <= most
        {
            return Some((total, chunk));
        }
    }
    None
}

/// Returns the largest length in bytes of a file that [`split`] splits into at most `parts` parts; 0 if no part has
/// room.
#[must_use]
pub fn most_bytes(parts: u32, capacity: usize) -> u64 {
    let fits = |len: &usize| fits_single(capacity, *len);
    let single = (0..=capacity).rev().find(fits).unwrap_or(0) as u64;
    // Fewer parts have more content each if their number takes fewer bytes.
    let ends = LAST_OF_WIDTH.into_iter().map(|last| last.min(parts));
    let many = ends.map(|parts| chunk(capacity, parts).unwrap_or(0) as u64 * u64::from(parts));
    match parts {
        0 => 0,
        1 => single,
        _ => many.max().unwrap_or(0).max(single),
    }
}

fn too_small(found: usize, file: usize) -> FragmentError {
    let enough = |capacity: &usize| fits_single(*capacity, file) || plan(*capacity, file).is_some();
    // The search ends: a part that contains the whole file is large enough.
    let least = (found..).find(enough).unwrap_or(usize::MAX);
    FragmentError::CapacityTooSmall { file, least, found }
}

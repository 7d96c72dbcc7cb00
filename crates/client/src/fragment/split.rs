//! Splitting a file into parts.

use rand_core::CryptoRng;

use super::part::{Multi, chunk, fits_single, write_single};
use super::{FragmentError, MAX_PARTS, MessageId, file_hash};

/// Splits a file into the fewest parts of exactly `capacity` bytes.
///
/// `capacity` is the payload's length less the sealing's overhead. A file in one part costs 1 to 3
/// bytes; one in many costs 27 to 36 bytes a part.
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
    let (total, chunk) = plan(capacity, bytes.len()).ok_or_else(|| too_small(capacity, bytes))?;
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

/// The fewest parts for `len` bytes, and the bytes in each but the last.
fn plan(capacity: usize, len: usize) -> Option<(u32, usize)> {
    let last_of_width = (1..=4).map(|width| ((1u32 << (7 * width)) - 1).min(MAX_PARTS));
    for most in last_of_width {
        let chunk = chunk(capacity, most)?;
        // Over the narrower width's most, as chunks only shrink: of this width, at least 2.
        let total = u32::try_from(len.div_ceil(chunk))
            .ok()
            .filter(|total| *total <= most);
        if let Some(total) = total {
            return Some((total, chunk));
        }
    }
    None
}

fn too_small(found: usize, bytes: &[u8]) -> FragmentError {
    let file = bytes.len();
    let enough = |capacity: &usize| fits_single(*capacity, file) || plan(*capacity, file).is_some();
    // Ends: a part that holds the whole file is enough.
    let least = (found..).find(enough).unwrap_or(usize::MAX);
    FragmentError::CapacityTooSmall { file, least, found }
}

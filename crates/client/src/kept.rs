//! The file in which a recipient keeps parts of an incomplete file.
//!
//! The file is a frame of kind 13 with the board's parameter set and the id of the recipient's address. Its body is
//!
//! ```text
//! board id (16)   file id (8)   LE32(count)   LE32(len)   count times: LE64(index on the board)   part (len)
//! ```
//!
//! in ascending order of indices. The parts are opened, so the file is as secret as the letter.

use crate::fragment::MessageId;
use omr_protocol::frame::{self, FrameError, FrameHeader, Kind};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Largest length in bytes of a body: far above that of the largest file that `omr` posts.
const MAX_BODY: u64 = 1 << 32;
const HEAD_BYTES: usize = 16 + 8 + 4 + 4;
const INDEX_BYTES: usize = 8;

/// Opened parts by their index on the board.
pub type Parts = BTreeMap<u64, Zeroizing<Vec<u8>>>;

/// The parts of one file that have arrived so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptParts {
    /// The board's parameter set.
    pub params: String,
    /// The id of the recipient's address.
    pub key_id: [u8; 16],
    /// The board.
    pub board_id: [u8; 16],
    /// The file.
    pub id: MessageId,
    /// The parts: at least one, all of one length.
    pub parts: Parts,
}

/// An error of writing or reading a file of parts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// The file is damaged or of another kind.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The body contradicts its own numbers.
    #[error("expected parts of one length in ascending order, found others")]
    Malformed,
}

impl KeptParts {
    /// Returns the file.
    ///
    /// Errors: `Malformed` if there are no parts or parts of several lengths; `Frame`.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, KeptError> {
        let len = self.parts.values().next().map_or(0, |part| part.len());
        let one_length = self.parts.values().all(|part| part.len() == len);
        let numbers = u32::try_from(self.parts.len())
            .ok()
            .zip(len.try_into().ok());
        let (count, width): (u32, u32) = numbers
            .filter(|_| len > 0 && one_length)
            .ok_or(KeptError::Malformed)?;
        let bytes = HEAD_BYTES + self.parts.len() * (INDEX_BYTES + len);
        let mut body = Zeroizing::new(Vec::with_capacity(bytes));
        body.extend(self.board_id);
        body.extend(self.id);
        body.extend(count.to_le_bytes());
        body.extend(width.to_le_bytes());
        for (index, part) in &self.parts {
            body.extend(index.to_le_bytes());
            body.extend_from_slice(part);
        }
        let header = FrameHeader::new(Kind::KeptParts, self.params.clone(), self.key_id);
        Ok(Zeroizing::new(frame::write_frame_vec(&header, &body)?))
    }

    /// Reads the file. It takes memory of twice its length.
    ///
    /// Errors: `Frame`, `Malformed`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeptError> {
        let (header, content) = frame::read_frame(bytes, Kind::KeptParts, MAX_BODY)?;
        let body = Zeroizing::new(content);
        let (board_id, id, parts) = parse(&body).ok_or(KeptError::Malformed)?;
        Ok(Self {
            params: header.params_id,
            key_id: header.key_id,
            board_id,
            id,
            parts,
        })
    }
}

/// Returns the board, the file and the parts in a body.
fn parse(body: &[u8]) -> Option<([u8; 16], MessageId, Parts)> {
    let (board_id, after_board) = body.split_first_chunk()?;
    let (id, after_id) = after_board.split_first_chunk()?;
    let (count_bytes, after_count) = after_id.split_first_chunk()?;
    let (width_bytes, records) = after_count.split_first_chunk()?;
    let count = u32::from_le_bytes(*count_bytes) as usize;
    let width = u32::from_le_bytes(*width_bytes) as usize;
    let each = width.checked_add(INDEX_BYTES)?;
    if count == 0 || width == 0 || records.len() != count.checked_mul(each)? {
        return None;
    }
    let mut parts = Parts::new();
    for record in records.chunks_exact(each) {
        let (index_bytes, part) = record.split_first_chunk()?;
        let index = u64::from_le_bytes(*index_bytes);
        let ascends = parts.last_key_value().is_none_or(|(last, _)| *last < index);
        if !ascends {
            return None;
        }
        parts.insert(index, Zeroizing::new(part.to_vec()));
    }
    Some((*board_id, *id, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptParts {
        let part = |byte| Zeroizing::new(vec![byte; 3]);
        KeptParts {
            params: "toy".into(),
            key_id: [1; 16],
            board_id: [2; 16],
            id: [3; 8],
            parts: [(5, part(7)), (300, part(8))].into(),
        }
    }

    #[test]
    fn the_bytes_are_frozen() {
        let mut body = vec![2; 16];
        body.extend([3; 8]);
        body.extend([2, 0, 0, 0, 3, 0, 0, 0]);
        body.extend([5, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7]);
        body.extend([44, 1, 0, 0, 0, 0, 0, 0, 8, 8, 8]);
        let bytes = kept().to_bytes().unwrap();
        // Magic, version, kind 13 and the name; the checksum follows the body.
        assert_eq!(bytes[..12], *b"OMRF\x01\0\x0d\0\x03toy");
        assert_eq!(bytes[12 + 16 + 16..][..body.len()], body);
        assert_eq!(KeptParts::from_bytes(&bytes).unwrap(), kept());
    }

    #[test]
    fn nothing_malformed_passes() {
        let good = kept().to_bytes().unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(KeptParts::from_bytes(&bad).is_err(), "bit {bit}");
        }
        let body = &good[44..good.len() - 32];
        assert!(parse(body).is_some());
        for len in 0..body.len() {
            assert!(parse(&body[..len]).is_none(), "{len} bytes");
        }
        // Wrong counts, wrong widths, and an index above the next one.
        for (at, byte) in [(24, 0), (24, 3), (27, 255), (28, 0), (31, 255), (33, 2)] {
            let mut bad = body.to_vec();
            bad[at] = byte;
            assert!(parse(&bad).is_none(), "{at}");
        }
        let uneven = |parts| KeptParts { parts, ..kept() };
        let one = Zeroizing::new(vec![1]);
        let mut two = kept().parts;
        two.insert(9, one);
        for bad in [uneven(Parts::new()), uneven(two)] {
            assert!(matches!(bad.to_bytes(), Err(KeptError::Malformed)));
        }
    }
}

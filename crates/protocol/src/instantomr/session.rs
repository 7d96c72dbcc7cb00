//! The file of a session: the sums that a detector has computed for one recipient so far.
//!
//! A frame of kind 7 with the key id of `instant.key`. Hashes are those of the board's log (`docs/wire.md`, section
//! 11); 32 zero bytes stand for an unknown one. Its body is
//!
//! ```text
//! bytes  field
//! 74     header of a digest: scheme, board, range, bound, payload bytes, sealing, seed; the range ends at the next
//!        message
//! 8      u64 number of digests that were cut off
//! 32     running hash of the log at the range's start, where the last of them ends
//! 32     running hash of the log at the range's end
//! 8      u64 h, bytes of the last digest that was cut off, at most 2^32
//! h      that digest
//!        for each group its sums: rows of n residues at the width of the first prime
//! 8      u64 most messages until a digest is cut off; absent without a limit
//! ```

use super::InstantPlan;
use crate::digest::FIXED_BYTES;
use crate::frame::{self, FrameError, FrameHeader, Kind, pack_bits, packed_len, unpack_bits};
use crate::instantomr::{InstantParams, Seen};
use crate::{ClueKind, DigestError, DigestHeader};
use omr_errors::Mismatch;
use omr_tfhe::PlainSums;
use std::ops::Range;

/// Largest digest that a session keeps, in bytes.
const MAX_SEALED_BYTES: u64 = 1 << 32;

/// A session that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The header is wrong.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The length of the file differs from what its header announces.
    #[error("expected a session of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// The session's clues are not of this kind, which the detection key accepts.
    #[error("expected a session of {0} clues, which the detection key takes, found one of others")]
    Clues(ClueKind),
    /// The session has more messages than it has room for.
    #[error("expected a session of at most {} messages, found {}", .0.expected, .0.found)]
    Room(Mismatch<u64>),
    /// A residue is not below the modulus.
    #[error("expected residues below {}, found {}", .0.expected, .0.found)]
    Residue(Mismatch<u64>),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A session as stored in a file.
pub struct SessionFile {
    /// The header, with the plan of the messages covered so far.
    pub header: DigestHeader<InstantPlan>,
    /// Number of digests that were cut off before.
    pub cuts: u64,
    /// The last digest that was cut off, so that a recipient who lost it can fetch it again.
    pub last_cut: Option<Vec<u8>>,
    /// The running hash of the log at the first message that the session covers, if it is known.
    pub start_hash: Option<[u8; 32]>,
    /// The running hash of the log at the next message, if it is known.
    pub log_hash: Option<[u8; 32]>,
    /// The sums of each group, in the evaluation domain.
    pub sums: Vec<PlainSums>,
    /// The largest number of messages that the session can cover until it is cut, if it is known.
    pub room: Option<u64>,
}

impl SessionFile {
    /// Returns the part of the log that the session covers.
    pub fn seen(&self) -> Seen {
        let range = self.header.plan.range();
        Seen::new(&range, self.start_hash, self.log_hash)
    }

    /// Writes the file.
    ///
    /// Errors: `Frame`.
    pub fn to_bytes(&self, params: &InstantParams) -> Result<Vec<u8>, SessionError> {
        let request = self.header.plan.request();
        let scheme = self.header.plan.scheme();
        let fingerprints = self.header.plan.has_fingerprints();
        let mut body = self.header.encode(scheme, fingerprints, request);
        let last = self.last_cut.as_deref().unwrap_or_default();
        body.extend(self.cuts.to_le_bytes());
        body.extend(self.start_hash.unwrap_or(UNKNOWN));
        body.extend(self.log_hash.unwrap_or(UNKNOWN));
        body.extend((last.len() as u64).to_le_bytes());
        body.extend(last);
        let bits = params.ring.modulus(0).bits();
        for row in self.sums.iter().flat_map(PlainSums::rows) {
            pack_bits(row, bits, &mut body);
        }
        body.extend(self.room.map(u64::to_le_bytes).into_iter().flatten());
        let header = FrameHeader::new(Kind::Session, params.name(), self.header.key_id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a session's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Digest` (its header),
    /// `Length`, `Room`, `Residue`.
    pub fn from_bytes(params: &InstantParams, bytes: &[u8]) -> Result<Self, SessionError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Session, 1 << 36)?;
        file.expect_params(params.name())?;
        let (scheme, clues, header) = DigestHeader::decode(file.key_id, &body)?;
        scheme.expect_instantomr()?;
        let plan = InstantPlan::new(params, header.plan.clone())
            .map_err(DigestError::from)?
            .for_clues(clues);
        let word = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("in range"));
        let layout = Layout::new(params, &plan, &body)?;
        let hash = |at: usize| {
            let bytes: [u8; 32] = body[at..at + 32].try_into().expect("in range");
            (bytes != UNKNOWN).then_some(bytes)
        };
        let room = layout.room.map(|at| checked_room(&plan, word(at)));
        let (last, rest) = body[FIXED..layout.rows.end].split_at(layout.rows.start - FIXED);
        let rows: Vec<Vec<u64>> = rest
            .chunks_exact(layout.row)
            .map(|bytes| read_row(params, bytes))
            .collect::<Result<_, _>>()?;
        let sums = rows
            .chunks(2 * plan.parts_of_group())
            .map(PlainSums::from_rows);
        Ok(Self {
            sums: sums.collect(),
            header: header.with_plan(plan),
            cuts: word(FIXED_BYTES),
            last_cut: (!last.is_empty()).then(|| last.to_vec()),
            start_hash: hash(FIXED_BYTES + 8),
            log_hash: hash(FIXED_BYTES + 40),
            room: room.transpose()?,
        })
    }
}

/// Length in bytes of everything before the last digest: the header, the number of digests, two hashes, and the length
/// of the last digest.
const FIXED: usize = FIXED_BYTES + 8 + 2 * 32 + 8;
/// The bytes of an unknown hash.
const UNKNOWN: [u8; 32] = [0; 32];

/// The positions of the parts of a body.
struct Layout {
    rows: Range<usize>,
    /// Bytes of a row.
    row: usize,
    room: Option<usize>,
}

impl Layout {
    /// Errors: `Length`.
    fn new(params: &InstantParams, plan: &InstantPlan, body: &[u8]) -> Result<Self, SessionError> {
        let found = body.len() as u64;
        let length = |expected| SessionError::Length(Mismatch::new(expected, found));
        let Some(last_length) = body.get(FIXED - 8..FIXED) else {
            return Err(length(FIXED as u64));
        };
        let last = u64::from_le_bytes(last_length.try_into().expect("eight bytes"));
        let row =
            packed_len(params.ring.n(), params.ring.modulus(0).bits()).expect("rows fit memory");
        let rows = 2 * plan.groups() * plan.parts_of_group();
        let start = FIXED as u64 + last.min(MAX_SEALED_BYTES);
        let end = start + rows as u64 * row as u64;
        let room = found == end + 8;
        if (found != end && !room) || last > MAX_SEALED_BYTES {
            return Err(length(end));
        }
        Ok(Self {
            rows: start as usize..end as usize,
            row,
            room: room.then_some(end as usize),
        })
    }
}

/// Errors: `Room`.
fn checked_room(plan: &InstantPlan, room: u64) -> Result<u64, SessionError> {
    let found = plan.range().end - plan.range().start;
    if found <= room {
        Ok(room)
    } else {
        Err(SessionError::Room(Mismatch::new(room, found)))
    }
}

fn read_row(params: &InstantParams, bytes: &[u8]) -> Result<Vec<u64>, SessionError> {
    let m = params.ring.modulus(0);
    let mut row = vec![0; params.ring.n()];
    unpack_bits(bytes, m.bits(), &mut row)?;
    let modulus = m.value();
    match row.iter().find(|&&x| x >= modulus) {
        Some(&found) => Err(SessionError::Residue(Mismatch::new(modulus, found))),
        None => Ok(row),
    }
}

//! Reading of the next messages of a session.

use super::{InstantDetector, Session};
use crate::error::check_len;
use crate::instantomr::pipeline::Chunk;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource};
use omr_protocol::clue::HashesOf;
use omr_protocol::instantomr::InstantPlan;
use omr_protocol::{ClueKind, DigestHeader};
use std::borrow::Cow;
use std::ops::Range;

/// Returns whether payloads are needed: for their sums, or because clues are bound to them and there are no stored
/// hashes.
fn needs_payloads(
    detector: &InstantDetector,
    header: &DigestHeader<InstantPlan>,
    kept: bool,
) -> bool {
    let hashed = detector.clues() == ClueKind::Bound && !kept;
    header.plan.payload_bytes().is_some() || hashed
}

impl Chunk<'static> {
    /// Reads the messages of a range.
    ///
    /// Errors: those of the source, `SourceLength`, `ClueKind`, `Full`.
    pub(super) fn read(
        session: &mut Session,
        source: &mut dyn MessageSource,
        range: Range<u64>,
    ) -> Result<Self, DetectorError> {
        let detector = &session.detector;
        let stages = &mut session.stages;
        let clue_bytes = source.clue_bytes().max(1);
        detector.check_board(clue_bytes)?;
        let clues = stages
            .time("read", || source.clues(range.clone()))
            .map_err(DetectorError::Source)?;
        let of = HashesOf::new(&detector.params.clue, &session.header.board_id);
        let kept = match detector.clues() {
            ClueKind::Plain => None,
            ClueKind::Bound => stages.time("read", || kept_hashes(source, of, range.clone()))?,
        };
        let payloads = if needs_payloads(detector, &session.header, kept.is_some()) {
            stages
                .time("read", || source.payloads(range.clone()))
                .map_err(DetectorError::Source)?
        } else {
            Vec::new()
        };
        let count = (range.end - range.start) as usize;
        check_len("clues", count * clue_bytes, clues.len())?;
        Self::new(
            session,
            range.start,
            &clues,
            clue_bytes,
            payloads.into(),
            kept.as_deref(),
        )
    }
}

impl<'a> Chunk<'a> {
    /// Makes a chunk of the messages from `first` on. Clues of `clue_bytes` bytes and payloads each follow one another.
    /// A session of indices does not read payloads if there are stored hashes.
    ///
    /// Errors: `SourceLength`, `Full`.
    pub(super) fn new(
        session: &mut Session,
        first: u64,
        bytes: &[u8],
        clue_bytes: usize,
        payloads: Cow<'a, [u8]>,
        kept: Option<&[[u8; 32]]>,
    ) -> Result<Self, DetectorError> {
        let count = bytes.len() / clue_bytes.max(1);
        check_len("clues", count * clue_bytes, bytes.len())?;
        let doubles = session.room.doubles(first, count)?;
        let header = &session.header;
        let detector = &session.detector;
        let from_payloads = if needs_payloads(detector, header, kept.is_some()) {
            let payload_bytes = header.plan.payload_bytes();
            BoundTo::new(
                &header.board_id,
                &header.seed,
                &payloads,
                count,
                payload_bytes,
            )?
        } else {
            BoundTo::new(&header.board_id, &header.seed, &[], 0, None)?
        };
        let to = match kept {
            Some(hashes) => BoundTo::kept(&header.board_id, &header.seed, hashes),
            None => from_payloads,
        };
        let clues = detector.read_clues(bytes, clue_bytes, &to, &mut session.stages);
        Ok(Self {
            first,
            clues,
            payloads,
            doubles,
        })
    }
}

//! The messages that a session takes next.

use super::{InstantDetector, Session};
use crate::error::check_len;
use crate::instantomr::line::Lot;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource};
use omr_protocol::clue::HashesOf;
use omr_protocol::instantomr::InstantPlan;
use omr_protocol::{ClueKind, DigestHeader};
use std::borrow::Cow;
use std::ops::Range;

/// Whether payloads are looked at: they are added up, or clues are bound to them and nobody kept their hashes.
fn needs_payloads(
    detector: &InstantDetector,
    header: &DigestHeader<InstantPlan>,
    kept: bool,
) -> bool {
    let hashed = detector.clues() == ClueKind::Bound && !kept;
    header.plan.payload_bytes().is_some() || hashed
}

impl Lot<'static> {
    /// Reads the messages of a range.
    ///
    /// Errors: the source's, `SourceLength`, `ClueKind`, `Full`.
    pub(super) fn read(
        session: &mut Session,
        source: &mut dyn MessageSource,
        range: Range<u64>,
    ) -> Result<Self, DetectorError> {
        let detector = &session.detector;
        let stages = &mut session.stages;
        let clue_bytes = source.clue_bytes().max(1);
        detector.check_board(clue_bytes)?;
        let clues = stages.time("read", || source.clues(range.clone()));
        let clues = clues.map_err(DetectorError::Source)?;
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
        let clues = (&clues[..], clue_bytes);
        Self::new(
            session,
            range.start,
            clues,
            payloads.into(),
            kept.as_deref(),
        )
    }
}

impl<'a> Lot<'a> {
    /// The messages from `first` on: clues of so many bytes and payloads, one after another. With hashes that were kept
    /// payloads of a session of indices are not looked at.
    ///
    /// Errors: `SourceLength`, `Full`.
    pub(super) fn new(
        session: &mut Session,
        first: u64,
        (clues, clue_bytes): (&[u8], usize),
        payloads: Cow<'a, [u8]>,
        kept: Option<&[[u8; 32]]>,
    ) -> Result<Self, DetectorError> {
        let count = clues.len() / clue_bytes.max(1);
        check_len("clues", count * clue_bytes, clues.len())?;
        let doubles = session.room.doubles(first, count)?;
        let at = (&session.header.board_id, &session.header.seed);
        let bytes = session.header.plan.payload_bytes();
        let detector = &session.detector;
        let to = if needs_payloads(detector, &session.header, kept.is_some()) {
            BoundTo::new(at, &payloads, count, bytes)?
        } else {
            BoundTo::new(at, &[], 0, None)?
        };
        let to = kept.map_or(to, |hashes| BoundTo::kept(at, hashes));
        let clues = detector.read_clues(clues, clue_bytes, &to, &mut session.stages);
        Ok(Self {
            first,
            clues,
            payloads,
            doubles,
        })
    }
}

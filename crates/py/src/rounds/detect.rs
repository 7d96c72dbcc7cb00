//! The detector's part of two rounds.

use super::{FetchAnswer, FetchQuery, Scan};
use crate::board::Board;
use crate::fault::Fault;
use crate::running::Watch;
use omr_detector::rounds::{PreparedPage, RoundsDetector, ScanRequest, scan};
use omr_detector::{MessageSource, Progress, Stages, placement_seed};
use omr_protocol::rounds::RoundsHeader;
use omr_protocol::{ParamSet, SEED_BYTES};
use std::ops::Range;
use std::sync::Arc;

/// A key for two rounds in memory, with its parameter set.
#[derive(Clone)]
pub(crate) struct Rounds {
    /// The parameter set.
    pub(crate) set: Arc<ParamSet>,
    /// The key.
    pub(crate) detector: Arc<RoundsDetector>,
}

impl Rounds {
    /// Scans messages of a board.
    ///
    /// Errors: `Closed`, `Local`, `Detector`, `Stopped`.
    pub(crate) fn scan(
        &self,
        board: &Board,
        range: Range<u64>,
        watch: &Watch,
    ) -> Result<Scan, Fault> {
        let mut source = board.source()?;
        let request = ScanRequest {
            range: range.clone(),
            payload_bytes: board.place.payload_bytes,
            board_id: board.place.board_id,
            sealing: board.place.sealing,
            secret: placement_seed(),
        };
        let mut outputs = scan(&[&self.detector], &mut source, &request, watch)?;
        Scan::new(&self.set, outputs.remove(0), source.lost(range))
    }

    /// Answers a query for messages that are on a board.
    ///
    /// Errors: `Closed`, `Local`, `Rounds`, `Detector`, `Stopped`.
    pub(crate) fn fetch(
        &self,
        board: &Board,
        query: &FetchQuery,
        watch: &Watch,
    ) -> Result<FetchAnswer, Fault> {
        let (key, header) = (self.detector.key(), &query.header);
        let subject = RoundsHeader {
            key_id: key.id,
            board_id: board.place.board_id,
            payload_bytes: board.place.payload_bytes,
            sealing: board.place.sealing,
            clues: key.clues,
            ..header.clone()
        };
        subject.expect(header)?;
        let first = board.inner()?.first();
        let (mut source, mut stages) = (board.source()?, Stages::default());
        let plan = header.plan(self.detector.params())?;
        watch.stage("prepare", plan.rows() as u64);
        let mut pages = Vec::with_capacity(plan.rows());
        for (page, seed) in plan.pages().zip(&header.seeds) {
            watch.check()?;
            let whole = plan.messages_of(page);
            let messages = whole.start.max(first)..whole.end;
            let prepare = || self.prepared(header, messages, seed, &mut source);
            pages.push(stages.time("prepare", prepare)?);
            watch.advance(1);
        }
        let pages: Vec<&PreparedPage> = pages.iter().collect();
        watch.stage("fetch", 1);
        let answer = stages.time("fetch", || self.detector.answer(&pages, &query.bytes))?;
        watch.advance(1);
        FetchAnswer::new(&self.set, answer, stages)
    }

    /// Prepares the messages of a page of a query's range.
    ///
    /// Errors: `Detector`.
    fn prepared(
        &self,
        header: &RoundsHeader,
        messages: Range<u64>,
        seed: &[u8; SEED_BYTES],
        source: &mut dyn MessageSource,
    ) -> Result<PreparedPage, Fault> {
        let prepared = PreparedPage::new(
            self.detector.params(),
            source,
            messages,
            header.board_id,
            header.payload_bytes,
            header.clues,
            *seed,
        );
        Ok(prepared?)
    }
}

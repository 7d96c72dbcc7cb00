//! Scans and fetches that are run and timed.

use super::super::costs::RoundsCosts;
use super::cpu;
use crate::measure::BenchError;
use crate::measure::rounds::{BOARD, prepared};
use chacha20::ChaCha20Rng;
use omr_client::SecretKey;
use omr_client::rounds::{RoundsRecipient, write_key};
use omr_detector::rounds::{
    PreparedPage, RoundsDetector, ScanOutput, ScanRequest, answer_together, scan,
};
use omr_detector::{Messages, Quiet};
use omr_protocol::rounds::{RoundsHeader, RoundsParams};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ParamSet, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use std::ops::Range;
use std::sync::Arc;

const SECRET: [u8; SEED_BYTES] = [1; SEED_BYTES];
/// The number of runs of each measurement; the least counts.
const RUNS: usize = 3;

/// Keys for two rounds as files, and their recipients.
pub(super) struct RealRounds {
    params: Arc<RoundsParams>,
    /// The number of messages of a batch.
    batch: u64,
    payload_bytes: usize,
    keys: Vec<Vec<u8>>,
    recipients: Vec<RoundsRecipient>,
    rng: ChaCha20Rng,
}

impl RealRounds {
    /// Errors: `Params` if the set lacks an engine.
    pub(super) fn new(set: &ParamSet, payload_bytes: usize) -> Result<Self, BenchError> {
        Ok(Self {
            params: set.rounds()?.clone(),
            batch: set.sophomr()?.slots() as u64,
            payload_bytes,
            keys: Vec::new(),
            recipients: Vec::new(),
            rng: ChaCha20Rng::seed_from_u64(0),
        })
    }

    /// Makes the key of a recipient, with the masks that all recipients share.
    ///
    /// Errors: those of the key's file.
    pub(super) fn add(
        &mut self,
        secret: &SecretKey,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), BenchError> {
        let epoch = Epoch {
            board: BOARD,
            number: 0,
        };
        let mut file = Vec::new();
        write_key(&self.params, secret, Some(&epoch), rng, &mut file)?;
        self.keys.push(file);
        self.recipients
            .push(RoundsRecipient::new(&self.params, secret));
        Ok(())
    }

    /// Measures both rounds over one batch. `memory_bytes` are those of a run of scans.
    ///
    /// Errors: those of all steps.
    pub(super) fn costs(
        &mut self,
        board: &mut Messages,
        memory_bytes: u64,
    ) -> Result<RoundsCosts, BenchError> {
        let together = self.keys.len();
        let all = 0..together;
        let messages = 0..self.batch;
        let (detectors, load_s) = cpu(|| self.load(all.clone()))?;
        let (_, scan_s) = least(|| self.scans(&detectors[..1], board, messages.clone()))?;
        let (scans, scans_s) = least(|| self.scans(&detectors, board, messages.clone()))?;
        let queries = self.queries(all, &scans)?;
        let (pages, pages_s) = cpu(|| self.pages(board, &scans[0].scanned.header))?;
        let (_, fetch_s) = least(|| self.answers(&detectors[..1], &pages, &queries[..1]))?;
        let (answers, fetches_s) = least(|| self.answers(&detectors, &pages, &queries))?;
        let further = (together - 1) as f64;
        let spec = self.params.fetch.spec();
        let header = &scans[0].scanned.header;
        let page = PreparedPage::bytes_of(&self.params, header.payload_bytes, header.clues)?;
        Ok(RoundsCosts {
            scan_core_s: scan_s,
            further_scan_core_s: (scans_s - scan_s) / further,
            fetch_core_s: fetch_s,
            further_fetch_core_s: (fetches_s - fetch_s) / further,
            page_core_s: pages_s / pages.len() as f64,
            load_core_s: load_s / together as f64,
            page_messages: spec.page as u64,
            block_messages: self.params.scan.block() as u64,
            key_bytes: self.keys[0].len() as u64,
            scan_bytes: scans[0].scanned.to_bytes(&self.params)?.len() as u64,
            query_bytes: queries[0].len() as u64,
            answer_bytes: answers[0].len() as u64,
            page_bytes: page as u64,
            memory_bytes,
        })
    }

    /// Runs both rounds for groups of recipients, first all scans, with pages that are prepared once. Returns the core
    /// seconds of the detector.
    ///
    /// Errors: those of all steps.
    pub(super) fn queue(
        &mut self,
        board: &mut Messages,
        messages: Range<u64>,
        groups: &[Range<usize>],
    ) -> Result<f64, BenchError> {
        let mut real_s = 0.0;
        let (mut asked, mut header) = (Vec::new(), None);
        for group in groups {
            let (scans, seconds) = cpu(|| {
                let detectors = self.load(group.clone())?;
                self.scans(&detectors, board, messages.clone())
            })?;
            real_s += seconds;
            asked.push(self.queries(group.clone(), &scans)?);
            header = scans.into_iter().next().map(|scan| scan.scanned.header);
        }
        let Some(header) = header else {
            return Ok(real_s);
        };
        let (pages, seconds) = cpu(|| self.pages(board, &header))?;
        real_s += seconds;
        for (group, queries) in groups.iter().zip(&asked) {
            let (_, seconds) = cpu(|| {
                let detectors = self.load(group.clone())?;
                self.answers(&detectors, &pages, queries)
            })?;
            real_s += seconds;
        }
        Ok(real_s)
    }

    fn load(&self, recipients: Range<usize>) -> Result<Vec<RoundsDetector>, BenchError> {
        let load = |file: &Vec<u8>| Ok(RoundsDetector::load(&self.params, &file[..])?);
        self.keys[recipients].iter().map(load).collect()
    }

    fn scans(
        &self,
        detectors: &[RoundsDetector],
        board: &mut Messages,
        range: Range<u64>,
    ) -> Result<Vec<ScanOutput>, BenchError> {
        let request = ScanRequest {
            range,
            payload_bytes: self.payload_bytes,
            board_id: BOARD,
            sealing: Sealing::None,
            secret: SECRET,
        };
        let detectors: Vec<&RoundsDetector> = detectors.iter().collect();
        Ok(scan(&detectors, board, &request, &Quiet)?)
    }

    /// Returns a query of each recipient, for random messages: all queries cost the same.
    fn queries(
        &mut self,
        recipients: Range<usize>,
        scans: &[ScanOutput],
    ) -> Result<Vec<Vec<u8>>, BenchError> {
        let mut queries = Vec::new();
        for (recipient, output) in self.recipients[recipients].iter().zip(scans) {
            let asked = recipient.ask(&output.scanned.header, &[], &mut self.rng)?;
            queries.push(asked.query);
        }
        Ok(queries)
    }

    /// Prepares the pages of a scan's messages.
    fn pages(
        &self,
        board: &mut Messages,
        header: &RoundsHeader,
    ) -> Result<Vec<PreparedPage>, BenchError> {
        let plan = header.plan(&self.params)?;
        prepared(&self.params, &plan, header.clues, board, &SECRET)
    }

    /// Returns the files of answers.
    fn answers(
        &self,
        detectors: &[RoundsDetector],
        pages: &[PreparedPage],
        queries: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, BenchError> {
        let detectors: Vec<&RoundsDetector> = detectors.iter().collect();
        let pages: Vec<&PreparedPage> = pages.iter().collect();
        let queries: Vec<&[u8]> = queries.iter().map(Vec::as_slice).collect();
        let answers = answer_together(&detectors, &pages, &queries);
        answers
            .into_iter()
            .map(|answer| Ok(answer?.to_bytes(&self.params)?))
            .collect()
    }
}

/// Returns the last result and the least core seconds of several runs of `work`.
fn least<T>(mut work: impl FnMut() -> Result<T, BenchError>) -> Result<(T, f64), BenchError> {
    let (mut done, mut seconds) = cpu(&mut work)?;
    for _ in 1..RUNS {
        let (again, again_s) = cpu(&mut work)?;
        (done, seconds) = (again, seconds.min(again_s));
    }
    Ok((done, seconds))
}

//! Retrieval in two rounds of a synthetic board, beside a digest of SophOMR of the same board.

use crate::measure::digest::{BenchError, clue_ms, stages_without_reading, timed};
use crate::measure::{DigestBench, Setting, Subject, Workload, failure_log2};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_client::identity;
use omr_client::letter::{Place, Reader};
use omr_client::periods::PeriodSecrets;
use omr_client::rounds::{RoundsRecipient, key, write_key};
use omr_client::{Retrieved, SecretKey};
use omr_console::peak_rss_bytes;
use omr_detector::rounds::{
    PreparedPage, RoundsDetector, ScanOutput, ScanRequest, answer_together, scan,
};
use omr_detector::{DetectorError, MessageSource, Messages, Progress};
use omr_protocol::rounds::{RoundsParams, RoundsPlan, Scanned, page_seeds};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, SEED_BYTES, Sealing};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The board.
pub(super) const BOARD: [u8; 16] = [0; 16];

/// Both rounds for several recipients of a board, and a lone digest of SophOMR.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct RoundsBench {
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub setting: Setting,
    /// Pertinent messages of each recipient
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub pertinent: usize,
    /// Recipients of the board, served together
    #[arg(long, value_name = "R", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub recipients: u16,
    /// Leave out the digest of SophOMR
    #[arg(long)]
    pub no_digest: bool,
}

/// The results of a run. Seconds of a detector run from clues and payloads in memory.
#[derive(Clone, Debug, Serialize)]
pub struct RoundsFigures {
    /// The board.
    #[serde(flatten)]
    pub subject: Subject,
    /// The row operations in use.
    pub kernels: &'static str,
    /// The number of recipients.
    pub recipients: usize,
    /// Seconds of a digest of SophOMR of the same board, for one recipient.
    pub digest_s: Option<f64>,
    /// Seconds of a scan for one recipient.
    pub scan_s: f64,
    /// Seconds of each stage of `scan_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// Seconds that each further recipient adds to a scan.
    pub scan_further_s: Option<f64>,
    /// Seconds of an answer to a query.
    pub answer_s: f64,
    /// Seconds that each further recipient's query adds to a run of answers.
    pub answer_further_s: Option<f64>,
    /// Seconds of both rounds for one recipient.
    pub rounds_s: f64,
    /// The ratio of `rounds_s` to `digest_s`.
    pub share: Option<f64>,
    /// The ratio of both rounds of a further recipient to `digest_s`.
    pub further_share: Option<f64>,
    /// Seconds of a scan of the newest block, with its payloads.
    pub newest_s: f64,
    /// Seconds of preparing all payloads, once for all recipients.
    pub prepare_s: f64,
    /// The least milliseconds of preparing a page.
    pub prepare_page_ms: f64,
    /// Bytes of the prepared payloads.
    pub prepared_bytes: usize,
    /// Seconds of making a key.
    pub keygen_s: f64,
    /// Milliseconds of making a clue.
    pub clue_ms: f64,
    /// Bytes of a clue.
    pub clue_bytes: usize,
    /// Bytes of the address file.
    pub clue_key_bytes: usize,
    /// Bytes of the key's file.
    pub key_bytes: usize,
    /// Bytes of the scan's file.
    pub scan_bytes: usize,
    /// Bytes of the query's file.
    pub query_bytes: usize,
    /// Bytes of the answer's file.
    pub answer_bytes: usize,
    /// Milliseconds of a recipient from the scan's bytes to indices.
    pub find_ms: f64,
    /// Milliseconds of a recipient from indices to the query's bytes.
    pub ask_ms: f64,
    /// Milliseconds of a recipient from the answer's bytes to payloads.
    pub read_ms: f64,
    /// Milliseconds of a recipient for opening every place of an answer with the permanent sealing key and those of two
    /// periods.
    pub open_ms: f64,
    /// The number of pertinent messages that were not found, of all recipients.
    pub missed: usize,
    /// The number of other messages that were found, of all recipients.
    pub false_positives: usize,
    /// The number of payloads that came back bit for bit, of all recipients and fetches.
    pub exact: usize,
    /// The largest number of queries that a recipient made.
    pub fetches: usize,
    /// Root mean square of the distances of an answer's coefficients from symbols; 0.5 is wrong.
    pub rms_rounding: f64,
    /// The largest of these distances.
    pub worst_rounding: f64,
    /// log2 of the chance that an answer has a wrong coefficient, extrapolated from `rms_rounding`; absent if the rounding
    /// of bodies accounts for all of it.
    pub failure_log2: Option<f64>,
    /// The peak memory of the process, in bytes.
    pub peak_rss_bytes: u64,
}

impl RoundsFigures {
    /// Returns the number of messages that should have come back.
    #[must_use]
    pub fn expected(&self, pertinent: usize) -> usize {
        self.recipients * pertinent
    }
}

/// A recipient, and a detector with the recipient's key.
pub(super) struct Person {
    pub(super) secret: SecretKey,
    pub(super) address: ClueKey,
    pub(super) detector: RoundsDetector,
    pub(super) recipient: RoundsRecipient,
}

/// The messages and figures of a recipient.
#[derive(Default)]
pub(super) struct Got {
    pub(super) messages: Vec<Retrieved>,
    /// The number of payloads that did not match their checksum, over all fetches.
    pub(super) unreadable: usize,
    pub(super) fetches: usize,
    find_ms: f64,
    ask_ms: f64,
    read_ms: f64,
    pub(super) answer_s: f64,
    /// The first query.
    query: Vec<u8>,
    answer_bytes: usize,
    pub(super) roundings: Vec<f64>,
}

impl RoundsBench {
    /// Runs the benchmark.
    ///
    /// Errors: those of all steps.
    pub fn run(&self, progress: &dyn Progress) -> Result<RoundsFigures, BenchError> {
        let set = self.setting.set()?;
        let params = set.rounds()?.clone();
        let mut rng = ChaCha20Rng::seed_from_u64(self.setting.start.seed);
        let digest = self.digest();
        let clues = digest.kind();
        let mut people = Vec::new();
        for _ in 0..self.recipients {
            people.push(Person::new(&params, clues, &mut rng));
        }
        let mut file = Vec::new();
        let secret = &people[0].secret;
        let (made, keygen_s) = timed(|| write_key(&params, secret, None, &mut rng, &mut file));
        made?;
        let digest_s = if self.no_digest {
            None
        } else {
            Some(digest.run(progress)?.cost.digest_s)
        };
        let keys = people.iter().map(|person| person.address.clone());
        let mut board = digest.board(&params.clue, keys.collect());
        let mut secret = [0; SEED_BYTES];
        rng.fill_bytes(&mut secret);
        let all = 0..self.setting.messages;
        let request = self.request(all.clone(), secret);
        let detectors: Vec<&RoundsDetector> = people.iter().map(|one| &one.detector).collect();
        let alone = scan(&detectors[..1], &mut board, &request, progress)?.remove(0);
        let stages = stages_without_reading(&alone.stages);
        let scan_s: f64 = stages.values().sum();
        let outputs = scan(&detectors, &mut board, &request, progress)?;
        let scan_further_s = (self.recipients > 1).then(|| {
            let together: f64 = runs(&outputs).iter().sum();
            (together - scan_s) / f64::from(self.recipients - 1)
        });
        let newest_s = self.newest(&detectors, &mut board, secret, &params, progress)?;
        let bytes = self.setting.shape.payload_bytes;
        let (mut pages, mut prepare_s, mut prepare_page_ms) = (Vec::new(), 0.0, f64::INFINITY);
        let plan = RoundsPlan::new(&params, all.clone(), bytes, clues)?;
        for (page, seed) in plan.pages().zip(page_seeds(&secret, &plan)) {
            let range = plan.messages_of(page);
            let mut messages = in_memory(&mut board, range.clone())?;
            let (page, seconds) = timed(|| {
                PreparedPage::new(&params, &mut messages, range, BOARD, bytes, clues, seed)
            });
            pages.push(page?);
            prepare_s += seconds;
            prepare_page_ms = prepare_page_ms.min(1e3 * seconds);
        }
        let mut figures = RoundsFigures {
            subject: Subject::new(params.name(), &self.setting, self.pertinent),
            kernels: params.scan.ring().kernels().name(),
            recipients: people.len(),
            digest_s,
            scan_s,
            stages,
            scan_further_s,
            answer_s: f64::INFINITY,
            answer_further_s: None,
            rounds_s: 0.0,
            share: None,
            further_share: None,
            newest_s,
            prepare_s,
            prepare_page_ms,
            prepared_bytes: pages.len() * PreparedPage::bytes_of(&params, bytes, clues)?,
            keygen_s,
            clue_ms: clue_ms(&params.clue, &people[0].address, self.setting.start.seed),
            clue_bytes: MessageSource::clue_bytes(&board),
            clue_key_bytes: people[0].address.to_bytes(&params.clue)?.len(),
            key_bytes: file.len(),
            scan_bytes: outputs[0].scanned.to_bytes(&params)?.len(),
            query_bytes: 0,
            answer_bytes: 0,
            find_ms: f64::INFINITY,
            ask_ms: f64::INFINITY,
            read_ms: f64::INFINITY,
            open_ms: people[0].open_ms(&params, bytes, &mut rng),
            missed: 0,
            false_positives: 0,
            exact: 0,
            fetches: 0,
            rms_rounding: 0.0,
            worst_rounding: 0.0,
            failure_log2: None,
            peak_rss_bytes: 0,
        };
        let (mut roundings, mut queries, mut answers) = (Vec::new(), Vec::new(), 0);
        for (number, (person, output)) in people.iter().zip(&outputs).enumerate() {
            let scanned = &output.scanned;
            let got = person.retrieve(&params, scanned, &pages, &mut rng)?;
            let own = board.pertinent_to(number);
            let is_own = |message: &&Retrieved| own.contains(&message.index);
            let found = got.messages.iter().filter(is_own).count();
            figures.missed += own.len() - found;
            figures.false_positives += got.messages.len() - found;
            let exact = got.messages.iter().filter(is_own).filter(|message| {
                message.payload.as_deref() == Some(&board.payload(message.index)[..])
            });
            figures.exact += exact.count();
            answers += got.fetches;
            figures.fetches = figures.fetches.max(got.fetches);
            figures.answer_s = figures.answer_s.min(got.answer_s);
            figures.find_ms = figures.find_ms.min(got.find_ms);
            figures.ask_ms = figures.ask_ms.min(got.ask_ms);
            figures.read_ms = figures.read_ms.min(got.read_ms);
            figures.query_bytes = got.query.len();
            figures.answer_bytes = got.answer_bytes;
            roundings.extend(got.roundings);
            queries.push(got.query);
        }
        if self.recipients > 1 {
            let together = together_s(&detectors, &pages, &queries)?;
            let further = (together - figures.answer_s) / f64::from(self.recipients - 1);
            figures.answer_further_s = Some(further);
        }
        figures.rounds_s = scan_s + figures.answer_s;
        figures.share = digest_s.map(|digest| figures.rounds_s / digest);
        figures.further_share = digest_s
            .zip(scan_further_s.zip(figures.answer_further_s))
            .map(|(digest, (scan, answer))| (scan + answer) / digest);
        let squares: f64 = roundings.iter().map(|x| x * x).sum();
        figures.rms_rounding = (squares / roundings.len() as f64).sqrt();
        figures.worst_rounding = roundings.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let coefficients = roundings.len() as f64 / answers as f64;
        let bits = params.fetch.body_bits(plan.rows());
        let step = params.fetch.p().value() as f64 / f64::from(bits).exp2();
        figures.failure_log2 =
            failure_log2(figures.rms_rounding, step).map(|one| one + coefficients.log2());
        figures.peak_rss_bytes = peak_rss_bytes();
        Ok(figures)
    }

    /// Returns the lone digest of SophOMR.
    fn digest(&self) -> DigestBench {
        DigestBench {
            pertinent: self.pertinent,
            ..DigestBench::new(self.setting.clone())
        }
    }

    fn request(&self, range: Range<u64>, secret: [u8; SEED_BYTES]) -> ScanRequest {
        ScanRequest {
            range,
            payload_bytes: self.setting.shape.payload_bytes,
            board_id: BOARD,
            sealing: Sealing::None,
            secret,
        }
    }

    /// Returns the least seconds of five scans of the newest block for one recipient.
    fn newest(
        &self,
        detectors: &[&RoundsDetector],
        board: &mut Workload,
        secret: [u8; SEED_BYTES],
        params: &RoundsParams,
        progress: &dyn Progress,
    ) -> Result<f64, BenchError> {
        let end = self.setting.messages;
        let start = (end - 1) / params.scan.block() as u64 * params.scan.block() as u64;
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let request = self.request(start..end, secret);
            let output = scan(&detectors[..1], board, &request, progress)?.remove(0);
            let seconds: f64 = stages_without_reading(&output.stages).values().sum();
            least = least.min(seconds);
        }
        Ok(least)
    }
}

/// Prepares all pages of a range for answers to queries.
///
/// Errors: those of the source and of the plan.
pub(super) fn prepared(
    params: &Arc<RoundsParams>,
    plan: &RoundsPlan,
    clues: ClueKind,
    source: &mut dyn MessageSource,
    secret: &[u8; SEED_BYTES],
) -> Result<Vec<PreparedPage>, BenchError> {
    let bytes = plan.code().payload_bytes();
    let mut pages = Vec::new();
    for (page, seed) in plan.pages().zip(page_seeds(secret, plan)) {
        let range = plan.messages_of(page);
        let made = PreparedPage::new(params, source, range, BOARD, bytes, clues, seed);
        pages.push(made?);
    }
    Ok(pages)
}

/// Returns messages of a board, made beforehand.
pub(super) fn in_memory(board: &mut Workload, range: Range<u64>) -> Result<Messages, BenchError> {
    let clues = board.clues(range.clone()).map_err(DetectorError::Source)?;
    let payloads = board
        .payloads(range.clone())
        .map_err(DetectorError::Source)?;
    let hashes = board.hashes(range.clone()).map_err(DetectorError::Source)?;
    let messages = Messages::new(range, clues, payloads)?;
    Ok(match hashes {
        Some(kept) => messages.with_hashes(kept)?,
        None => messages,
    })
}

/// Returns the seconds of each run of a scan. All outputs of a run have its seconds.
fn runs(outputs: &[ScanOutput]) -> Vec<f64> {
    let together = omr_detector::sophomr::TOGETHER;
    let first = outputs.iter().step_by(together);
    first
        .map(|output| stages_without_reading(&output.stages).values().sum())
        .collect()
}

/// Returns the least seconds of three runs that answer all queries.
fn together_s(
    detectors: &[&RoundsDetector],
    pages: &[PreparedPage],
    queries: &[Vec<u8>],
) -> Result<f64, BenchError> {
    let pages: Vec<&PreparedPage> = pages.iter().collect();
    let queries: Vec<&[u8]> = queries.iter().map(Vec::as_slice).collect();
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let (answers, seconds) = timed(|| answer_together(detectors, &pages, &queries));
        answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        least = least.min(seconds);
    }
    Ok(least)
}

impl Person {
    pub(super) fn new(params: &Arc<RoundsParams>, clues: ClueKind, rng: &mut ChaCha20Rng) -> Self {
        let epoch = Epoch {
            board: BOARD,
            number: 0,
        };
        let (secret, address) = identity(&params.clue, clues, rng);
        let made = key(params, &secret, Some(&epoch), rng);
        Self {
            recipient: RoundsRecipient::new(params, &secret),
            detector: RoundsDetector::new(params.clone(), made),
            secret,
            address,
        }
    }

    /// Returns the least milliseconds of five openings of all places of an answer.
    fn open_ms(&self, params: &RoundsParams, payload_bytes: usize, rng: &mut ChaCha20Rng) -> f64 {
        let place = Place {
            board_id: BOARD,
            params: params.name().to_owned(),
            sealing: Sealing::HpkeX25519,
            payload_bytes,
        };
        let periods = PeriodSecrets::generate(0, rng);
        let reader = Reader::new(&params.clue, &self.secret, &place).with_periods(&periods, 1);
        let places = params.fetch.spec().buckets;
        let opened = (0..5).map(|_| timed(|| reader.pad(places)).1);
        1e3 * opened.fold(f64::INFINITY, f64::min)
    }

    /// Reads a scan and fetches until nothing waits.
    pub(super) fn retrieve(
        &self,
        params: &RoundsParams,
        scanned: &Scanned,
        pages: &[PreparedPage],
        rng: &mut ChaCha20Rng,
    ) -> Result<Got, BenchError> {
        let bytes = scanned.to_bytes(params)?;
        let (found, find_s) = timed(|| -> Result<_, BenchError> {
            let read = Scanned::from_bytes(params, &bytes)?;
            Ok((self.recipient.indices(&read)?, read.header))
        });
        let (mut waiting, header) = found?;
        let pages: Vec<&PreparedPage> = pages.iter().collect();
        let mut got = Got {
            find_ms: 1e3 * find_s,
            ask_ms: f64::INFINITY,
            read_ms: f64::INFINITY,
            answer_s: f64::INFINITY,
            ..Got::default()
        };
        loop {
            let (asked, ask_s) = timed(|| self.recipient.ask(&header, &waiting, rng));
            let asked = asked?;
            let (answer, answer_s) = timed(|| self.detector.answer(&pages, &asked.query));
            let answer = answer?;
            let file = answer.to_bytes(params)?;
            let (fetched, read_s) = timed(|| self.recipient.fetched(&asked, &file));
            let fetched = fetched?;
            let roundings = self.recipient.roundings(&asked, &file);
            got.ask_ms = got.ask_ms.min(1e3 * ask_s);
            got.read_ms = got.read_ms.min(1e3 * read_s);
            got.answer_s = got.answer_s.min(answer_s);
            if got.query.is_empty() {
                got.query = asked.query;
            }
            got.answer_bytes = file.len();
            got.fetches += 1;
            got.roundings.extend(roundings?);
            got.unreadable += fetched.unreadable.len();
            let before = waiting.len();
            waiting.retain(|index| fetched.messages.iter().all(|one| one.index != *index));
            got.messages.extend(fetched.messages);
            if waiting.is_empty() || waiting.len() == before {
                return Ok(got);
            }
        }
    }
}

//! InstantOMR on synthetic messages: a digest of a range, and one message alone or several in flight.

use crate::measure::cpu::process_seconds;
use crate::measure::digest::{
    Score, clue_ms, kind, root_mean_square, stages_without_reading, timed,
};
use crate::measure::{BenchError, DigestFigures, Workload, yardstick_us};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::{InstantRecipient, detection_key};
use omr_client::{SecretKey, identity};
use omr_console::peak_rss_bytes;
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, MessageSource, Progress};
use omr_protocol::instantomr::{Encoding, InstantDigest, InstantKey, InstantParams, InstantPlan};
use omr_protocol::{ClueKey, DigestHeader, Request, SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// One run of keygen, digest and decode on synthetic messages.
#[derive(Clone)]
pub struct InstantBench {
    /// Payloads, or indices only.
    pub payloads: bool,
    /// How they stand in the sums.
    pub encoding: Encoding,
    /// The parameter set.
    pub params: Arc<InstantParams>,
    /// Bits of security of the set.
    pub security_bits: f64,
    /// Messages on the board.
    pub messages: u64,
    /// How many are pertinent.
    pub pertinent: usize,
    /// The bound asked for.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Everything random follows from it.
    pub seed: u64,
    /// Whether to time the yardstick just before and just after the digest.
    pub yardstick: bool,
    /// Whether clues are bound to their payloads.
    pub bound_clues: bool,
}

/// A recipient, her detector, and a board.
pub(crate) struct Bed {
    pub(crate) secret: SecretKey,
    pub(crate) clue: ClueKey,
    pub(crate) detector: Arc<InstantDetector>,
    pub(crate) board: Workload,
    key_bytes: u64,
    keygen_s: f64,
}

impl InstantBench {
    /// Makes keys and the board.
    pub(crate) fn bed(&self) -> Result<Bed, BenchError> {
        let params = &self.params;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let (keys, keygen_s) = timed(|| {
            let (secret, clue) = identity(&params.clue, kind(self.bound_clues), &mut rng);
            let key = detection_key(params, &secret, &mut rng)?;
            Ok::<_, BenchError>((secret, clue, key))
        });
        let (secret, clue, key) = keys?;
        let mut board = Workload::new(
            params.clue.clone(),
            clue.clone(),
            self.messages,
            self.pertinent,
            self.payload_bytes,
            self.seed,
        );
        if self.bound_clues {
            board = board.bound_to([0; 16]);
        }
        Ok(Bed {
            key_bytes: InstantKey::file_bytes_of(params, key.clues()),
            secret,
            clue,
            detector: Arc::new(InstantDetector::new(params.clone(), key)),
            board,
            keygen_s,
        })
    }

    /// An empty session at message 0.
    pub(crate) fn session(&self, bed: &Bed) -> Result<Session, BenchError> {
        let request = Request {
            range: 0..0,
            bound: self.bound,
            payload_bytes: self.payloads.then_some(self.payload_bytes),
        };
        let mut seed = [0; SEED_BYTES];
        ChaCha20Rng::seed_from_u64(self.seed ^ 1).fill_bytes(&mut seed);
        let header = DigestHeader {
            key_id: bed.detector.key_id(),
            board_id: [0; 16],
            sealing: Sealing::None,
            plan: InstantPlan::new(&self.params, self.encoding, request)?,
            seed,
        };
        Ok(Session::new(bed.detector.clone(), header))
    }

    /// Runs it.
    ///
    /// Errors: any step's.
    pub fn run(&self, progress: &dyn Progress) -> Result<DigestFigures, BenchError> {
        let params = &self.params;
        let mut bed = self.bed()?;
        let clue_ms = clue_ms(&params.clue, &bed.clue, self.seed);
        let mut session = self.session(&bed)?;
        let before = self.yardstick.then(yardstick_us).flatten();
        let cpu = process_seconds();
        let nothing = |_: &Session| Ok::<(), DetectorError>(());
        session.advance(&mut bed.board, self.messages, progress, nothing)?;
        let (digest, packing) = timed(|| session.digest());
        let seconds = session.stages.total() + packing;
        let cpu_share = (process_seconds() - cpu) / seconds;
        let after = self.yardstick.then(yardstick_us).flatten();
        let bytes = digest.to_bytes(params)?;
        let recipient = InstantRecipient::new(params, &bed.secret);
        let (decoded, decode_s) = timed(|| -> Result<_, BenchError> {
            Ok(recipient.decode(&InstantDigest::from_bytes(params, &bytes)?)?)
        });
        let score = Score::new(&bed.board, 0, &decoded?);
        let mut stages = stages_without_reading(&session.stages);
        stages.insert("packing", packing);
        let digest_s = stages.values().sum();
        let yardstick_us = before.zip(after).map(|(a, b)| (a + b) / 2.0);
        let roundings = recipient.roundings(&digest)?;
        Ok(DigestFigures {
            scheme: Scheme::instantomr(self.encoding, self.payloads),
            params: params.name(),
            security_bits: self.security_bits,
            messages: self.messages,
            pertinent: self.pertinent,
            bound: self.bound,
            payload_bytes: self.payload_bytes,
            threads: rayon::current_num_threads(),
            kernels: params.ring.kernels().name(),
            seed: self.seed,
            keygen_s: bed.keygen_s,
            digest_s,
            cpu_share,
            stages,
            decode_ms: decode_s * 1e3,
            clue_ms,
            detection_key_bytes: bed.key_bytes,
            clue_key_bytes: bed.clue.to_bytes(&params.clue)?.len(),
            bound_clues: self.bound_clues,
            clue_bytes: MessageSource::clue_bytes(&bed.board),
            digest_bytes: bytes.len(),
            peak_rss_bytes: peak_rss_bytes(),
            found: score.found,
            missed: self.pertinent - score.found,
            false_positives: score.false_positives,
            payloads_exact: score.exact,
            worst_rounding: roundings.iter().copied().map(f64::abs).fold(0.0, f64::max),
            rms_rounding: root_mean_square(&roundings),
            yardstick_us,
            digest_ntts: yardstick_us.map(|us| digest_s * 1e6 / us),
        })
    }
}

/// Messages through a whole session: verdicts and sums.
pub struct InstantUnits {
    kernels: &'static str,
    session: Session,
    clue_bytes: usize,
    payload_bytes: usize,
    clues: Vec<u8>,
    payloads: Vec<u8>,
}

impl InstantUnits {
    /// Fresh keys from `seed`, and `messages` messages, every other one pertinent as far as the bound
    /// of 50 goes, with payloads of 612 bytes.
    ///
    /// Errors: a step's.
    pub fn new(params: &Arc<InstantParams>, messages: u64, seed: u64) -> Result<Self, BenchError> {
        let bench = InstantBench {
            payloads: true,
            encoding: Encoding::Powers,
            params: params.clone(),
            security_bits: 0.0,
            messages,
            pertinent: (messages as usize / 2).min(50),
            bound: 50,
            payload_bytes: 612,
            seed,
            yardstick: false,
            bound_clues: true,
        };
        let mut bed = bench.bed()?;
        let read = |error| BenchError::Detector(DetectorError::Source(error));
        Ok(Self {
            kernels: params.ring.kernels().name(),
            session: bench.session(&bed)?,
            clue_bytes: bed.board.clue_bytes(),
            payload_bytes: bench.payload_bytes,
            clues: bed.board.clues(0..messages).map_err(read)?,
            payloads: bed.board.payloads(0..messages).map_err(read)?,
        })
    }

    /// The row operations in use.
    pub fn kernels(&self) -> &'static str {
        self.kernels
    }

    /// Detects and encodes the first `count` messages together.
    ///
    /// Errors: fewer messages than that.
    pub fn push(&mut self, count: usize) -> Result<(), BenchError> {
        let clues = self.clues.get(..count * self.clue_bytes).unwrap_or(&[]);
        let payloads = &self.payloads[..clues.len() / self.clue_bytes * self.payload_bytes];
        Ok(self.session.push(clues, self.clue_bytes, payloads)?)
    }
}

//! An InstantOMR recipient with a detector and a board, and messages that pass through a session.

use crate::measure::cpu::process_seconds;
use crate::measure::digest::timed;
use crate::measure::median::median_of_runs;
use crate::measure::{BenchError, DigestBench, Setting, Shape, Start, Workload};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::detection_key;
use omr_client::{SecretKey, identity};
use omr_detector::engine::{Loaded, Task};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, MessageSource, Progress, Stages};
use omr_protocol::instantomr::{InstantDigest, InstantKey, InstantParams, InstantPlan};
use omr_protocol::{ClueKey, DigestHeader, Request, Response, SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// A recipient with a detector and a board.
pub(crate) struct Fixture {
    setting: Setting,
    params: Arc<InstantParams>,
    pub(crate) secret: SecretKey,
    pub(crate) clue: ClueKey,
    pub(crate) detector: Arc<InstantDetector>,
    pub(crate) board: Workload,
    pub(crate) key_bytes: u64,
    pub(crate) keygen_s: f64,
}

impl Fixture {
    /// Generates keys and the board.
    pub(crate) fn new(
        bench: &DigestBench,
        params: &Arc<InstantParams>,
    ) -> Result<Self, BenchError> {
        let setting = bench.setting.clone();
        let mut rng = ChaCha20Rng::seed_from_u64(setting.start.seed);
        let (keys, keygen_s) = timed(|| {
            let (secret, clue) = identity(&params.clue, bench.kind(), &mut rng);
            let key = detection_key(params, &secret, &mut rng)?;
            Ok::<_, BenchError>((secret, clue, key))
        });
        let (secret, clue, key) = keys?;
        Ok(Self {
            key_bytes: InstantKey::file_bytes_of(params, key.clues()),
            board: bench.board(&params.clue, vec![clue.clone()]),
            secret,
            clue,
            detector: Arc::new(InstantDetector::new(params.clone(), key)),
            keygen_s,
            params: params.clone(),
            setting,
        })
    }

    /// Returns an empty session at message 0 with room for all messages.
    pub(crate) fn session(&self) -> Result<Session, BenchError> {
        Ok(Session::new(self.detector.clone(), self.header()?))
    }

    fn header(&self) -> Result<DigestHeader<InstantPlan>, BenchError> {
        Ok(DigestHeader {
            key_id: self.detector.key_id(),
            board_id: [0; 16],
            sealing: Sealing::None,
            plan: InstantPlan::new(&self.params, self.request(0))?,
            seed: self.seed(),
        })
    }

    /// Returns one digest of the whole board, whose length is known, with its stages.
    pub(crate) fn digest(
        &mut self,
        progress: &dyn Progress,
    ) -> Result<(InstantDigest, Stages), BenchError> {
        let (request, seed) = (self.request(self.setting.messages), self.seed());
        let task = Task {
            source: &mut self.board,
            request,
            board_id: [0; 16],
            sealing: Sealing::None,
            seed,
        };
        let detector = self.detector.clone();
        let answer = detector.answer(task, progress)?;
        let Response::Instantomr(digest) = answer.response else {
            unreachable!("InstantOMR's own digests");
        };
        Ok((digest, answer.stages))
    }

    fn request(&self, messages: u64) -> Request {
        let (bound, payload) = (self.setting.shape.bound, self.setting.payload());
        Request::new(0..messages, bound, payload)
    }

    fn seed(&self) -> [u8; SEED_BYTES] {
        let mut seed = [0; SEED_BYTES];
        ChaCha20Rng::seed_from_u64(self.setting.start.seed ^ 1).fill_bytes(&mut seed);
        seed
    }
}

/// Messages that pass through sessions: detection and sums.
pub struct InstantUnits {
    kernels: &'static str,
    detector: Arc<InstantDetector>,
    header: DigestHeader<InstantPlan>,
    room: Option<u64>,
    session: Session,
    clue_bytes: usize,
    payload_bytes: usize,
    clues: Vec<u8>,
    payloads: Vec<u8>,
}

impl InstantUnits {
    /// Generates keys from `seed`, and `messages` messages with payloads of 612 bytes. Every other message is
    /// pertinent, up to the bound of 50. Sessions have room for `room` messages, if given.
    ///
    /// Errors: those of all steps.
    pub fn new(
        params: &Arc<InstantParams>,
        messages: u64,
        room: Option<u64>,
        seed: u64,
    ) -> Result<Self, BenchError> {
        let shape = Shape::default();
        let bench = DigestBench {
            pertinent: (messages as usize / 2).min(shape.bound),
            ..DigestBench::new(Setting {
                scheme: Scheme::Instantomr,
                messages,
                start: Start {
                    seed,
                    ..Start::default()
                },
                ..Setting::default()
            })
        };
        let mut fixture = Fixture::new(&bench, params)?;
        let read = |error| BenchError::Detector(DetectorError::Source(error));
        let (detector, header) = (fixture.detector.clone(), fixture.header()?);
        Ok(Self {
            kernels: params.ring.kernels().name(),
            session: begun(&detector, &header, room),
            detector,
            header,
            room,
            clue_bytes: fixture.board.clue_bytes(),
            payload_bytes: shape.payload_bytes,
            clues: fixture.board.clues(0..messages).map_err(read)?,
            payloads: fixture.board.payloads(0..messages).map_err(read)?,
        })
    }

    /// Returns the name of the row operations in use.
    pub fn kernels(&self) -> &'static str {
        self.kernels
    }

    /// Detects and encodes the first `count` messages together, in a new session if the last one is full.
    ///
    /// Errors: there are fewer messages, or less room.
    pub fn push(&mut self, count: usize) -> Result<(), BenchError> {
        if self.session.end() < self.session.next() + count as u64 {
            self.session = begun(&self.detector, &self.header, self.room);
        }
        let clues = self.clues.get(..count * self.clue_bytes).unwrap_or(&[]);
        let payloads = &self.payloads[..clues.len() / self.clue_bytes * self.payload_bytes];
        Ok(self.session.push(clues, self.clue_bytes, payloads)?)
    }

    /// Returns the core seconds of a message of several in flight: the median of five runs with `count` messages.
    ///
    /// Errors: those of [`InstantUnits::push`].
    pub(crate) fn message_core_s(&mut self, count: usize) -> Result<f64, BenchError> {
        let pushed = median_of_runs(5, || {
            let before = process_seconds();
            self.push(count).map(|()| process_seconds() - before)
        });
        Ok(pushed? / count as f64)
    }
}

fn begun(
    detector: &Arc<InstantDetector>,
    header: &DigestHeader<InstantPlan>,
    room: Option<u64>,
) -> Session {
    let (detector, header) = (detector.clone(), header.clone());
    match room {
        Some(room) => Session::with_room(detector, header, room),
        None => Session::new(detector, header),
    }
}

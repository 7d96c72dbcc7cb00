//! InstantOMR's messages on a card, 256 at a time.

use crate::measure::digest::{BenchError, DigestBench, timed};
use crate::measure::{Setting, Start, median};
use chacha20::ChaCha20Rng;
use omr_client::{identity, instantomr::detection_key};
use omr_cuda::{Machine, MessageEngine, MessageRing, checks};
use omr_detector::instantomr::{AwayEngine, InstantDetector, Session};
use omr_detector::{DetectorError, MessageSource, Messages, Quiet};
use omr_protocol::instantomr::{InstantKey, InstantParams, InstantPlan};
use omr_protocol::{DigestHeader, Request, SEED_BYTES, Scheme, Sealing};
use rand_core::SeedableRng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of messages that are processed at a time.
const TOGETHER: u64 = 256;

/// A session on a card, and an equal one on the processor.
pub struct MessageBench {
    params: Arc<InstantParams>,
    header: DigestHeader<InstantPlan>,
    key: Vec<u8>,
    engine: AwayEngine,
    detector: Arc<InstantDetector>,
    board: Messages,
    messages: u64,
}

/// The results for messages.
#[derive(Clone, Debug, Serialize)]
pub struct MessageFigures {
    /// The name of the parameter set.
    pub set: &'static str,
    /// The number of messages that are processed at a time.
    pub in_flight: u64,
    /// The number of batches after which sums and digest were compared with the processor's exact integers.
    pub batches: usize,
    /// The number of these batches with equal bytes.
    pub equal: usize,
    /// The measured times.
    #[serde(flatten)]
    pub times: Option<MessageTimes>,
}

/// Medians of the measured times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MessageTimes {
    /// Microseconds of a message from clue to sums, in consecutive batches.
    pub message_us: f64,
    /// Microseconds of a message in a single batch.
    pub alone_us: f64,
    /// The part of `message_us` of each stage.
    pub stages_us: BTreeMap<&'static str, f64>,
    /// Microseconds of a message on the card alone.
    pub card_us: f64,
    /// The part of `card_us` of each kernel.
    pub kernels_us: BTreeMap<&'static str, f64>,
    /// Microseconds of a message on all cores of the processor, without a card.
    pub processor_us: f64,
    /// Seconds of the transfer of a key to the card.
    pub upload_s: f64,
    /// Bytes of the card's memory that one recipient's messages use, including a batch of them.
    pub bytes: usize,
}

impl MessageBench {
    /// Generates a recipient's keys and batches of messages, and checks every kernel.
    ///
    /// Errors: `Params` if there is no such set; `Check` if a result differs from the processor's.
    pub fn new(
        machine: Arc<dyn Machine>,
        params: &Arc<InstantParams>,
        seed: u64,
        batches: u64,
    ) -> Result<Self, BenchError> {
        checks::messages(&machine, params)?;
        let bench = DigestBench::new(Setting {
            scheme: Scheme::Instantomr,
            messages: TOGETHER * batches,
            start: Start {
                seed,
                ..Start::default()
            },
            ..Setting::default()
        });
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (secret, clue) = identity(&params.clue, bench.kind(), &mut rng);
        let mut key = Vec::new();
        detection_key(params, &secret, &mut rng)?.write(params, &mut key)?;
        let mut board = bench.board(&params.clue, vec![clue]);
        let messages = TOGETHER * batches;
        let all = 0..messages;
        let clues = board.clues(all.clone()).map_err(DetectorError::Source)?;
        let payloads = board.payloads(all.clone()).map_err(DetectorError::Source)?;
        let shape = &bench.setting.shape;
        let request = Request::new(0..0, shape.bound, Some(shape.payload_bytes));
        let card = MessageEngine(Arc::new(MessageRing::new(machine, &params.ring)?));
        let engine = AwayEngine::new(params, Arc::new(card));
        let detector = engine.detector(InstantKey::read(params, &key[..])?)?;
        let header = DigestHeader {
            key_id: detector.key_id(),
            board_id: [0; 16],
            sealing: Sealing::None,
            plan: InstantPlan::new(params, request)?,
            seed: [7; SEED_BYTES],
        };
        Ok(Self {
            detector: Arc::new(detector),
            params: params.clone(),
            header,
            key,
            engine,
            board: Messages::new(all, clues, payloads)?,
            messages,
        })
    }

    /// Processes the first batch on the card.
    ///
    /// Errors: those of the card.
    pub fn push(&mut self) -> Result<Session, BenchError> {
        self.taken(self.detector.clone(), TOGETHER)
    }

    /// Returns a session of the first messages.
    fn taken(&mut self, by: Arc<InstantDetector>, messages: u64) -> Result<Session, BenchError> {
        let mut session = Session::new(by, self.header.clone());
        let kept = |_: &Session| Ok::<_, DetectorError>(());
        session.advance(&mut self.board, messages, &Quiet, kept)?;
        Ok(session)
    }

    /// Processes the first batch on the card and, in exact integers, on the processor, and compares sums and digests.
    ///
    /// Errors: those of the card.
    pub fn compare(&mut self) -> Result<MessageFigures, BenchError> {
        let exact = InstantDetector::exact(self.params.clone(), self.read()?);
        let here = self.taken(Arc::new(exact), TOGETHER)?;
        let away = self.push()?;
        let sums = |session: &Session| session.to_file().to_bytes(&self.params);
        let digest = |session: &Session| session.digest().to_bytes(&self.params);
        let equal = sums(&here)? == sums(&away)? && digest(&here)? == digest(&away)?;
        Ok(MessageFigures {
            set: self.params.name(),
            in_flight: TOGETHER,
            batches: 1,
            equal: equal.into(),
            times: None,
        })
    }

    fn read(&self) -> Result<InstantKey, BenchError> {
        Ok(InstantKey::read(&self.params, &self.key[..])?)
    }

    /// Measures batches on the card and on the processor, and the transfer of a key to the card. The time on the card
    /// alone is not included.
    ///
    /// Errors: those of the card.
    pub fn times(&mut self, runs: u32) -> Result<MessageTimes, BenchError> {
        let away = self.detector.clone();
        let here = InstantDetector::new(self.params.clone(), self.read()?);
        let (message_us, _) = self.run(&away, self.messages, runs)?;
        let (alone_us, stages_us) = self.run(&away, TOGETHER, runs)?;
        let (processor_us, _) = self.run(&Arc::new(here), TOGETHER, 3)?;
        Ok(MessageTimes {
            message_us,
            alone_us,
            stages_us,
            processor_us,
            upload_s: self.upload()?,
            ..MessageTimes::default()
        })
    }

    /// Returns the microseconds of a message and of its stages: medians.
    fn run(
        &mut self,
        detector: &Arc<InstantDetector>,
        messages: u64,
        runs: u32,
    ) -> Result<(f64, BTreeMap<&'static str, f64>), BenchError> {
        let each = 1e6 / messages as f64;
        let (mut all, mut stages) = (Vec::new(), BTreeMap::<_, Vec<f64>>::new());
        for _ in 0..runs {
            let (session, seconds) = timed(|| self.taken(detector.clone(), messages));
            all.push(seconds * each);
            for &(stage, seconds) in session?.stages.seconds() {
                stages.entry(stage).or_default().push(seconds * each);
            }
        }
        let stages = stages
            .into_iter()
            .map(|(stage, seconds)| (stage, median(seconds)));
        Ok((median(all), stages.collect()))
    }

    /// Returns the seconds of transferring the key to the card again.
    fn upload(&self) -> Result<f64, BenchError> {
        let key = self.read()?;
        let (brought, seconds) = timed(|| self.engine.detector(key));
        brought?;
        Ok(seconds)
    }
}

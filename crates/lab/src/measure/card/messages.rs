//! InstantOMR's messages on a card, 256 in flight.

use crate::measure::digest::{BenchError, DigestBench, timed};
use crate::measure::{Setting, Start, median};
use chacha20::ChaCha20Rng;
use omr_client::{identity, instantomr::detection_key};
use omr_cuda::{Machine, MessageEngine, MessageRing, checks};
use omr_detector::instantomr::{AwayEngine, InstantDetector, Session};
use omr_detector::{DetectorError, MessageSource};
use omr_protocol::instantomr::{Encoding, InstantKey, InstantParams, InstantPlan};
use omr_protocol::{DigestHeader, Request, SEED_BYTES, Scheme, Sealing};
use rand_core::SeedableRng;
use serde::Serialize;
use std::sync::Arc;

/// Messages in flight.
const TOGETHER: u64 = 256;

/// A session on a card beside the same on the processor.
pub struct MessageBench {
    params: Arc<InstantParams>,
    header: DigestHeader<InstantPlan>,
    key: Vec<u8>,
    engine: AwayEngine,
    away: Session,
    clues: Vec<u8>,
    payloads: Vec<u8>,
    clue_bytes: usize,
}

/// What messages cost.
#[derive(Clone, Debug, Serialize)]
pub struct MessageFigures {
    /// The parameter set.
    pub set: &'static str,
    /// Messages in flight.
    pub in_flight: u64,
    /// Batches after which sums and digest were compared with those of the processor in exact integers.
    pub batches: usize,
    /// Of these, batches whose bytes were the same.
    pub equal: usize,
    /// What was timed.
    #[serde(flatten)]
    pub times: Option<MessageTimes>,
}

/// Medians.
#[derive(Clone, Debug, Serialize)]
pub struct MessageTimes {
    /// Microseconds of a message, from its clue to the sums.
    pub message_us: f64,
    /// Of these, on the card alone.
    pub card_us: f64,
    /// The same on all cores of the processor, as it works without a card.
    pub processor_us: f64,
    /// Seconds from a key in memory to one on the card.
    pub upload_s: f64,
    /// Bytes of the card that one recipient's messages take, a batch of them included.
    pub bytes: usize,
}

impl MessageBench {
    /// Keys of a recipient, and a batch of messages; every kernel is checked first.
    ///
    /// Errors: no such set, or a machine that computes something else than the processor.
    pub fn new(
        machine: Arc<dyn Machine>,
        params: &Arc<InstantParams>,
        seed: u64,
    ) -> Result<Self, BenchError> {
        checks::messages(&machine, params)?;
        let bench = DigestBench::new(Setting {
            scheme: Scheme::Instantomr,
            messages: TOGETHER,
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
        let read = |error| BenchError::Detector(DetectorError::Source(error));
        let shape = &bench.setting.shape;
        let request = Request::new(0..0, shape.bound, Some(shape.payload_bytes));
        let engine = MessageEngine(Arc::new(MessageRing::new(machine, &params.ring)?));
        let engine = AwayEngine::new(params, Arc::new(engine));
        let detector = engine.detector(InstantKey::read(params, &key[..])?)?;
        let header = DigestHeader {
            key_id: detector.key_id(),
            board_id: [0; 16],
            sealing: Sealing::None,
            plan: InstantPlan::new(params, Encoding::Powers, request)?,
            seed: [7; SEED_BYTES],
        };
        Ok(Self {
            away: Session::new(Arc::new(detector), header.clone()),
            params: params.clone(),
            header,
            key,
            engine,
            clue_bytes: board.clue_bytes(),
            clues: board.clues(0..TOGETHER).map_err(read)?,
            payloads: board.payloads(0..TOGETHER).map_err(read)?,
        })
    }

    /// Takes a batch on the card.
    ///
    /// Errors: those of the card.
    pub fn push(&mut self) -> Result<(), BenchError> {
        Ok(self
            .away
            .push(&self.clues, self.clue_bytes, &self.payloads)?)
    }

    /// Takes a batch on the card and on the processor, in exact integers, and compares sums and digests.
    ///
    /// Errors: those of the card.
    pub fn compare(&mut self) -> Result<MessageFigures, BenchError> {
        let exact = InstantDetector::exact(self.params.clone(), self.read()?);
        let mut here = Session::new(Arc::new(exact), self.header.clone());
        here.push(&self.clues, self.clue_bytes, &self.payloads)?;
        self.push()?;
        let sums = |session: &Session| session.to_file().to_bytes(&self.params);
        let digest = |session: &Session| session.digest().to_bytes(&self.params);
        let equal = sums(&here)? == sums(&self.away)? && digest(&here)? == digest(&self.away)?;
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

    /// Microseconds of a message on the card, and on the processor as it works without one.
    ///
    /// Errors: those of the card.
    pub fn times(&mut self, runs: u32) -> Result<[f64; 2], BenchError> {
        let mut away = Vec::new();
        for _ in 0..runs {
            let (pushed, seconds) = timed(|| self.push());
            pushed?;
            away.push(seconds);
        }
        let here = InstantDetector::new(self.params.clone(), self.read()?);
        let mut here = Session::new(Arc::new(here), self.header.clone());
        let mut alone = Vec::new();
        for _ in 0..3 {
            let push = || here.push(&self.clues, self.clue_bytes, &self.payloads);
            let (pushed, seconds) = timed(push);
            pushed?;
            alone.push(seconds);
        }
        let of = |seconds: Vec<f64>| median(seconds) * 1e6 / TOGETHER as f64;
        Ok([of(away), of(alone)])
    }

    /// Seconds of bringing the key to the card once more.
    ///
    /// Errors: those of the card.
    pub fn upload(&self) -> Result<f64, BenchError> {
        let key = self.read()?;
        let (brought, seconds) = timed(|| self.engine.detector(key));
        brought?;
        Ok(seconds)
    }
}

use crate::measure::cpu::process_seconds;
use crate::measure::{Workload, yardstick_us};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::{Keys, Recipient, keygen};
use omr_client::{BoundSender, ClueSeed, DecodeError, Retrieved, Sender};
use omr_console::peak_rss_bytes;
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, MessageSource, Progress, Stages};
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{
    ClueError, ClueKey, ClueKind, ClueParams, DigestError, PlanError, SEED_BYTES, Scheme, Sealing,
};
use rand_core::{Rng, SeedableRng};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// One run of keygen, digest and decode on synthetic messages.
#[derive(Clone)]
pub struct DigestBench {
    /// Payloads or indices.
    pub scheme: Scheme,
    /// The parameter set.
    pub params: Arc<Params>,
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

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
pub struct DigestFigures {
    /// How digests are made.
    #[serde(serialize_with = "by_name")]
    pub scheme: Scheme,
    /// Name of the parameter set.
    pub params: &'static str,
    /// Its bits of security.
    pub security_bits: f64,
    /// Messages on the board.
    pub messages: u64,
    /// How many were pertinent.
    pub pertinent: usize,
    /// The bound asked for.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Threads in use.
    pub threads: usize,
    /// The row operations in use.
    pub kernels: &'static str,
    /// The seed.
    pub seed: u64,
    /// Key generation.
    pub keygen_s: f64,
    /// From clues and payloads in memory to the digest, without making the synthetic messages.
    pub digest_s: f64,
    /// Processor seconds a second of that time: less than the threads when other work disturbed it.
    pub cpu_share: f64,
    /// The parts of `digest_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// From the digest's bytes to payloads.
    pub decode_ms: f64,
    /// One clue.
    pub clue_ms: f64,
    /// Bytes of the detection key's file.
    pub detection_key_bytes: u64,
    /// Bytes of the address file.
    pub clue_key_bytes: usize,
    /// Whether clues are bound to their payloads.
    pub bound_clues: bool,
    /// Bytes of a clue.
    pub clue_bytes: usize,
    /// Bytes of the digest's file.
    pub digest_bytes: usize,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Pertinent messages found.
    pub found: usize,
    /// Pertinent messages not found.
    pub missed: usize,
    /// Others found.
    pub false_positives: usize,
    /// Payloads that came out bit for bit.
    pub payloads_exact: usize,
    /// How far the digest's worst coefficient lay from a symbol; 0.5 is wrong.
    pub worst_rounding: f64,
    /// The root mean square of these distances; the body's rounding alone gives 0.108.
    pub rms_rounding: f64,
    /// Mean of the yardstick before and after, if asked for.
    pub yardstick_us: Option<f64>,
    /// `digest_s` in yardstick NTTs.
    pub digest_ntts: Option<f64>,
}

/// A scheme as JSON.
pub(crate) fn by_name<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(scheme.name())
}

impl DigestFigures {
    /// Whether exactly the pertinent messages were found, bit for bit.
    pub fn is_exact(&self) -> bool {
        self.exact() == self.pertinent && self.false_positives == 0
    }

    /// Pertinent messages that came out as they should.
    pub fn exact(&self) -> usize {
        match self.scheme.is_for_indices() {
            false => self.payloads_exact,
            true => self.found,
        }
    }
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The digest asked for cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The detector failed.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// The digest's file failed.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The address file failed.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// The payload size does not suit the code.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
    /// The secret does not suit InstantOMR.
    #[error(transparent)]
    SecretKey(#[from] omr_client::SecretKeyError),
    /// The set lacks an engine.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// The session's file.
    #[error(transparent)]
    Session(#[from] omr_protocol::instantomr::SessionError),
    /// The disk.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl DigestBench {
    pub(crate) fn keys(&self, rng: &mut ChaCha20Rng) -> Keys {
        keygen(&self.params, kind(self.bound_clues), rng)
    }

    /// Runs it.
    ///
    /// Errors: any step's.
    pub fn run(&self, progress: &dyn Progress) -> Result<DigestFigures, BenchError> {
        let params = &self.params;
        let payload = (self.scheme == Scheme::Sophomr).then_some(self.payload_bytes);
        let plan = DigestPlan::new(params, 0..self.messages, self.bound, payload)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let (keys, keygen_s) = timed(|| self.keys(&mut rng));
        let clue_key_bytes = keys.clue.to_bytes(&params.clue)?.len();
        let detection_key_bytes = keys.detection.file_bytes(params);
        let clue_ms = clue_ms(&params.clue, &keys.clue, self.seed);
        let mut board = Workload::new(
            params.clue.clone(),
            keys.clue.clone(),
            self.messages,
            self.pertinent,
            self.payload_bytes,
            self.seed,
        );
        if self.bound_clues {
            board = board.bound_to([0; 16]);
        }
        let clue_bytes = MessageSource::clue_bytes(&board);
        let secret = keys.secret;
        let detector = Detector::new(params.clone(), keys.detection);
        let before = self.yardstick.then(yardstick_us).flatten();
        let source: &mut dyn MessageSource = &mut board;
        let mut placement = [0; SEED_BYTES];
        rng.fill_bytes(&mut placement);
        let cpu = process_seconds();
        let out = detector.digest(source, &plan, [0; 16], Sealing::None, placement, progress)?;
        let cpu_share = (process_seconds() - cpu) / out.stages.total();
        let after = self.yardstick.then(yardstick_us).flatten();
        let bytes = out.digest.to_bytes(params)?;
        let recipient = Recipient::new(params, &secret);
        let (decoded, decode_s) = timed(|| -> Result<_, BenchError> {
            let digest = omr_protocol::sophomr::Digest::from_bytes(params, &bytes)?;
            Ok(recipient.decode(&digest)?)
        });
        let decoded = decoded?;
        let score = Score::new(&board, 0, &decoded);
        let stages = stages_without_reading(&out.stages);
        let digest_s = stages.values().sum();
        let yardstick_us = before.zip(after).map(|(a, b)| (a + b) / 2.0);
        Ok(DigestFigures {
            scheme: self.scheme,
            params: params.name(),
            security_bits: params.spec().security_bits(),
            messages: self.messages,
            pertinent: self.pertinent,
            bound: self.bound,
            payload_bytes: self.payload_bytes,
            threads: rayon::current_num_threads(),
            kernels: params.ring.kernels().name(),
            seed: self.seed,
            keygen_s,
            digest_s,
            cpu_share,
            stages,
            decode_ms: decode_s * 1e3,
            clue_ms,
            detection_key_bytes,
            clue_key_bytes,
            bound_clues: self.bound_clues,
            clue_bytes,
            digest_bytes: bytes.len(),
            peak_rss_bytes: peak_rss_bytes(),
            found: score.found,
            missed: self.pertinent - score.found,
            false_positives: score.false_positives,
            payloads_exact: score.exact,
            worst_rounding: recipient.worst_rounding(&out.digest)?,
            rms_rounding: root_mean_square(&recipient.roundings(&out.digest)?),
            yardstick_us,
            digest_ntts: yardstick_us.map(|us| digest_s * 1e6 / us),
        })
    }
}

pub(crate) fn kind(bound_clues: bool) -> ClueKind {
    match bound_clues {
        true => ClueKind::Bound,
        false => ClueKind::Plain,
    }
}

/// Milliseconds of a clue, the mean of many; a bound one is bound to 612 bytes.
pub(crate) fn clue_ms(params: &ClueParams, key: &ClueKey, seed: u64) -> f64 {
    const CLUES: usize = 200;
    let sender = Sender::new(params, key);
    let bound = BoundSender::new(params, key, [0; 16]);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut clue = || match key.kind {
        ClueKind::Plain => sender.gen_clue(&mut rng),
        ClueKind::Bound => bound.clue(&ClueSeed::generate(&mut rng), &[0; 612]).clue,
    };
    let make = || (0..CLUES).map(|_| clue().a.len()).sum::<usize>();
    timed(make).1 * 1e3 / CLUES as f64
}

pub(crate) fn root_mean_square(values: &[f64]) -> f64 {
    let squares = values.iter().map(|x| x * x).sum::<f64>();
    (squares / values.len() as f64).sqrt()
}

/// The synthetic messages are made while they are read: no part of the detector's work.
pub(crate) fn stages_without_reading(stages: &Stages) -> BTreeMap<&'static str, f64> {
    let seconds = stages.seconds().iter().copied();
    seconds.filter(|(name, _)| *name != "read").collect()
}

pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let out = work();
    (out, start.elapsed().as_secs_f64())
}

/// What became of the messages of one recipient.
pub(crate) struct Score {
    pub(crate) found: usize,
    pub(crate) false_positives: usize,
    /// Payloads that came out bit for bit.
    pub(crate) exact: usize,
}

impl Score {
    pub(crate) fn new(board: &Workload, recipient: usize, decoded: &[Retrieved]) -> Self {
        let mut score = Self {
            found: 0,
            false_positives: 0,
            exact: 0,
        };
        let pertinent = board.pertinent_to(recipient);
        for message in decoded {
            if pertinent.binary_search(&message.index).is_err() {
                score.false_positives += 1;
                continue;
            }
            score.found += 1;
            let exact = |payload: &Vec<u8>| *payload == board.payload(message.index);
            score.exact += usize::from(message.payload.as_ref().is_some_and(exact));
        }
        score
    }
}

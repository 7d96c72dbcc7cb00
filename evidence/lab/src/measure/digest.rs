//! One digest of a synthetic board by either engine, from keys to payloads.

use crate::measure::cpu::process_seconds;
use crate::measure::instant::Fixture;
use crate::measure::set_file::SetFileError;
use crate::measure::yardstick::Yardstick;
use crate::measure::{Setting, Subject, Workload, failure_log2};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_client::instantomr::InstantRecipient;
use omr_client::sophomr::{Keys, Recipient, keygen, keygen_in_epoch};
use omr_client::{BoundSender, ClueSeed, DecodeError, Retrieved, Sender};
use omr_console::peak_rss_bytes;
use omr_detector::sophomr::{Detector, Output};
use omr_detector::{DetectorError, MessageSource, Progress, Stages};
use omr_protocol::instantomr::InstantDigest;
use omr_protocol::sophomr::{BODY_BITS, DetectionKey, Digest, DigestPlan, Epoch, Params};
use omr_protocol::{
    ClueError, ClueKey, ClueKind, ClueParams, DigestError, EngineKind, ParamSet, PlanError,
    SEED_BYTES, Scheme, Sealing,
};
use rand_core::{Rng, SeedableRng};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// One run of key generation, digest and decoding on synthetic messages.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct DigestBench {
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub setting: Setting,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub pertinent: usize,
    /// Do not time the yardstick (only builds with the feature `yardstick` do)
    #[arg(long)]
    pub no_yardstick: bool,
    /// Keys with masks of their own, which no run serves together
    #[arg(long)]
    pub own_masks: bool,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct DigestFigures {
    /// The scheme of the digest.
    #[serde(serialize_with = "by_name")]
    pub scheme: Scheme,
    /// Bits of security of the parameter set.
    pub security_bits: f64,
    /// The row operations in use.
    pub kernels: &'static str,
    /// The board and the digest.
    #[serde(flatten)]
    pub subject: Subject,
    /// The costs.
    #[serde(flatten)]
    pub cost: DigestCost,
    /// True if clues are bound to their payloads.
    pub bound_clues: bool,
    /// The number of pertinent messages found.
    pub found: usize,
    /// The number of pertinent messages not found.
    pub missed: usize,
    /// The number of other messages found.
    pub false_positives: usize,
    /// The number of payloads that were returned bit for bit.
    pub payloads_exact: usize,
    /// The largest distance of a digest's coefficient from a symbol; 0.5 is wrong.
    pub worst_rounding: f64,
    /// The root mean square of these distances; the body's rounding alone yields 0.108.
    pub rms_rounding: f64,
    /// log2 of the chance that a digest has a wrong coefficient: for SophOMR extrapolated from `rms_rounding`, absent if
    /// the rounding of bodies accounts for all of it; for InstantOMR predicted for a full group.
    pub failure_log2: Option<f64>,
}

/// The costs of keys, clues, a digest and its decoding, for every scheme.
#[derive(Clone, Debug, Serialize)]
pub struct DigestCost {
    /// Seconds of key generation.
    pub keygen_s: f64,
    /// The costs between keys and digests.
    #[serde(flatten)]
    pub loading: Loading,
    /// Seconds from clues and payloads in memory to the digest, without making the synthetic messages.
    pub digest_s: f64,
    /// Processor seconds in each second of that time: less than the threads if other work disturbed it.
    pub cpu_share: f64,
    /// Seconds of each stage of `digest_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// Milliseconds from the digest's bytes to payloads.
    pub decode_ms: f64,
    /// Milliseconds of making a clue.
    pub clue_ms: f64,
    /// Bytes of the detection key's file.
    pub detection_key_bytes: u64,
    /// Bytes of the address file.
    pub clue_key_bytes: usize,
    /// Bytes of a clue.
    pub clue_bytes: usize,
    /// Bytes of the digest's file.
    pub digest_bytes: usize,
    /// The peak memory of the process, in bytes.
    pub peak_rss_bytes: u64,
    /// The mean of the yardstick before and after, if requested.
    pub yardstick_us: Option<f64>,
    /// `digest_s` in yardstick NTTs.
    pub digest_ntts: Option<f64>,
}

/// The costs of preparing a detector, once before its digests, for SophOMR.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Loading {
    /// Seconds of the tables of the parameter set, which serve all keys.
    pub params_s: Option<f64>,
    /// Seconds from the bytes of a detection key's file to a detector.
    pub load_s: Option<f64>,
    /// Seconds of allocating the memory that digests use.
    pub memory_s: Option<f64>,
}

/// Serialises a scheme by its name.
pub(crate) fn by_name<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(scheme.name())
}

impl DigestFigures {
    /// Returns the number of pertinent messages that were returned correctly.
    pub fn exact(&self) -> usize {
        if self.scheme.is_for_indices() {
            self.found
        } else {
            self.payloads_exact
        }
    }
}

/// A run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The digest cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The detector failed.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// The digest's file is invalid.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The address file is invalid.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// The payload size does not suit the code.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
    /// The secret does not suit InstantOMR.
    #[error(transparent)]
    SecretKey(#[from] omr_client::SecretKeyError),
    /// There is no such set.
    #[error(transparent)]
    Set(#[from] SetFileError),
    /// The set lacks an engine.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// The session's file is invalid.
    #[error(transparent)]
    Session(#[from] omr_protocol::instantomr::SessionError),
    /// The detection key's file is invalid.
    #[error(transparent)]
    DetectionKey(#[from] omr_protocol::DetectionKeyError),
    /// Sums do not form a digest.
    #[error(transparent)]
    Partial(#[from] omr_protocol::sophomr::PartialError),
    /// The scheme has a benchmark of its own.
    #[error(
        "expected a scheme of digests, found two-rounds, which `omr-lab bench rounds` measures"
    )]
    TwoRounds,
    /// A file of one of two rounds is invalid.
    #[error(transparent)]
    Rounds(#[from] omr_protocol::rounds::RoundsError),
    /// Reading or writing a file failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Replacing a file failed.
    #[error(transparent)]
    Console(#[from] omr_console::ConsoleError),
    /// There is no card, or it failed.
    #[error(transparent)]
    Machine(#[from] omr_cuda::MachineError),
    /// A result of a card differs from the processor's.
    #[error(transparent)]
    Check(#[from] omr_cuda::checks::CheckError),
}

/// The properties of a parameter set.
struct SetFigures<'a> {
    name: &'a str,
    /// The row operations in use.
    kernels: &'static str,
    security_bits: f64,
}

/// The costs of keys and clues, as in [`DigestCost`].
struct KeyFigures {
    keygen_s: f64,
    clue_ms: f64,
    detection_key_bytes: u64,
    clue_key_bytes: usize,
}

/// The results of a digest, for either engine.
struct Made {
    loading: Loading,
    stages: BTreeMap<&'static str, f64>,
    cpu_share: f64,
    yardstick_us: Option<f64>,
    digest_bytes: usize,
    decoded: Vec<Retrieved>,
    decode_s: f64,
    /// The distances of the digest's coefficients from symbols.
    roundings: Vec<f64>,
    failure_log2: Option<f64>,
}

impl DigestBench {
    /// Returns a run of this setting with 50 pertinent messages and without a yardstick.
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            pertinent: 50,
            no_yardstick: true,
            own_masks: false,
        }
    }

    /// Runs the benchmark.
    ///
    /// Errors: those of all steps.
    pub fn run(&self, progress: &dyn Progress) -> Result<DigestFigures, BenchError> {
        let set = self.setting.set()?;
        match self.setting.engine() {
            EngineKind::Sophomr => {
                let (params, params_s) = timed(|| set.sophomr());
                self.sophomr(params?, params_s, progress)
            }
            EngineKind::Instantomr => self.instantomr(&set, progress),
            EngineKind::Rounds => Err(BenchError::TwoRounds),
        }
    }

    /// Generates a recipient's keys for SophOMR, with the masks that all recipients of the board share, or with the
    /// recipient's own.
    pub(crate) fn keys(&self, params: &Params, rng: &mut ChaCha20Rng) -> Keys {
        let epoch = Epoch {
            board: [0; 16],
            number: 0,
        };
        if self.own_masks {
            keygen(params, self.kind(), rng)
        } else {
            keygen_in_epoch(params, self.kind(), &epoch, rng)
        }
    }

    pub(crate) fn kind(&self) -> ClueKind {
        if self.setting.plain_clues {
            ClueKind::Plain
        } else {
            ClueKind::Bound
        }
    }

    /// Returns a board with messages for the owners of these keys, `pertinent` for each.
    pub(crate) fn board(&self, params: &Arc<ClueParams>, keys: Vec<ClueKey>) -> Workload {
        let Setting {
            messages,
            shape,
            start,
            ..
        } = &self.setting;
        let (pertinent, bytes) = (self.pertinent, shape.payload_bytes);
        let params = params.clone();
        let board = Workload::for_recipients(params, keys, *messages, pertinent, bytes, start.seed);
        if self.setting.plain_clues {
            board
        } else {
            board.bound_to([0; 16])
        }
    }

    fn sophomr(
        &self,
        params: &Arc<Params>,
        params_s: f64,
        progress: &dyn Progress,
    ) -> Result<DigestFigures, BenchError> {
        let Setting {
            messages, shape, ..
        } = &self.setting;
        let plan = DigestPlan::new(params, 0..*messages, shape.bound, self.setting.payload())?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.setting.start.seed);
        let (keys, keygen_s) = timed(|| self.keys(params, &mut rng));
        let Keys {
            secret,
            clue,
            detection,
        } = keys;
        let key_bytes = detection.file_bytes(params);
        let clue_ms = clue_ms(&params.clue, &clue, self.setting.start.seed);
        let mut board = self.board(&params.clue, vec![clue.clone()]);
        let (detector, load_s) = loaded(params, detection)?;
        let ((), memory_s) = timed(|| detector.take_memory());
        let yardstick = Yardstick::start(!self.no_yardstick);
        let cpu = process_seconds();
        let out = scan(&detector, &mut board, &plan, &mut rng, progress)?;
        let cpu_share = (process_seconds() - cpu) / out.stages.total();
        let yardstick_us = yardstick.mean();
        let bytes = out.digest.to_bytes(params)?;
        let recipient = Recipient::new(params.recipient(), &secret);
        let (decoded, decode_s) = timed(|| -> Result<_, BenchError> {
            Ok(recipient.decode(&Digest::from_bytes(params, &bytes)?)?)
        });
        let roundings = recipient.roundings(&out.digest)?;
        let step = params.p().value() as f64 / f64::from(BODY_BITS).exp2();
        let one = failure_log2(root_mean_square(&roundings), step);
        let made = Made {
            failure_log2: one.map(|one| one + (roundings.len() as f64).log2()),
            loading: Loading {
                params_s: Some(params_s),
                load_s: Some(load_s),
                memory_s: Some(memory_s),
            },
            stages: stages_without_reading(&out.stages),
            cpu_share,
            yardstick_us,
            digest_bytes: bytes.len(),
            decoded: decoded?,
            decode_s,
            roundings,
        };
        let set = SetFigures {
            name: params.name(),
            kernels: params.ring.kernels().name(),
            security_bits: params.spec().security_bits(),
        };
        let keys = KeyFigures {
            keygen_s,
            clue_ms,
            detection_key_bytes: key_bytes,
            clue_key_bytes: clue.to_bytes(&params.clue)?.len(),
        };
        Ok(self.figures(set, &board, keys, made))
    }

    fn instantomr(
        &self,
        set: &ParamSet,
        progress: &dyn Progress,
    ) -> Result<DigestFigures, BenchError> {
        let params = set.instantomr()?;
        let mut fixture = Fixture::new(self, params)?;
        let clue_ms = clue_ms(&params.clue, &fixture.clue, self.setting.start.seed);
        let yardstick = Yardstick::start(!self.no_yardstick);
        let cpu = process_seconds();
        let (digest, stages) = fixture.digest(progress)?;
        let cpu_share = (process_seconds() - cpu) / stages.total();
        let yardstick_us = yardstick.mean();
        let bytes = digest.to_bytes(params)?;
        let recipient = InstantRecipient::new(params, &fixture.secret);
        let (decoded, decode_s) = timed(|| -> Result<_, BenchError> {
            Ok(recipient.decode(&InstantDigest::from_bytes(params, &bytes)?)?)
        });
        let made = Made {
            failure_log2: Some(params.failure_log2(digest.header.plan.sums())),
            loading: Loading::default(),
            stages: stages_without_reading(&stages),
            cpu_share,
            yardstick_us,
            digest_bytes: bytes.len(),
            decoded: decoded?,
            decode_s,
            roundings: recipient.roundings(&digest)?,
        };
        let keys = KeyFigures {
            keygen_s: fixture.keygen_s,
            clue_ms,
            detection_key_bytes: fixture.key_bytes,
            clue_key_bytes: fixture.clue.to_bytes(&params.clue)?.len(),
        };
        let set = SetFigures {
            name: params.name(),
            kernels: params.ring.kernels().name(),
            security_bits: set.spec().security_bits(),
        };
        Ok(self.figures(set, &fixture.board, keys, made))
    }

    fn figures(
        &self,
        set: SetFigures<'_>,
        board: &Workload,
        keys: KeyFigures,
        made: Made,
    ) -> DigestFigures {
        let score = Score::new(board, 0, &made.decoded);
        let digest_s = made.stages.values().sum();
        let roundings = &made.roundings;
        DigestFigures {
            scheme: self.setting.scheme,
            security_bits: set.security_bits,
            kernels: set.kernels,
            subject: Subject::new(set.name, &self.setting, self.pertinent),
            cost: DigestCost {
                keygen_s: keys.keygen_s,
                loading: made.loading,
                digest_s,
                cpu_share: made.cpu_share,
                stages: made.stages,
                decode_ms: made.decode_s * 1e3,
                clue_ms: keys.clue_ms,
                detection_key_bytes: keys.detection_key_bytes,
                clue_key_bytes: keys.clue_key_bytes,
                clue_bytes: MessageSource::clue_bytes(board),
                digest_bytes: made.digest_bytes,
                peak_rss_bytes: peak_rss_bytes(),
                yardstick_us: made.yardstick_us,
                digest_ntts: made.yardstick_us.map(|us| digest_s * 1e6 / us),
            },
            bound_clues: !self.setting.plain_clues,
            found: score.found,
            missed: self.pertinent - score.found,
            false_positives: score.false_positives,
            payloads_exact: score.exact,
            worst_rounding: roundings.iter().copied().map(f64::abs).fold(0.0, f64::max),
            rms_rounding: root_mean_square(roundings),
            failure_log2: made.failure_log2,
        }
    }
}

/// Returns a detector from a key's file, and the seconds of loading it.
fn loaded(params: &Arc<Params>, key: DetectionKey) -> Result<(Detector, f64), BenchError> {
    let mut file = Vec::new();
    key.write(params, &mut file)?;
    let (read, load_s) = timed(|| {
        let read = DetectionKey::read(params, &file[..]);
        read.map(|key| Detector::new(params.clone(), key))
    });
    // Not before: the loaded key would find its memory in use.
    drop(key);
    Ok((read?, load_s))
}

/// Computes a digest of a board whose placement is drawn from `rng`.
pub(crate) fn scan(
    detector: &Detector,
    board: &mut Workload,
    plan: &DigestPlan,
    rng: &mut ChaCha20Rng,
    progress: &dyn Progress,
) -> Result<Output, DetectorError> {
    let mut placement = [0; SEED_BYTES];
    rng.fill_bytes(&mut placement);
    detector.digest(board, plan, [0; 16], Sealing::None, placement, progress)
}

/// Returns the milliseconds of a clue, the mean of many; a bound clue is bound to 612 bytes.
pub(crate) fn clue_ms(params: &Arc<ClueParams>, key: &ClueKey, seed: u64) -> f64 {
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

/// Returns the stages of a detector without reading, because the synthetic messages are made while they are read.
pub(crate) fn stages_without_reading(stages: &Stages) -> BTreeMap<&'static str, f64> {
    let seconds = stages.seconds().iter().copied();
    seconds.filter(|(name, _)| *name != "read").collect()
}

pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let out = work();
    (out, start.elapsed().as_secs_f64())
}

/// The results for the messages of one recipient.
pub(crate) struct Score {
    pub(crate) found: usize,
    pub(crate) false_positives: usize,
    /// The number of payloads that were returned bit for bit.
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
            score.exact += usize::from(
                message
                    .payload
                    .as_ref()
                    .is_some_and(|payload| *payload == board.payload(message.index)),
            );
        }
        score
    }
}

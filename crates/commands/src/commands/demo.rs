//! `omr demo`: plays every role on real transactions.

mod cast;
mod report;
mod scan;

use crate::commands::source::source;
use crate::commands::{board, engines, keygen};
use crate::error::{CliError, InputError};
use crate::io::{self, Framed, TemporaryFolder};
use cast::{Cast, Posting};
use omr_client::{Retrieved, decode};
use omr_console::args::{bound, messages, threads};
use omr_console::{Ui, peak_rss_bytes};
use omr_detector::Stages;
use omr_detector::engines::{Costs, Job};
use omr_protocol::frame::Kind;
use omr_protocol::params::DEFAULT;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, Response, Sealing};
use omr_protocol::{Mismatch, Scheme};
use omr_transactions::{RealPayloads, real_payloads};
use report::{Outcome, Report};
use scan::Check;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Demo {
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Recipients, including the one who requests the digest
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) recipients: u16,
    /// Messages for that recipient
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = bound())]
    pub(crate) pertinent: u32,
    /// Bound of the digest; a stranger's message passes for a pertinent one once in 1,440 full boards
    #[arg(long, value_name = "K", default_value_t = 54, value_parser = bound())]
    pub(crate) bound: u32,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Keep all files in this new folder; a temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// sophomr, instantomr or hybrid
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Sophomr)]
    pub(crate) scheme: Scheme,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const DEMO: &str = "\
Examples:
  omr demo --params insecure-tiny-hybrid-v4 --messages 2048 # a second
  omr demo                              # at full size
  omr demo --messages 131072 --bound 100 --dir demo --json
  omr demo --scheme instantomr --messages 1000
  omr demo --scheme hybrid --messages 66000

Exits with 1 unless every message is retrieved bit for bit, no other is, and neither the board nor what the \
detector has or makes contains the secret key.";

/// The bytes of a Zcash output's ephemeral key and ciphertext.
const PAYLOAD_BYTES: usize = 612;

/// The files of the demonstration.
struct Stage {
    recipient: PathBuf,
    board: PathBuf,
    digest: PathBuf,
    /// The temporary folder, which is removed at the end, unless the files are to be kept.
    _temporary: Option<TemporaryFolder>,
}

/// The detector's result.
struct Detection {
    load_s: f64,
    stages: Stages,
    /// The peak memory of the process until then, including the other roles.
    peak_rss_bytes: u64,
}

pub(super) fn run(args: &Demo, ui: &Ui) -> Result<(), CliError> {
    let pertinent = args.pertinent as usize;
    if pertinent as u64 > args.messages {
        return Err(CliError::Pertinent(Mismatch::new(args.messages, pertinent)));
    }
    omr_console::start_threads(args.threads)?;
    let set = ParamSet::named(&args.params)?;
    let payloads = real_payloads(PAYLOAD_BYTES)?;
    let stage = Stage::new(args.dir.as_deref())?;
    ui.note("recipient: making keys");
    let cast = Cast::new(&set, args, &stage.recipient)?;
    let posting = cast.post(set.clue(), &payloads, &stage.board, ui)?;
    let detection = detect(args, ui, &stage)?;
    let (retrieved, decode_s) = retrieve(&stage)?;
    ui.note("checking payloads, and the detector's files for the secret key");
    let checks = scan::check(set.clue(), &stage.recipient, &stage.board, &stage.digest)?;
    let outcome = Outcome::new(&cast, &payloads, &retrieved);
    let facts = Facts {
        cast,
        posting,
        detection,
        decode_s,
        outcome,
        checks,
    };
    print_report(args, &report(args, &set, &payloads, &stage, facts)?)
}

/// The results of all roles.
struct Facts {
    cast: Cast,
    posting: Posting,
    detection: Detection,
    decode_s: f64,
    outcome: Outcome,
    checks: Vec<Check>,
}

fn report(
    args: &Demo,
    set: &ParamSet,
    payloads: &RealPayloads,
    stage: &Stage,
    facts: Facts,
) -> Result<Report, CliError> {
    let (miss_log2, false_positive_log2) = rates(set)?;
    let Facts {
        cast,
        posting,
        detection,
        ..
    } = facts;
    Ok(Report {
        scheme: args.scheme.name(),
        params: set.name(),
        security_bits: set.spec().security_bits(),
        miss_log2,
        false_positive_log2,
        messages: args.messages,
        recipients: args.recipients,
        pertinent: cast.pertinent.len(),
        bound: args.bound as usize,
        payload_bytes: PAYLOAD_BYTES,
        threads: rayon::current_num_threads(),
        kernels: set.clue().ring.kernels().name(),
        sources: report::sources(payloads),
        records: payloads.cycle(),
        keygen_s: cast.keygen_s,
        addresses_s: cast.addresses_s,
        secret_key_bytes: size(&stage.recipient.join(keygen::SECRET_KEY))?,
        clue_key_bytes: size(&stage.recipient.join(keygen::CLUE_KEY))?,
        detection_key_bytes: stage
            .detection_keys()
            .iter()
            .map(|key| size(key))
            .sum::<Result<_, _>>()?,
        detection_keys: stage.detection_keys().iter().map(name).collect(),
        clue_bytes: ClueKind::Bound.bytes(set.clue()),
        clues_s: posting.clues_s,
        append_s: posting.append_s,
        board_bytes: posting.board_bytes,
        load_s: detection.load_s,
        digest_s: detection.stages.total(),
        stages: detection.stages.seconds().iter().copied().collect(),
        digest_bytes: size(&stage.digest)?,
        decode_s: facts.decode_s,
        peak_rss_bytes: detection.peak_rss_bytes,
        outcome: facts.outcome,
        checks: facts.checks,
    })
}

fn print_report(args: &Demo, report: &Report) -> Result<(), CliError> {
    if args.json {
        io::print_json(report)?
    } else {
        io::print(&report.text())?
    }
    let Outcome {
        payloads_exact: exact,
        false_positives,
        ..
    } = report.outcome;
    let expected = report.pertinent;
    if exact == expected && false_positives == 0 {
        Ok(())
    } else {
        Err(CliError::Inexact {
            expected,
            exact,
            false_positives,
        })
    }
}

impl Stage {
    fn new(dir: Option<&Path>) -> Result<Self, CliError> {
        let (dir, temporary) = match dir {
            Some(dir) => (dir.to_owned(), None),
            None => {
                let made = TemporaryFolder::new("omr-demo-")
                    .map_err(|error| CliError::write(std::env::temp_dir(), error))?;
                (made.path().to_owned(), Some(made))
            }
        };
        let recipient = dir.join("recipient");
        keygen::create_folder(&recipient)?;
        let (board, digest) = (dir.join("board"), dir.join("digest"));
        Ok(Self {
            recipient,
            board,
            digest,
            _temporary: temporary,
        })
    }

    /// Returns the detection keys that were made.
    fn detection_keys(&self) -> Vec<PathBuf> {
        EngineKind::ALL
            .map(|engine| self.recipient.join(engine.key_name()))
            .into_iter()
            .filter(|path| path.exists())
            .collect()
    }
}

/// Returns the rates of missed messages and of false positives of a set, the larger of its engines' rates each.
fn rates(set: &ParamSet) -> Result<(f64, f64), CliError> {
    let bulk = set
        .spec()
        .sophomr
        .as_ref()
        .map(|spec| (spec.miss_log2(), spec.false_positive_log2()));
    let instant = match set.spec().instantomr {
        Some(_) => {
            let params = set.instantomr()?;
            Some((params.miss_log2(), params.false_positive_log2()))
        }
        None => None,
    };
    let least = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let larger = |(a, b): (f64, f64), (c, d): (f64, f64)| (a.max(c), b.max(d));
    Ok(bulk.into_iter().chain(instant).fold(least, larger))
}

fn name(path: impl AsRef<Path>) -> String {
    let name = path.as_ref().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn size(path: &Path) -> Result<u64, CliError> {
    let metadata = fs::metadata(path).map_err(InputError::from);
    Ok(metadata.map_err(CliError::input(path))?.len())
}

/// Plays the detector, which opens only the board and the detection keys.
fn detect(args: &Demo, ui: &Ui, stage: &Stage) -> Result<Detection, CliError> {
    ui.note("detector: scanning the board under encryption");
    let start = Instant::now();
    let keys = stage.detection_keys();
    let (set, engines) = engines::open(&keys)?.load(args.scheme, &ui.bar())?;
    let load_s = start.elapsed().as_secs_f64();
    let board = board::open(&stage.board, ui)?;
    let mut source =
        source(&stage.board, &board, set.clue(), ui).map_err(CliError::input(&stage.board))?;
    let job = Job {
        source: &mut source,
        request: Request::new(0..args.messages, args.bound as usize, Some(PAYLOAD_BYTES)),
        board_id: board.config().board_id,
        sealing: Sealing::None,
        seed: &|_| omr_detector::placement_seed(),
        costs: Costs::default(),
    };
    let bar = ui.bar();
    let answer = engines.respond(args.scheme, job, &bar)?;
    drop(bar);
    let bytes = answer
        .response
        .to_bytes(&set)
        .map_err(|error| CliError::write(&stage.digest, error))?;
    io::write_result(&stage.digest, &bytes)?;
    Ok(Detection {
        load_s,
        stages: answer.stages,
        peak_rss_bytes: peak_rss_bytes(),
    })
}

/// Plays the recipient, who opens only the secret key and the digest.
fn retrieve(stage: &Stage) -> Result<(Vec<Retrieved>, f64), CliError> {
    let secret = Framed::open(&stage.recipient.join(keygen::SECRET_KEY), Kind::SecretKey)?;
    let set = secret.set()?;
    let secret = io::read_secret_key(secret, set.clue())?;
    let bytes = Framed::open(&stage.digest, Kind::Digest)?.bytes()?;
    // Making the set's tables is not part of decoding.
    let read = || Response::from_bytes(&set, &bytes).map_err(InputError::from);
    read().map_err(CliError::input(&stage.digest))?;
    let start = Instant::now();
    let digest = read().map_err(CliError::input(&stage.digest))?;
    let retrieved = decode(&set, &secret, &digest)?;
    Ok((retrieved, start.elapsed().as_secs_f64()))
}

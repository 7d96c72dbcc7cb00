//! `omr params`: shows the parameter sets and their costs.

mod instant;

use crate::error::CliError;
use crate::io;
use instant::Instant;
use omr_console::args::{bound, payload_bytes};
use omr_protocol::clue::SEAL_PUBLIC_BYTES;
use omr_protocol::params::DEFAULT;
use omr_protocol::params::{Bits, Security, SetSpec};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Params};
use omr_protocol::{ClueKey, ClueKind, ClueParams, ParamSet};
use serde::Serialize;

#[derive(clap::Subcommand)]
pub(crate) enum ParamsCommand {
    /// List the names of all sets
    #[command(after_help = PARAMS)]
    List {
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show sizes, security, failure rates and moduli of one set
    #[command(after_help = PARAMS)]
    Show(ParamsShow),
}

#[derive(clap::Args)]
pub(crate) struct ParamsShow {
    /// Parameter set
    #[arg(value_name = "NAME", default_value = DEFAULT)]
    pub(crate) name: String,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Messages that the digest covers
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub(crate) messages: u64,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const PARAMS: &str = "\
Examples:
  omr params list
  omr params show
  omr params show sophomr-v5 --bound 512 --messages 524288 \\
    --payload-bytes 1024 --json";

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    security_bits: f64,
    /// The number of messages of a SophOMR batch.
    batch: Option<usize>,
    schemes: Vec<&'static str>,
    insecure: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    set: Set,
    sophomr: Option<Bulk>,
    instantomr: Option<Instant>,
}

#[derive(Serialize)]
struct Set {
    name: &'static str,
    insecure: bool,
    /// The lowest of the figures below.
    security_bits: f64,
    security: Option<Secured>,
    clue_bytes: usize,
    clue_key_bytes: usize,
}

/// Bits of security against each attack.
#[derive(Serialize)]
struct Secured {
    clue_key: Attacked,
    randomness: Attacked,
    keys: f64,
}

#[derive(Serialize)]
struct Attacked {
    listed: f64,
    sparse_dual: f64,
    rotated: f64,
    fourier: f64,
}

#[derive(Serialize)]
struct Bulk {
    batch: usize,
    plaintext_modulus: u64,
    miss_log2: f64,
    hostile_miss_log2: f64,
    false_positive_log2: f64,
    detection_key_bytes: u64,
    messages: u64,
    bound: u32,
    payload_bytes: u32,
    digest_bytes: u64,
    indices_digest_bytes: u64,
    key_moduli: Vec<KeyModulus>,
    level_moduli_log2: Vec<f64>,
}

#[derive(Serialize)]
struct KeyModulus {
    key: &'static str,
    dimension: usize,
    weight: Option<usize>,
    log2: f64,
}

/// The names of the kinds of key, in the order of [`Params::key_moduli`].
const KEYS: [&str; 6] = [
    "baby step",
    "giant step",
    "relinearisation",
    "ring switching",
    "small ring",
    "digest",
];

pub(super) fn run(command: &ParamsCommand) -> Result<(), CliError> {
    match command {
        ParamsCommand::List { json } => list(*json),
        ParamsCommand::Show(args) => show(args),
    }
}

fn list(json: bool) -> Result<(), CliError> {
    let listed = |set: SetSpec| Listed {
        name: set.name,
        security_bits: set.security_bits(),
        batch: set.sophomr.as_ref().map(|bulk| bulk.n),
        schemes: schemes(&set),
        insecure: set.insecure,
    };
    let sets: Vec<Listed> = SetSpec::published().into_iter().map(listed).collect();
    if json {
        return Ok(io::print_json(&sets)?);
    }
    let line = |set: &Listed| {
        let security = if set.insecure {
            "insecure: for tests only".to_owned()
        } else {
            format!("{:.1} bits of security", set.security_bits)
        };
        format!(
            "{:<26} {:<21} {security}\n",
            set.name,
            set.schemes.join(", ")
        )
    };
    Ok(io::print(&sets.iter().map(line).collect::<String>())?)
}

/// Returns the names of a set's engines.
fn schemes(set: &SetSpec) -> Vec<&'static str> {
    let bulk = set.sophomr.iter().map(|_| "sophomr");
    let instant = set.instantomr.iter().map(|_| "instantomr");
    bulk.chain(instant).collect()
}

fn show(args: &ParamsShow) -> Result<(), CliError> {
    let set = ParamSet::named(&args.name)?;
    let shown = Shown {
        set: Set::new(&set)?,
        sophomr: match set.spec().sophomr {
            Some(_) => Some(Bulk::new(set.sophomr()?, args)?),
            None => None,
        },
        instantomr: match set.spec().instantomr {
            Some(_) => Some(Instant::new(set.instantomr()?, args)?),
            None => None,
        },
    };
    if args.json {
        Ok(io::print_json(&shown)?)
    } else {
        Ok(io::print(&shown.text())?)
    }
}

impl Shown {
    fn text(&self) -> String {
        let mut text = self.set.text();
        if let Some(bulk) = &self.sophomr {
            text += &bulk.text();
        }
        if let Some(instant) = &self.instantomr {
            text += &instant.text();
        }
        text
    }
}

impl Set {
    fn new(set: &ParamSet) -> Result<Self, CliError> {
        Ok(Self {
            name: set.name(),
            insecure: set.spec().insecure,
            security_bits: set.spec().security_bits(),
            security: set.spec().security().map(Secured::from),
            clue_bytes: ClueKind::Bound.bytes(set.clue()),
            clue_key_bytes: clue_key_bytes(set.clue())?,
        })
    }

    fn text(&self) -> String {
        let security = match &self.security {
            None => "none: for tests only".to_owned(),
            Some(security) => {
                format!(
                    "{:.1} bits, the least of\n{}",
                    self.security_bits,
                    security.text()
                )
            }
        };
        format!(
            "name                  {}\nsecurity              {security}\n\
             clue                  {} bytes\nclue key              {} bytes\n",
            self.name,
            omr_console::thousands(self.clue_bytes as u64),
            omr_console::thousands(self.clue_key_bytes as u64),
        )
    }
}

impl From<Security> for Secured {
    fn from(security: Security) -> Self {
        let attacked = |bits: Bits| Attacked {
            listed: bits.listed,
            sparse_dual: bits.sparse_dual,
            rotated: bits.rotated,
            fourier: bits.fourier,
        };
        Self {
            clue_key: attacked(security.clue_key),
            randomness: attacked(security.randomness),
            keys: security.keys,
        }
    }
}

impl Secured {
    fn text(&self) -> String {
        let row = |name: &str, bits: &Attacked| {
            format!(
                "  {name:<19} {:.1} (default attacks), {:.1} (sparse dual), {:.1} (rotations), {:.1} (and Fourier)\n",
                bits.listed, bits.sparse_dual, bits.rotated, bits.fourier
            )
        };
        row("clue key", &self.clue_key)
            + &row("senders' randomness", &self.randomness)
            + &format!("  {:<19} {:.1}", "detection keys", self.keys)
    }
}

impl Bulk {
    fn new(params: &Params, args: &ParamsShow) -> Result<Self, CliError> {
        let spec = params.spec();
        let plan =
            |payload| DigestPlan::new(params, 0..args.messages, args.bound as usize, payload);
        let payload_bytes = args.payload_bytes as usize;
        let modulus = |(key, (dimension, weight, log2))| KeyModulus {
            key,
            dimension,
            weight,
            log2,
        };
        let chain = &params.chain;
        Ok(Self {
            batch: params.slots(),
            plaintext_modulus: params.p().value(),
            miss_log2: spec.miss_log2(),
            hostile_miss_log2: spec.hostile_miss_log2(),
            false_positive_log2: spec.false_positive_log2(),
            detection_key_bytes: DetectionKey::file_bytes_of(params, ClueKind::Bound),
            messages: args.messages,
            bound: args.bound,
            payload_bytes: args.payload_bytes,
            digest_bytes: {
                let plan = plan(Some(payload_bytes))?.for_clues(params, ClueKind::Bound);
                Digest::file_bytes(&plan, params)
            },
            indices_digest_bytes: Digest::file_bytes(&plan(None)?, params),
            key_moduli: KEYS
                .into_iter()
                .zip(params.key_moduli())
                .map(modulus)
                .collect(),
            level_moduli_log2: (0..chain.len())
                .map(|i| chain.log2(&params.ring, i))
                .collect(),
        })
    }

    fn text(&self) -> String {
        let number = omr_console::thousands;
        let mut text = format!(
            "\nsophomr\n\
             messages a batch      {}\nplaintext modulus     {}\n\
             missed                2^{:.1} of pertinent messages; where strangers fill the board, 2^{:.1}\n\
             false positives       2^{:.1} of others\n\
             detection key         {} bytes\n\
             digest                {} bytes ({} messages, bound {}, payloads of {} bytes)\n\
             digest of indices     {} bytes\n",
            number(self.batch as u64),
            number(self.plaintext_modulus),
            self.miss_log2,
            self.hostile_miss_log2,
            self.false_positive_log2,
            number(self.detection_key_bytes),
            number(self.digest_bytes),
            number(self.messages),
            self.bound,
            number(self.payload_bytes.into()),
            number(self.indices_digest_bytes),
        );
        for KeyModulus {
            key,
            dimension,
            weight,
            log2,
        } in &self.key_moduli
        {
            let secret = match weight {
                Some(weight) => format!("weight {weight}"),
                None => "uniform".to_owned(),
            };
            text += &format!(
                "{:<21} {log2:.1} bits in dimension {dimension}, {secret}\n",
                format!("{key} key")
            );
        }
        let levels: Vec<String> = self
            .level_moduli_log2
            .iter()
            .map(|bits| format!("{bits:.0}"))
            .collect();
        let lines: Vec<String> = levels.chunks(15).map(|line| line.join(" ")).collect();
        text + &format!(
            "level moduli, bits    {}\n",
            lines.join("\n                      ")
        )
    }
}

fn clue_key_bytes(params: &ClueParams) -> Result<usize, CliError> {
    let beta = vec![0; params.spec().beta_len()];
    let key = ClueKey {
        kind: ClueKind::Bound,
        id: [0; 16],
        seed: [0; 32],
        beta,
        seal: [0; SEAL_PUBLIC_BYTES],
    };
    let bytes = key
        .to_bytes(params)
        .map_err(|error| CliError::write("clue key", error))?;
    Ok(bytes.len())
}

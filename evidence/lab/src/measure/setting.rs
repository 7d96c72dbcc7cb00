//! The parameters of a benchmark: arguments that many commands share, which are also fields in code.

use crate::measure::set_file::{self, SetFileError};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use omr_console::args::{messages, threads};
use omr_protocol::params::{DEFAULT, SOPHOMR};
use omr_protocol::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use omr_protocol::{EngineKind, ParamSet, Scheme};
use serde::Serialize;

/// The limits of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Args)]
pub struct Shape {
    /// Pertinent messages that a digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_BOUND as u64))]
    pub bound: usize,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_PAYLOAD_BYTES as u64))]
    pub payload_bytes: usize,
}

/// The start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
pub struct Start {
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub threads: Option<u16>,
    /// Seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// A board, and the digest that is made of it.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Setting {
    /// Digests of payloads or of indices, by one of the engines
    #[arg(long, value_parser = schemes(&[EngineKind::Sophomr, EngineKind::Instantomr]), default_value_t = Scheme::Sophomr)]
    pub scheme: Scheme,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub messages: u64,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub shape: Shape,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub start: Start,
    /// Parameter set, or a TOML file; sophomr-v5, or hybrid-v4 for InstantOMR, unless given
    #[arg(long, value_name = "NAME")]
    pub params: Option<String>,
    /// Clues that are not bound to their payloads
    #[arg(long)]
    pub plain_clues: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            bound: 50,
            payload_bytes: 612,
        }
    }
}

impl Default for Start {
    fn default() -> Self {
        Self {
            threads: None,
            seed: 1,
        }
    }
}

impl Default for Setting {
    /// Returns the default of the command line: a full batch of SophOMR.
    fn default() -> Self {
        Self {
            scheme: Scheme::Sophomr,
            messages: 65_536,
            shape: Shape::default(),
            start: Start::default(),
            params: None,
            plain_clues: false,
        }
    }
}

impl Setting {
    /// Returns the setting of a batch of SophOMR with this set.
    pub(crate) fn of_batch(set: &ParamSet, seed: u64, messages: u64) -> Self {
        Self {
            messages,
            start: Start {
                seed,
                ..Start::default()
            },
            params: Some(set.name().to_owned()),
            ..Self::default()
        }
    }

    /// Returns the engine that makes the digest.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.scheme.engines()[0]
    }

    /// Returns the parameter set.
    ///
    /// Errors: those of [`set_file::set`].
    pub fn set(&self) -> Result<ParamSet, SetFileError> {
        let own = match self.engine() {
            EngineKind::Sophomr => SOPHOMR,
            EngineKind::Instantomr | EngineKind::Rounds => DEFAULT,
        };
        set_file::set(self.params.as_deref().unwrap_or(own))
    }

    /// Returns the bytes of a payload, if the digest has payloads.
    pub(crate) fn payload(&self) -> Option<usize> {
        (!self.scheme.is_for_indices()).then_some(self.shape.payload_bytes)
    }
}

/// Parses the schemes that take one of these engines alone.
pub(crate) fn schemes(engines: &'static [EngineKind]) -> impl TypedValueParser<Value = Scheme> {
    let fits = |scheme: &Scheme| match scheme.engines() {
        [engine] => engines.contains(engine),
        _ => false,
    };
    let values = Scheme::ALL
        .into_iter()
        .filter(fits)
        .map(|scheme| PossibleValue::new(scheme.name()).help(about(scheme)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Scheme>())
}

/// Returns the description of a scheme for `--help`.
fn about(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Sophomr => "Payloads",
        Scheme::Sophomd => "Indices only",
        Scheme::Instantomr => "Payloads, message by message",
        Scheme::Instantomd => "Indices only, message by message",
        Scheme::Hybrid => "Full batches, then message by message",
        Scheme::TwoRounds => "Payloads in two rounds",
    }
}

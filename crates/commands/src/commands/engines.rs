//! Detection keys in files, and the engines that use them.

use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use omr_console::Ui;
use omr_cuda::{Cards, CardsError, Choice};
use omr_detector::engine::{self, Engine};
use omr_detector::engines::{Costs, Engines};
use omr_detector::instantomr::InstantDetector;
use omr_detector::{DetectorError, Progress};
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{EngineKind, ParamSet, Request, Scheme};
use omr_store::Board;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The hardware that a command makes digests on, as its option `--engine` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EngineName {
    Auto,
    Cpu,
    Cuda,
}

impl EngineName {
    /// Returns the choice of a card or the processor.
    pub(crate) fn choice(self) -> omr_cuda::Choice {
        match self {
            Self::Auto => omr_cuda::Choice::Auto,
            Self::Cuda => omr_cuda::Choice::Cuda,
            Self::Cpu => omr_cuda::Choice::Cpu,
        }
    }
}

/// Figures in the output of `omr-lab bench crossover --json`: seconds for a batch of SophOMR and for a message of
/// InstantOMR.
#[derive(Deserialize)]
struct Measured {
    batch_s: f64,
    message_s: f64,
}

/// A function that makes the engine of a kind for a set.
pub(super) type Make<'a> = dyn Fn(&ParamSet, EngineKind) -> Result<Box<dyn Engine>, CliError> + 'a;

/// Returns the processor's engine of a kind.
///
/// Errors: `Params`.
pub(super) fn on_cpu(set: &ParamSet, kind: EngineKind) -> Result<Box<dyn Engine>, CliError> {
    Ok(engine::on_cpu(set, kind)?)
}

/// Returns the cards of this machine, and prints a note about them.
///
/// Errors: `Cards` where a card is required and there is none.
pub(super) fn cards(choice: Choice, ui: &Ui) -> Result<Cards, CliError> {
    let cards = Cards::new(choice).map_err(CardsError::from)?;
    if choice != Choice::Cpu {
        ui.note(&cards.summary());
    }
    Ok(cards)
}

/// Returns the engine of a kind, on a card if there is one.
///
/// Errors: `Params`, `Cards`.
pub(super) fn on(
    cards: &Cards,
    set: &ParamSet,
    kind: EngineKind,
) -> Result<Box<dyn Engine>, CliError> {
    Ok(cards.engine(set, kind)?)
}

/// A function that makes the detector of a session.
pub(super) type MakeSession<'a> =
    dyn Fn(&ParamSet, InstantKey) -> Result<InstantDetector, CliError> + 'a;

/// Returns the processor's detector.
///
/// Errors: `Params`.
pub(super) fn session_on_cpu(set: &ParamSet, key: InstantKey) -> Result<InstantDetector, CliError> {
    Ok(InstantDetector::new(set.instantomr()?.clone(), key))
}

/// Keys of one set, with read headers.
pub(super) struct Keys<'a> {
    pub(super) set: ParamSet,
    files: Vec<(&'a PathBuf, Framed)>,
}

/// Reads the headers of keys of one set that make digests.
///
/// Errors: `Input`; `OtherParams`; `NoKey`; `TwoKeys` for two keys of one kind.
pub(super) fn open(paths: &[PathBuf]) -> Result<Keys<'_>, CliError> {
    let kinds = [EngineKind::Sophomr, EngineKind::Instantomr].map(EngineKind::key_file);
    let mut files = Vec::new();
    for path in paths {
        files.push((path, Framed::open_any(path, &kinds)?));
    }
    let (first, file) = files.first().ok_or(CliError::NoKey)?;
    let set = file.set()?;
    for (at, (path, file)) in files.iter().enumerate().skip(1) {
        if file.header.params_id != set.name() {
            return Err(CliError::OtherParams {
                first: (*first).clone(),
                expected: set.name().to_owned(),
                second: (*path).clone(),
                found: file.header.params_id.clone(),
            });
        }
        let twice = |(_, other): &(_, Framed)| other.header.kind == file.header.kind;
        if files[..at].iter().any(twice) {
            return Err(CliError::TwoKeys((*path).clone()));
        }
    }
    Ok(Keys { set, files })
}

impl Keys<'_> {
    fn engines(&self) -> Vec<EngineKind> {
        let engine = |(_, file): &(_, Framed)| EngineKind::of_key_file(file.header.kind);
        self.files.iter().filter_map(engine).collect()
    }

    /// Returns the scheme of all keys together.
    ///
    /// Errors: `NoKey`.
    pub(super) fn scheme(&self, payloads: bool) -> Result<Scheme, CliError> {
        Scheme::of_engines(&self.engines(), payloads).ok_or(CliError::NoKey)
    }

    /// Returns the scheme that answers a request with the same result as `scheme`, by the engines that are needed for
    /// it.
    ///
    /// Errors: `Detector` where a key for `scheme` is missing.
    pub(super) fn narrowed(
        &self,
        scheme: Scheme,
        request: &Request,
        costs: Costs,
    ) -> Result<Scheme, CliError> {
        let there = self.engines();
        for &expected in scheme.engines() {
            if !there.contains(&expected) {
                return Err(DetectorError::NoKey(expected).into());
            }
        }
        Ok(match &self.set.spec().sophomr {
            Some(spec) => {
                let payloads = request.payload_bytes.is_some();
                costs.narrowed(scheme, &request.range, spec.n as u64, payloads)
            }
            None => scheme,
        })
    }

    /// Reads the keys that a scheme needs for the processor's engines. This takes seconds for SophOMR's key.
    ///
    /// Errors: `Input`.
    pub(super) fn load(
        self,
        scheme: Scheme,
        progress: &dyn Progress,
    ) -> Result<(ParamSet, Engines), CliError> {
        self.load_for(scheme, &on_cpu, progress)
    }

    /// Reads the keys that a scheme needs for the engines that `make` returns.
    ///
    /// Errors: `Input`; those of `make`.
    pub(super) fn load_for(
        self,
        scheme: Scheme,
        make: &Make,
        progress: &dyn Progress,
    ) -> Result<(ParamSet, Engines), CliError> {
        let Self { set, files } = self;
        let mut engines = Engines::default();
        for (_, file) in files {
            let kind = EngineKind::of_key_file(file.header.kind);
            if let Some(kind) = kind.filter(|kind| scheme.engines().contains(kind)) {
                let engine = make(&set, kind)?;
                engines.add(io::load_key(file, &*engine, progress)?);
            }
        }
        Ok((set, engines))
    }

    /// Reads the one key of a session.
    ///
    /// Errors: `Input`, with `NoInstant` for a key of another engine.
    pub(super) fn load_session(
        mut self,
        make: &MakeSession<'_>,
        progress: &dyn Progress,
    ) -> Result<(ParamSet, Arc<InstantDetector>), CliError> {
        let (path, file) = self.files.pop().ok_or(CliError::NoKey)?;
        // This refuses a key of another engine before reading it, which takes seconds.
        if file.header.kind != EngineKind::Instantomr.key_file() {
            return Err(CliError::input(path)(InputError::NoInstant));
        }
        let key = io::read_instant_key(file, self.set.instantomr()?, progress)?;
        let detector = make(&self.set, key)?;
        Ok((self.set, Arc::new(detector)))
    }
}

/// Checks that a board's clues have the keys' parameter set.
///
/// Errors: `OtherParams`.
pub(super) fn check_board(
    dir: &Path,
    board: &Board,
    key: &Path,
    set: &ParamSet,
) -> Result<(), CliError> {
    let expected = &board.config().params_id;
    if expected == set.name() {
        Ok(())
    } else {
        Err(CliError::OtherParams {
            first: dir.to_owned(),
            expected: expected.clone(),
            second: key.to_owned(),
            found: set.name().to_owned(),
        })
    }
}

/// Reads the costs in a file, or returns the default ones.
///
/// Errors: `Input`.
pub(super) fn costs(path: Option<&Path>) -> Result<Costs, CliError> {
    let Some(path) = path else {
        return Ok(Costs::default());
    };
    let read = || -> Result<Costs, InputError> {
        let Measured { batch_s, message_s } =
            serde_json::from_slice(&fs::read(path)?).map_err(InputError::Costs)?;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if positive(batch_s) && positive(message_s) {
            Ok(Costs { batch_s, message_s })
        } else {
            Err(InputError::CostsRange)
        }
    };
    read().map_err(CliError::input(path))
}

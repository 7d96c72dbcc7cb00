//! Detection keys of files, ready to answer requests.

use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use omr_board::Board;
use omr_detector::Detector;
use omr_detector::hybrid::{Costs, Engines};
use omr_detector::instantomr::InstantDetector;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `omr bench crossover --json` prints of the engines.
#[derive(Deserialize)]
struct Measured {
    batch_s: f64,
    message_s: f64,
}

/// Keys of one set whose headers were read.
pub(super) struct Keys<'a> {
    pub(super) set: ParamSet,
    files: Vec<(&'a PathBuf, Framed)>,
}

/// Reads the headers of keys of one set.
///
/// Errors: `Input`; `OtherParams`; `NoKey`.
pub(super) fn open(paths: &[PathBuf]) -> Result<Keys<'_>, CliError> {
    let kinds = [Kind::DetectionKey, Kind::InstantKey];
    let mut files = Vec::new();
    for path in paths {
        files.push((path, Framed::open_either(path, kinds)?));
    }
    let (first, file) = files.first().ok_or(CliError::NoKey)?;
    let set = file.set()?;
    for (path, file) in &files[1..] {
        if file.header.params_id != set.name() {
            return Err(CliError::OtherParams {
                first: (*first).clone(),
                expected: set.name().to_owned(),
                second: (*path).clone(),
                found: file.header.params_id.clone(),
            });
        }
    }
    Ok(Keys { set, files })
}

impl Keys<'_> {
    /// Reads the keys.
    ///
    /// Errors: `Input`; `TwoKeys` for two of a kind.
    pub(super) fn load(self) -> Result<(ParamSet, Engines), CliError> {
        let Self { set, files } = self;
        let mut engines = Engines::default();
        for (path, file) in files {
            let twice = match file.header.kind {
                Kind::InstantKey => {
                    let params = set.instant()?;
                    let key = io::read_instant_key(file, params)?;
                    let detector = InstantDetector::new(params.clone(), key);
                    engines.instant.replace(Arc::new(detector)).is_some()
                }
                _ => {
                    let params = set.bulk()?;
                    let key = io::read_detection_key(file, params)?;
                    let detector = Detector::new(params.clone(), key);
                    engines.bulk.replace(Arc::new(detector)).is_some()
                }
            };
            if twice {
                return Err(CliError::TwoKeys { path: path.clone() });
            }
        }
        Ok((set, engines))
    }
}

/// Checks that a board's clues are of the keys' set.
///
/// Errors: `OtherParams`.
pub(super) fn check_board(
    dir: &Path,
    board: &Board,
    key: &Path,
    set: &ParamSet,
) -> Result<(), CliError> {
    let expected = &board.config().params_id;
    match expected == set.name() {
        true => Ok(()),
        false => Err(CliError::OtherParams {
            first: dir.to_owned(),
            expected: expected.clone(),
            second: key.to_owned(),
            found: set.name().to_owned(),
        }),
    }
}

/// The costs in a file, or the usual ones.
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
        match positive(batch_s) && positive(message_s) {
            true => Ok(Costs { batch_s, message_s }),
            false => Err(InputError::CostsRange),
        }
    };
    read().map_err(CliError::input(path))
}

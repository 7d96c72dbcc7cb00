//! `omr keygen`: a recipient's keys as files.

use super::passphrase::wanted;
use crate::args::Keygen;
use crate::error::CliError;
use crate::io::{self, Access, Output, Staged};
use omr_client::locked::{Passphrase, lock};
use omr_client::{SecretKey, identity, os_rng, write_detection_key};
use omr_console::{ConsoleError, Ui};
use omr_protocol::frame::Kind;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, Scheme};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of the recipient's secret in her folder.
pub(super) const SECRET_KEY: &str = "secret.key";
/// Name of her address.
pub(super) const CLUE_KEY: &str = "clue.key";

#[derive(Serialize)]
struct Report<'a> {
    params: &'a str,
    clues: &'a str,
    files: Vec<Written>,
}

/// A key file and its size.
#[derive(Clone, Serialize)]
pub(super) struct Written {
    #[serde(serialize_with = "io::as_text")]
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

pub(super) fn run(args: &Keygen, ui: &Ui) -> Result<(), CliError> {
    let set = ParamSet::named(&args.params)?;
    super::warn_if_insecure(set.spec(), ui);
    let board = args.board.as_deref();
    let board = board.map(|board| board_id(board, &set, &args.out, ui));
    let board = board.transpose()?;
    Output::folder(&args.out)?;
    if !args.force {
        refuse_existing(&args.out)?;
    }
    let clues = match args.plain_clues {
        true => ClueKind::Plain,
        false => ClueKind::Bound,
    };
    let passphrase = wanted(&args.locking, &args.out.join(SECRET_KEY))?;
    let wanted = Wanted {
        set: &set,
        scheme: args.scheme,
        clues,
        epoch: board.map(|board| Epoch::at(board, SystemTime::now())),
        passphrase: passphrase.as_ref(),
        force: args.force,
    };
    let (_, files) = wanted.make(&args.out)?;
    if args.json {
        return Ok(io::print_json(&Report {
            params: set.name(),
            clues: clues.name(),
            files,
        })?);
    }
    let line = |file: &Written| {
        format!(
            "{}  {} bytes\n",
            file.path.display(),
            omr_console::thousands(file.bytes)
        )
    };
    Ok(io::print(&files.iter().map(line).collect::<String>())?)
}

/// The id of a board that is given by its folder or by its id.
///
/// Errors: `Input`; `OtherParams` where a folder's board is of another set.
fn board_id(board: &Path, set: &ParamSet, out: &Path, ui: &Ui) -> Result<[u8; 16], CliError> {
    if let Some(id) = board.to_str().and_then(omr_protocol::from_hex)
        && !board.exists()
    {
        return Ok(id);
    }
    let opened = super::board::open(board, ui)?;
    let config = opened.config();
    match config.params_id == set.name() {
        true => Ok(config.board_id),
        false => Err(CliError::OtherParams {
            first: board.to_owned(),
            expected: config.params_id.clone(),
            second: out.to_owned(),
            found: set.name().to_owned(),
        }),
    }
}

pub(super) fn create_folder(path: &Path) -> Result<(), CliError> {
    omr_disk::create_folders(path).map_err(|error| CliError::write(path, error))
}

/// Before the work; committing the files decides.
fn refuse_existing(dir: &Path) -> Result<(), CliError> {
    let detection = EngineKind::ALL.map(EngineKind::key_name);
    for name in [SECRET_KEY, CLUE_KEY].into_iter().chain(detection) {
        let path = dir.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(ConsoleError::Exists(path).into());
        }
    }
    Ok(())
}

/// The keys that are wanted.
pub(super) struct Wanted<'a> {
    pub(super) set: &'a ParamSet,
    /// Detection keys for its engines; for all that the set has unless given.
    pub(super) scheme: Option<Scheme>,
    pub(super) clues: ClueKind,
    /// Whose masks the detection keys have, where the set's recipients share them.
    pub(super) epoch: Option<Epoch>,
    /// The secret is written under it.
    pub(super) passphrase: Option<&'a Passphrase>,
    /// Whether files may be replaced.
    pub(super) force: bool,
}

impl Wanted<'_> {
    /// Makes a recipient's keys and writes them into a folder; none takes its name before all are on the disk.
    ///
    /// Errors: `Params` where the set lacks an engine; `Write`, `Exists`, `Lock`.
    pub(super) fn make(&self, dir: &Path) -> Result<(ClueKey, Vec<Written>), CliError> {
        let set = self.set;
        let engines = set.spec().engines_for(self.scheme);
        for engine in &engines {
            // An engine that the set lacks is told before a folder is made.
            set.key_file_bytes(*engine, self.clues)?;
        }
        create_folder(dir)?;
        let (secret, clue) = identity(set.clue(), self.clues, &mut os_rng());
        let mut staged = vec![
            self.stage_secret(&dir.join(SECRET_KEY), &secret)?,
            stage_clue_key(&dir.join(CLUE_KEY), set, &clue)?,
        ];
        for engine in engines {
            // A detector's key is for the detector alone: whoever has it can look for the recipient's messages too.
            let path = dir.join(engine.key_name());
            staged.push(io::stage(&path, Access::Private, |file| {
                Ok(write_detection_key(
                    set,
                    engine,
                    &secret,
                    self.epoch.as_ref(),
                    &mut os_rng(),
                    file,
                )?)
            })?);
        }
        Ok((clue, commit(staged, self.force)?))
    }

    fn stage_secret(&self, path: &Path, secret: &SecretKey) -> Result<Staged, CliError> {
        let bytes = secret
            .to_bytes(self.set.clue())
            .map_err(|error| CliError::write(path, error))?;
        let lock = |passphrase| lock(Kind::SecretKey, &bytes, passphrase);
        let locked = self.passphrase.map(lock).transpose()?;
        let bytes = locked.as_deref().unwrap_or(&bytes);
        Ok(io::stage_bytes(path, Access::Private, bytes)?)
    }
}

/// Gives files their names and tells their sizes.
///
/// Errors: `Write`, `Exists`.
pub(super) fn commit(staged: Vec<Staged>, force: bool) -> Result<Vec<Written>, CliError> {
    let paths: Vec<_> = staged.iter().map(|file| file.path().to_owned()).collect();
    io::commit(staged, force)?;
    let written = paths.into_iter().map(|path| {
        let metadata = fs::metadata(&path).map_err(|error| CliError::write(&path, error))?;
        let bytes = metadata.len();
        Ok(Written { path, bytes })
    });
    written.collect()
}

fn stage_clue_key(path: &Path, set: &ParamSet, key: &ClueKey) -> Result<Staged, CliError> {
    let bytes = key
        .to_bytes(set.clue())
        .map_err(|error| CliError::write(path, error))?;
    Ok(io::stage_bytes(path, Access::Public, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_disk::{Loss, Recording};

    #[test]
    fn a_folder_of_keys_survives_a_power_failure() {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::start(dir.path()).unwrap();
        create_folder(&dir.path().join("people/ann")).unwrap();
        let made = recording.now();
        let history = recording.finish().unwrap();
        let after = tempfile::tempdir().unwrap();
        history
            .rebuild(made, Loss::All, None, after.path())
            .unwrap();
        assert!(after.path().join("people/ann").is_dir());
    }
}

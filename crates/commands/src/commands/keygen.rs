//! `omr keygen`: writes a recipient's keys to files.

use super::passphrase::wanted;
use super::words::{WordsArgs, printed};
use crate::commands::passphrase::Locking;
use crate::error::CliError;
use crate::io::{self, Access, Output, Staged};
use omr_client::locked::{Passphrase, lock};
use omr_client::{SecretKey, Words, identity, os_rng, write_detection_key};
use omr_console::{ConsoleError, Ui};
use omr_protocol::frame::Kind;
use omr_protocol::params::DEFAULT;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, Scheme};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(clap::Args)]
pub(crate) struct Keygen {
    /// Folder for the three files, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Make detection keys for this scheme alone: sophomr (detection.key), instantomr (instant.key), hybrid (both) or
    /// two-rounds (rounds.key) [default: all that make digests]
    #[arg(long, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    #[command(flatten)]
    pub(crate) words: WordsArgs,
    #[command(flatten)]
    pub(crate) locking: Locking,
    /// Make keys for plain clues (not recommended: an attacker can overflow everybody's digest)
    #[arg(long)]
    pub(crate) plain_clues: bool,
    /// Board of the detection key, by its folder or its id: a detector can serve the key together with other keys of
    /// this board and quarter [default: serve it alone]
    #[arg(long, value_name = "BOARD")]
    pub(crate) board: Option<PathBuf>,
    /// Replace keys; messages that were posted to the old ones are lost
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const KEYGEN: &str = "\
Examples:
  omr keygen --out alice
  omr keygen --out carol --json
  omr keygen --scheme sophomr --out bob # detection.key alone
  omr keygen --scheme two-rounds --out eve # rounds.key alone: 13 MB
  omr keygen --passphrase --out dora    # secret.key under a passphrase
  omr keygen --board 00112233445566778899aabbccddeeff --out emil
  omr keygen --words --out finn         # prints 24 words, for paper
  omr keygen --from-words words.txt --out gwen # the keys of such words

Give clue.key to everybody who writes to you, detection.key and instant.key to the detector you hire, and \
secret.key to nobody. `omr id passphrase --home DIR` sets, changes or removes its passphrase later. An existing key is replaced only with --force. `omr id show` and \
`omr board stat` print a board's id; docs/security/parameters.md states what a key for a board shares, under Masks of an \
epoch. Words make the same secret.key and clue.key on any machine, with the same --params and --plain-clues, and the \
same keys for the detector, with --board in the same quarter of a year. Case, blanks and numbers between the words do \
not matter; they are never taken from the command line, which other programs can see.";

/// The name of the secret's file in the recipient's folder.
pub(super) const SECRET_KEY: &str = "secret.key";
/// The name of the address's file.
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
    let board = match &args.board {
        Some(named) => Some(board_id(named, &set, &args.out, ui)?),
        None => None,
    };
    Output::folder(&args.out)?;
    if !args.force {
        refuse_existing(&args.out)?;
    }
    let clues = if args.plain_clues {
        ClueKind::Plain
    } else {
        ClueKind::Bound
    };
    let words = args.words.wanted()?;
    let passphrase = wanted(&args.locking, &args.out.join(SECRET_KEY))?;
    let wanted = Wanted {
        set: &set,
        scheme: args.scheme,
        clues,
        words: words.as_ref(),
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
    if let Some(words) = words.filter(|_| args.words.words) {
        io::print(&printed(&words, None))?;
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

/// Returns the id of a board, given by its folder or its id.
///
/// Errors: `Input`; `OtherParams` where a folder's board has another set.
fn board_id(board: &Path, set: &ParamSet, out: &Path, ui: &Ui) -> Result<[u8; 16], CliError> {
    if let Some(id) = board.to_str().and_then(omr_protocol::from_hex)
        && !board.exists()
    {
        return Ok(id);
    }
    let opened = super::board::open(board, ui)?;
    let config = opened.config();
    if config.params_id == set.name() {
        Ok(config.board_id)
    } else {
        Err(CliError::OtherParams {
            first: board.to_owned(),
            expected: config.params_id.clone(),
            second: out.to_owned(),
            found: set.name().to_owned(),
        })
    }
}

pub(super) fn create_folder(path: &Path) -> Result<(), CliError> {
    omr_disk::create_folders(path).map_err(|error| CliError::write(path, error))
}

/// Refuses existing files before the work; committing the files decides.
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

/// The properties of the keys to make.
pub(super) struct Wanted<'a> {
    pub(super) set: &'a ParamSet,
    /// The scheme whose detection keys are made; `None` for all keys that the set has.
    pub(super) scheme: Option<Scheme>,
    pub(super) clues: ClueKind,
    /// The words that the keys are derived from; `None` for random keys.
    pub(super) words: Option<&'a Words>,
    /// The epoch whose masks the detection keys have, where the recipients of the set share masks.
    pub(super) epoch: Option<Epoch>,
    /// The passphrase under which the secret is written.
    pub(super) passphrase: Option<&'a Passphrase>,
    /// Whether files may be replaced.
    pub(super) force: bool,
}

impl Wanted<'_> {
    /// Makes a recipient's keys and writes them into a folder. Files get their names only after all are on the disk.
    ///
    /// Errors: `Params` where the set lacks an engine; `Write`, `Exists`, `Lock`.
    pub(super) fn make(&self, dir: &Path) -> Result<(ClueKey, Vec<Written>), CliError> {
        let set = self.set;
        let engines = set.spec().engines_for(self.scheme);
        for engine in &engines {
            // A missing engine is reported before a folder is made.
            set.key_file_bytes(*engine, self.clues)?;
        }
        create_folder(dir)?;
        let (secret, clue) = match self.words {
            Some(words) => words.identity(set.clue(), self.clues),
            None => identity(set.clue(), self.clues, &mut os_rng()),
        };
        let mut staged = vec![
            self.stage_secret(&dir.join(SECRET_KEY), &secret)?,
            stage_clue_key(&dir.join(CLUE_KEY), set, &clue)?,
        ];
        for engine in engines {
            // A detection key is for the detector alone: its owner can look for the recipient's messages too.
            let path = dir.join(engine.key_name());
            let mut rng = match self.words {
                Some(words) => words.detection_rng(set.clue(), self.clues),
                None => os_rng(),
            };
            staged.push(io::stage(&path, Access::Private, |file| {
                Ok(write_detection_key(
                    set,
                    engine,
                    &secret,
                    self.epoch.as_ref(),
                    &mut rng,
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

/// Gives files their names. Returns their sizes.
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

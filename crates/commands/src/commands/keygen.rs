use super::passphrase::wanted;
use crate::args::Keygen;
use crate::error::{CliError, InputError};
use crate::io::{self, Access, Output, Staged};
use omr_client::locked::{Passphrase, lock};
use omr_client::sophomr::detection_key;
use omr_client::{SecretKey, SecretKeyError, identity, instantomr};
use omr_console::{ConsoleError, Ui};
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::params::{DEFAULT, HYBRID};
use omr_protocol::sophomr::DetectionKey;
use omr_protocol::{ClueKey, ClueKind, DetectionKeyError, EngineKind, ParamSet, Scheme};
use rand_core::CryptoRng;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the recipient's secret in her folder.
pub(super) const SECRET_KEY: &str = "secret.key";
/// Name of her address.
pub(super) const CLUE_KEY: &str = "clue.key";
/// Name of the detector's key for SophOMR.
pub(super) const DETECTION_KEY: &str = "detection.key";
/// Name of the detector's key for InstantOMR.
pub(super) const INSTANT_KEY: &str = "instant.key";

/// Set of a scheme unless told otherwise.
pub(super) fn default_set(scheme: Option<Scheme>) -> &'static str {
    match scheme {
        None | Some(Scheme::Sophomr | Scheme::Sophomd) => DEFAULT,
        Some(_) => HYBRID,
    }
}

/// A recipient's keys, those for detectors as far as they are wanted.
pub(super) struct Made {
    pub(super) secret: SecretKey,
    pub(super) clue: ClueKey,
    pub(super) detection: Option<DetectionKey>,
    pub(super) instant: Option<InstantKey>,
}

impl Made {
    /// Keys for clues of a kind and for the engines of a scheme; for all that the set has unless given.
    ///
    /// Errors: `Params` where the set lacks one.
    pub(super) fn new(
        set: &ParamSet,
        scheme: Option<Scheme>,
        clues: ClueKind,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, CliError> {
        let spec = set.spec();
        let engines = scheme.map_or(spec.engines(), |scheme| scheme.engines().to_vec());
        let (secret, clue) = identity(set.clue(), clues, rng);
        let mut made = Self {
            secret,
            clue,
            detection: None,
            instant: None,
        };
        if engines.contains(&EngineKind::Sophomr) {
            made.detection = Some(detection_key(set.sophomr()?, &made.secret, rng));
        }
        if engines.contains(&EngineKind::Instantomr) {
            let key = instantomr::detection_key(set.instantomr()?, &made.secret, rng);
            made.instant = Some(key.map_err(|error: SecretKeyError| {
                CliError::write("instant.key", InputError::from(error))
            })?);
        }
        Ok(made)
    }
}

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
    let name = args.params.as_deref();
    let set = ParamSet::for_new(name.unwrap_or(default_set(args.scheme)), args.allow_old)?;
    super::warn_if_insecure(set.spec(), ui);
    Output::folder(&args.out)?;
    if !args.force {
        refuse_existing(&args.out)?;
    }
    let clues = match args.plain_clues {
        true => ClueKind::Plain,
        false => ClueKind::Bound,
    };
    let passphrase = wanted(&args.locking, &args.out.join(SECRET_KEY))?;
    let keys = Made::new(&set, args.scheme, clues, &mut omr_client::os_rng())?;
    create_folder(&args.out)?;
    let files = write(&args.out, &set, &keys, (passphrase.as_ref(), args.force))?;
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

pub(super) fn create_folder(path: &Path) -> Result<(), CliError> {
    fs::create_dir_all(path).map_err(|error| CliError::write(path, error))
}

/// Before the work; committing the files decides.
fn refuse_existing(dir: &Path) -> Result<(), CliError> {
    for name in [SECRET_KEY, CLUE_KEY, DETECTION_KEY, INSTANT_KEY] {
        let path = dir.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(ConsoleError::Exists { path }.into());
        }
    }
    Ok(())
}

/// Writes the files, the secret under the passphrase if there is one; none takes its name before all are on the disk.
///
/// Errors: `Write`, `Exists`, `Lock`.
pub(super) fn write(
    dir: &Path,
    set: &ParamSet,
    keys: &Made,
    (passphrase, force): (Option<&Passphrase>, bool),
) -> Result<Vec<Written>, CliError> {
    let secret = dir.join(SECRET_KEY);
    let bytes = keys
        .secret
        .to_bytes(set.clue())
        .map_err(|error| CliError::write(&secret, error))?;
    let locked = passphrase.map(|passphrase| lock(Kind::SecretKey, &bytes, passphrase));
    let locked = locked.transpose()?;
    let mut staged = vec![
        io::stage_bytes(
            &secret,
            Access::Private,
            locked.as_deref().unwrap_or(&bytes),
        )?,
        stage_clue_key(&dir.join(CLUE_KEY), set, &keys.clue)?,
    ];
    if let Some(key) = &keys.detection {
        let params = set.sophomr()?;
        staged.push(stage(&dir.join(DETECTION_KEY), |file| {
            key.write(params, file)
        })?);
    }
    if let Some(key) = &keys.instant {
        let params = set.instantomr()?;
        staged.push(stage(&dir.join(INSTANT_KEY), |file| {
            key.write(params, file)
        })?);
    }
    commit(staged, force)
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

/// A detector's key is for the detector alone: whoever has it can look for her messages too.
fn stage(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> Result<(), DetectionKeyError>,
) -> Result<Staged, CliError> {
    io::stage(path, Access::Private, |file| Ok(write(file)?))
}

use crate::args::Keygen;
use crate::error::{CliError, InputError};
use crate::io::{self, Access, Staged};
use omr_client::Keys;
use omr_protocol::{ClueKey, DetectionKey, Params};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the recipient's secret in her folder.
pub(super) const SECRET_KEY: &str = "secret.key";
/// Name of her address.
pub(super) const CLUE_KEY: &str = "clue.key";
/// Name of the detector's key.
pub(super) const DETECTION_KEY: &str = "detection.key";

#[derive(Serialize)]
struct Report<'a> {
    params: &'a str,
    files: Vec<Written>,
}

/// A key file and its size.
#[derive(Clone, Serialize)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

pub(super) fn run(args: &Keygen) -> Result<(), CliError> {
    let params = Params::named(&args.params)?;
    create_folder(&args.out)?;
    if !args.force {
        refuse_existing(&args.out)?;
    }
    let keys = omr_client::keygen(&params, &mut omr_client::os_rng());
    let files = write(&args.out, &params, &keys, args.force)?;
    if args.json {
        return io::print_json(&Report {
            params: params.name(),
            files,
        });
    }
    let line = |file: &Written| {
        format!(
            "{}  {} bytes\n",
            file.path.display(),
            super::thousands(file.bytes)
        )
    };
    io::print(&files.iter().map(line).collect::<String>())
}

pub(super) fn create_folder(path: &Path) -> Result<(), CliError> {
    fs::create_dir_all(path).map_err(|error| CliError::write(path, error))
}

/// Before the work; committing the files decides.
fn refuse_existing(dir: &Path) -> Result<(), CliError> {
    for name in [SECRET_KEY, CLUE_KEY, DETECTION_KEY] {
        let path = dir.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(CliError::Exists { path });
        }
    }
    Ok(())
}

/// Writes the three files; none takes its name before all are on the disk.
///
/// Errors: `Write`, `Exists`.
pub(super) fn write(
    dir: &Path,
    params: &Params,
    keys: &Keys,
    force: bool,
) -> Result<Vec<Written>, CliError> {
    let secret = dir.join(SECRET_KEY);
    let bytes = keys
        .secret
        .to_bytes(params)
        .map_err(|error| CliError::write(&secret, error))?;
    let staged = [
        io::stage_bytes(&secret, Access::Private, &bytes)?,
        stage_clue_key(&dir.join(CLUE_KEY), params, &keys.clue)?,
        stage_detection_key(&dir.join(DETECTION_KEY), params, &keys.detection)?,
    ];
    let mut written = Vec::new();
    for file in staged {
        let path = file.path().to_owned();
        file.commit(force)?;
        let metadata = fs::metadata(&path).map_err(|error| CliError::write(&path, error))?;
        written.push(Written {
            path,
            bytes: metadata.len(),
        });
    }
    Ok(written)
}

fn stage_clue_key(path: &Path, params: &Params, key: &ClueKey) -> Result<Staged, CliError> {
    let bytes = key
        .to_bytes(params)
        .map_err(|error| CliError::write(path, error))?;
    io::stage_bytes(path, Access::Public, &bytes)
}

fn stage_detection_key(
    path: &Path,
    params: &Params,
    key: &DetectionKey,
) -> Result<Staged, CliError> {
    Staged::write(path, Access::Public, |file| {
        key.write(params, file).map_err(InputError::from)
    })
}

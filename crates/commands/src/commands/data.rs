//! `omr data`: what a server keeps.

use super::network::connect;
use crate::args::{DataBackup, DataCommand, DataExpire, DataOf, DataRestore, DataVerify};
use crate::error::{CliError, InputError};
use crate::io;
use futures::StreamExt;
use omr_console::Ui;
use omr_console::chain;
use omr_detector::Progress;
use omr_remote::Endpoint;
use omr_server::{Config, create_private_files, store_config};
use omr_store::{Expiry, Piece, Report, Store, StoreConfig};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

#[derive(Serialize)]
struct Verified {
    first_index: u64,
    messages: u64,
    segments: u64,
    keys: u64,
    faults: Vec<String>,
    repaired: Vec<String>,
}

pub(super) fn run(command: &DataCommand, ui: &Ui) -> Result<(), CliError> {
    // A backup is as secret as the server itself.
    create_private_files();
    match command {
        DataCommand::Verify(args) => verify(args, ui),
        DataCommand::Backup(args) => backup(args, ui),
        DataCommand::Restore(args) => restore(args, ui),
        DataCommand::Repair(args) => repair(args, ui),
        DataCommand::Expire(args) => expire(args, ui),
        DataCommand::Jobs(args) => super::data_jobs::run(args, ui),
    }
}

pub(super) fn place(of: &DataOf) -> Result<StoreConfig, CliError> {
    let mut config = Config::of(of.config.as_deref())?;
    config.data = of.data.clone().unwrap_or(config.data);
    Ok(store_config(&config))
}

/// Reads a certificate in PEM.
///
/// Errors: `Input`.
pub(super) fn certificate(path: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(path).map_err(|error| CliError::input(path)(InputError::Io(error)))
}

fn verify(args: &DataVerify, ui: &Ui) -> Result<(), CliError> {
    let store = Store::open(&place(&args.of)?)?;
    let bar = ui.bar();
    let report = store.verify(&mut steps(&bar, "bytes"))?;
    let clues = super::clues::sweep(store.board(), store.first()..store.len(), |range, tag| {
        let kept = store.kept_hashes(range.clone(), tag).unwrap_or_default();
        super::clues::keep(range.start, &kept, |visit| {
            let _ = store.read(range, visit);
        })
    })?;
    drop(bar);
    print_report(&report, clues.told, args.json, ui)
}

/// A bar for calls that say how far they are of how much.
fn steps<'a>(bar: &'a dyn Progress, name: &'static str) -> impl FnMut(u64, u64) + 'a {
    let mut before = None;
    move |done, total| {
        let last = *before.get_or_insert_with(|| {
            bar.stage(name, total);
            0
        });
        bar.advance(done.saturating_sub(last));
        before = Some(done);
    }
}

/// `clues`: those that their keys did not sign.
fn print_report(report: &Report, clues: Vec<String>, json: bool, ui: &Ui) -> Result<(), CliError> {
    let faults = report.faults.iter().map(|fault| chain(fault));
    let faults: Vec<String> = faults.chain(clues).collect();
    for line in &faults {
        ui.warn(line);
    }
    let verified = Verified {
        first_index: report.first,
        messages: report.messages,
        segments: report.segments,
        keys: report.keys,
        faults,
        repaired: report.repaired.clone(),
    };
    match json {
        true => io::print_json(&verified)?,
        false => ui.note(&format!(
            "checked {} messages, {} segments, {} keys; repaired {} objects",
            verified.messages - verified.first_index,
            verified.segments,
            verified.keys,
            verified.repaired.len()
        )),
    }
    match verified.faults.len() as u64 {
        0 => Ok(()),
        faults => Err(CliError::Faults(faults)),
    }
}

fn backup(args: &DataBackup, ui: &Ui) -> Result<(), CliError> {
    let mut folder = Folder::open(&args.to)?;
    match &args.server {
        Some(url) => online(args, url, &mut folder, ui)?,
        None => {
            let store = Store::open(&place(&args.of)?)?;
            let have = folder.have.clone();
            let mut failed = None;
            let done = store.backup(&have, &mut |piece: Piece<'_>| {
                folder
                    .take(piece.name, piece.offset, piece.data, piece.last)
                    .map_err(|error| {
                        failed = Some(error);
                        omr_store::StoreError::Stopped
                    })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            done?;
        }
    }
    ui.note(&format!(
        "{} files, {} bytes new",
        folder.files,
        omr_console::thousands(folder.bytes)
    ));
    Ok(())
}

fn online(args: &DataBackup, url: &str, folder: &mut Folder, ui: &Ui) -> Result<(), CliError> {
    let endpoint = Endpoint {
        ca_certificate: args.ca.as_deref().map(certificate).transpose()?,
        token: args.token.text(),
        ..Endpoint::new(url)
    };
    super::serve::runtime()?.block_on(async {
        let client = connect(endpoint, ui)?;
        let have = folder.have.iter().cloned().collect();
        let mut pieces = std::pin::pin!(client.backup(have).await?);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            folder.take(&piece.name, piece.offset, &piece.data, piece.last)?;
        }
        Ok(())
    })
}

/// The folder of a backup. A file has its name once it is complete and on the disk.
struct Folder {
    path: PathBuf,
    have: HashSet<String>,
    open: Option<(String, File)>,
    files: u64,
    bytes: u64,
}

/// The name of a file that is not complete.
const PARTIAL: &str = ".partial";

impl Folder {
    fn open(path: &Path) -> Result<Self, CliError> {
        let read = || -> std::io::Result<HashSet<String>> {
            create_private(path)?;
            let mut have = HashSet::new();
            names(path, path, &mut have)?;
            Ok(have)
        };
        Ok(Self {
            have: read().map_err(|error| CliError::write(path, error))?,
            path: path.to_owned(),
            open: None,
            files: 0,
            bytes: 0,
        })
    }

    fn take(&mut self, name: &str, offset: u64, data: &[u8], last: bool) -> Result<(), CliError> {
        let path = self.path.join(name);
        let written = self.write(name, offset, data, last);
        written.map_err(|error| CliError::write(path, error))
    }

    fn write(&mut self, name: &str, offset: u64, data: &[u8], last: bool) -> std::io::Result<()> {
        // A server must not choose where files go.
        let inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !inside || name.is_empty() {
            return Err(std::io::Error::other("expected a path inside the backup"));
        }
        let path = self.path.join(name);
        let partial = self.path.join(PARTIAL);
        let file = match &mut self.open {
            Some((open, file)) if open == name => file,
            open => &mut open.insert((name.to_owned(), private(&partial)?)).1,
        };
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(data)?;
        self.bytes += data.len() as u64;
        if !last {
            return Ok(());
        }
        file.sync_all()?;
        let folder = path.parent().unwrap_or(&self.path);
        create_private(folder)?;
        fs::rename(&partial, &path)?;
        File::open(folder)?.sync_all()?;
        self.open = None;
        self.files += 1;
        Ok(())
    }
}

/// Makes a folder for the owner alone, as what it will hold is as secret as the server itself.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes an empty file for the owner alone.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Relative names of all files, with `/` between folders.
fn names(root: &Path, folder: &Path, out: &mut HashSet<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            names(root, &path, out)?;
        } else if let Ok(name) = path.strip_prefix(root)
            && name != Path::new(PARTIAL)
        {
            out.insert(
                name.to_string_lossy()
                    .replace(std::path::MAIN_SEPARATOR, "/"),
            );
        }
    }
    Ok(())
}

fn restore(args: &DataRestore, ui: &Ui) -> Result<(), CliError> {
    let bar = ui.bar();
    let restored = Store::restore(&place(&args.of)?, &args.from, &mut steps(&bar, "files"))?;
    drop(bar);
    ui.note(&format!(
        "{} messages, {} keys restored",
        restored.messages, restored.keys
    ));
    Ok(())
}

#[derive(Serialize)]
struct Gone {
    expired: u64,
    bytes: u64,
    first_index: u64,
    messages: u64,
}

fn expire(args: &DataExpire, ui: &Ui) -> Result<(), CliError> {
    let store = Store::open(&place(&args.of)?)?;
    let keep = Expiry::Keep(args.keep.unwrap_or(u64::MAX));
    let expired = store.expire(args.older_than.map_or(keep, Expiry::OlderThan))?;
    let gone = Gone {
        expired: expired.range.end - expired.range.start,
        bytes: expired.bytes,
        first_index: store.first(),
        messages: store.len(),
    };
    if args.json {
        return Ok(io::print_json(&gone)?);
    }
    ui.note(&format!(
        "{} messages expired, {} bytes; the board begins at {} and has {} left",
        omr_console::thousands(gone.expired),
        omr_console::thousands(gone.bytes),
        gone.first_index,
        omr_console::thousands(gone.messages - gone.first_index)
    ));
    Ok(())
}

fn repair(args: &DataRestore, ui: &Ui) -> Result<(), CliError> {
    let store = Store::open(&place(&args.of)?)?;
    let report = store.repair(&args.from)?;
    print_report(&report, Vec::new(), false, ui)
}

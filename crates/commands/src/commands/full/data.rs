//! `omr data`: manages a server's data.

use super::network::connect;
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::data_jobs::DataJobs;
use crate::commands::full::mail::duration;
use crate::commands::{listed, summary};
use crate::error::{CliError, InputError};
use futures::StreamExt;
use omr_console::{ConsoleError, Ui, WriteError, chain};
use omr_detector::Progress;
use omr_remote::Endpoint;
use omr_server::{Config, create_private_files, restore_tokens, store_config};
use omr_store::{Expiry, Pruned, Report, Store, StoreConfig, StoreError};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

pub(crate) const DATA: &str = "\
Examples:
  omr data backup --server http://127.0.0.1:7600 --token TOKEN \\
    --to /backups/omr --keep 30
  omr data verify --from /backups/omr
  omr data backup --data omr-data --to /backups/omr # the server is stopped
  omr data verify --data omr-data
  omr data repair --data omr-data --from /backups/omr
  omr data restore --data new-data --from /backups/omr
  omr data expire --data omr-data --older-than 90d # the server is stopped
  omr data jobs --data omr-data --drop all # the server is stopped

Messages expire in whole segments (4,096 messages unless configured otherwise); a server that runs does the same by \
itself with `board.expire_days`. A recipient who fetches too late sees which messages were missed.";

#[derive(clap::Subcommand)]
pub(crate) enum DataCommand {
    /// Check all data of a stopped server, or a folder of backups
    #[command(after_help = DATA)]
    Verify(DataVerify),
    /// Copy all data of a server into a folder; files that the folder has are not sent again
    #[command(after_help = DATA)]
    Backup(DataBackup),
    /// Restore a server's data from the newest backup that can be read
    #[command(after_help = DATA)]
    Restore(DataRestore),
    /// Repair the data of a stopped server, from a backup or from the rest of the data
    #[command(after_help = DATA)]
    Repair(DataRepair),
    /// Remove the oldest messages of a stopped server, in whole segments; the others keep their indices
    #[command(after_help = DATA)]
    Expire(DataExpire),
    /// List the digests that a stopped server has yet to make, and those that failed; can drop them
    #[command(after_help = DATA)]
    Jobs(DataJobs),
}

/// The options that name a server's data folder, by its path or in a configuration.
#[derive(clap::Args)]
pub(crate) struct DataOf {
    /// The server's configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The server's data folder, in place of the configuration's
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct DataVerify {
    /// A folder of backups, in place of a server's data
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "data"])]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DataBackup {
    /// URL of a running server, which requires a token with the right admin [default: the data folder of a stopped
    /// server]
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "data"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Folder of the backup, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// Then remove all backups of the folder but the newest N, and everything that none of these needs, including
    /// expired messages and revoked keys
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DataRestore {
    /// Folder of the backup
    #[arg(long, value_name = "DIR")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DataRepair {
    /// Folder of a backup that has the missing data. Without one, damage that only a backup could repair is given up:
    /// damaged records are dropped and messages marked as lost
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
#[group(id = "which", required = true, multiple = false, args = ["older_than", "keep"])]
pub(crate) struct DataExpire {
    /// Remove messages older than this, such as 90d or 36h; only time during which the server ran counts
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,
    /// Remove all but the last N messages
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
struct Verified {
    first_index: u64,
    messages: u64,
    segments: u64,
    keys: u64,
    /// Messages that are lost for readers, too.
    lost: Vec<u64>,
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

fn config(of: &DataOf) -> Result<Config, CliError> {
    let mut config = Config::of(of.config.as_deref())?;
    config.data = of.data.clone().unwrap_or(config.data);
    Ok(config)
}

pub(super) fn place(of: &DataOf) -> Result<StoreConfig, CliError> {
    Ok(store_config(&config(of)?))
}

/// Reads a certificate in PEM.
///
/// Errors: `Input`.
pub(super) fn certificate(path: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(path).map_err(|error| CliError::input(path)(InputError::Io(error)))
}

fn verify(args: &DataVerify, ui: &Ui) -> Result<(), CliError> {
    if let Some(from) = &args.from {
        let bar = ui.bar();
        let report = Store::verify_backups(from, &mut steps(&bar, "files"))?;
        drop(bar);
        let advice = "remove the file, if it is there, and back up again, which writes it again";
        let faults = report
            .faults
            .iter()
            .map(|fault| format!("{}: {advice}", chain(fault)))
            .collect();
        return print_report(&report, faults, args.json, ui);
    }
    let place = place(&args.of)?;
    if !Store::exists(&place.dir) && Store::has_backups(&place.dir) {
        return Err(FullError::Backups(place.dir).into());
    }
    let store = Store::open(&place)?;
    let bar = ui.bar();
    let report = store.verify(&mut steps(&bar, "bytes"))?;
    let clues =
        crate::commands::clues::sweep(store.board(), store.first()..store.len(), |range, tag| {
            let kept = store.kept_hashes(range.clone(), tag).unwrap_or_default();
            crate::commands::clues::keep(range.start, &kept, |visit| {
                let _ = store.read(range, visit);
            })
        })?;
    drop(bar);
    let faults = report
        .faults
        .iter()
        .map(advised)
        .chain(clues.described)
        .collect();
    print_report(&report, faults, args.json, ui)
}

/// Returns a fault of a server's data, with advice.
fn advised(fault: &StoreError) -> String {
    let advice = match fault {
        StoreError::Damaged { object, .. } => match object.split('/').next() {
            Some("tail") => {
                "`omr data repair --from BACKUP` takes it from a backup that has it; `omr data repair` marks it as lost"
            }
            Some("segments") => "`omr data repair --from BACKUP` takes it from there",
            Some("keys") => {
                "`omr data repair --from BACKUP` takes it from there, or its owner registers it again"
            }
            _ => "`omr data repair` writes it again",
        },
        StoreError::Row { table, .. } => match table.as_str() {
            "posts" | "order" => {
                "`omr data repair` drops it, and nothing is lost: it only helps to recognise a post that comes again"
            }
            "keys" => {
                "`omr data repair` makes it from the key, or drops it if the key is gone: its owner registers it again"
            }
            "records" => {
                "`omr data repair --from BACKUP` takes it from there; `omr data repair` drops it: its client requests it again"
            }
            "segments" => {
                "put the segment of a backup into objects/segments: the next start finds it"
            }
            "uploads" => "the next start drops it: its client begins again",
            _ => "`omr data repair` makes it again",
        },
        StoreError::KeyCount(_) => "`omr data repair` makes it again, or the next start",
        StoreError::Database(_) | StoreError::Panicked => {
            "`omr data backup` saves all that can be read; restore that, or an older backup"
        }
        _ => "see docs/operating.md, \"Backup, restore, repair\"",
    };
    format!("{}: {advice}", chain(fault))
}

/// Returns a function that shows the progress of a call on a bar.
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

/// Prints the checked items and the faults.
///
/// Errors: `Faults`.
fn print_report(report: &Report, faults: Vec<String>, json: bool, ui: &Ui) -> Result<(), CliError> {
    warn_all(&faults, ui);
    if !report.lost.is_empty() {
        ui.warn(&format!(
            "lost: {}; readers see that, and `omr data repair --from BACKUP` takes them from a backup that has them",
            listed(&report.lost)
        ));
    }
    let verified = Verified {
        first_index: report.first,
        messages: report.messages,
        segments: report.segments,
        keys: report.keys,
        lost: report.lost.clone(),
        faults,
        repaired: report.repaired.clone(),
    };
    if !json {
        for what in &verified.repaired {
            ui.announce(&format!("repaired: {what}"));
        }
    }
    let faults = verified.faults.len() as u64;
    summary(
        &verified,
        &format!(
            "checked {} messages, {} segments, {} keys: {faults} faults, {} repaired, {} messages lost",
            omr_console::thousands(verified.messages - verified.first_index),
            verified.segments,
            verified.keys,
            verified.repaired.len(),
            verified.lost.len()
        ),
        json,
        ui,
    )?;
    found(faults)
}

fn warn_all(faults: &[String], ui: &Ui) {
    for line in faults {
        ui.warn(line);
    }
}

/// Returns an error if there are faults.
///
/// Errors: `Faults`.
fn found(faults: u64) -> Result<(), CliError> {
    match faults {
        0 => Ok(()),
        faults => Err(FullError::Faults(faults).into()),
    }
}

#[derive(Serialize)]
struct BackedUp {
    files: u64,
    bytes: u64,
    faults: Vec<String>,
    /// The number of backups that `--keep` removed.
    removed_backups: u64,
    removed_objects: u64,
    removed_bytes: u64,
}

fn backup(args: &DataBackup, ui: &Ui) -> Result<(), CliError> {
    let mut folder = Folder::open(&args.to)?;
    let faults = match &args.server {
        Some(url) => online(args, url, &mut folder, ui)?,
        None => {
            let config = config(&args.of)?;
            let store = Store::open(&store_config(&config))?;
            let have = folder.have.clone();
            let mut failed = None;
            let done = omr_server::backup(&store, &config.tokens(), &have, &mut |piece| {
                folder
                    .take(piece.name, piece.offset, piece.data, piece.last)
                    .map_err(|error| {
                        failed = Some(error);
                        StoreError::Stopped
                    })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            done?.iter().map(advised).collect()
        }
    };
    warn_all(&faults, ui);
    let pruned = match args.keep {
        // An older backup may have data that this one lacks.
        Some(_) if !faults.is_empty() => Pruned::default(),
        Some(keep) => Store::prune_backups(&args.to, usize::try_from(keep).unwrap_or(usize::MAX))?,
        None => Pruned::default(),
    };
    let count = faults.len() as u64;
    let figures = BackedUp {
        files: folder.files,
        bytes: folder.bytes,
        faults,
        removed_backups: pruned.backups,
        removed_objects: pruned.objects,
        removed_bytes: pruned.bytes,
    };
    let removed = match pruned.backups + pruned.objects {
        0 => String::new(),
        _ => format!(
            "; {} older backups and {} objects removed, {} bytes",
            pruned.backups,
            pruned.objects,
            omr_console::thousands(pruned.bytes)
        ),
    };
    let line = format!(
        "{} files, {} bytes new in {}, {count} faults{removed}",
        figures.files,
        omr_console::thousands(figures.bytes),
        args.to.display()
    );
    summary(&figures, &line, args.json, ui)?;
    found(count)
}

/// Backs up a running server. Returns the damage that it reports.
fn online(
    args: &DataBackup,
    url: &str,
    folder: &mut Folder,
    ui: &Ui,
) -> Result<Vec<String>, CliError> {
    let endpoint = Endpoint {
        ca_certificate: args.ca.as_deref().map(certificate).transpose()?,
        token: args.token.text(),
        ..Endpoint::new(url)
    };
    super::serve::runtime()?.block_on(async {
        let client = connect(endpoint, ui)?;
        let have = folder.have.iter().cloned().collect();
        let mut pieces = std::pin::pin!(client.backup(have).await?);
        let mut faults = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            if piece.name.is_empty() && !piece.fault.is_empty() {
                faults.push(format!(
                    "{}: stop the server and run `omr data verify` for advice",
                    piece.fault
                ));
                continue;
            }
            folder.take(&piece.name, piece.offset, &piece.data, piece.last)?;
        }
        Ok(faults)
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

/// The ending of the name of an incomplete file.
const PARTIAL: &str = ".partial";

impl Folder {
    fn open(path: &Path) -> Result<Self, CliError> {
        if path.is_file() {
            return Err(ConsoleError::write(path, WriteError::NoFolder).into());
        }
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
        omr_disk::sync(file)?;
        let folder = path.parent().unwrap_or(&self.path);
        create_private(folder)?;
        fs::rename(&partial, &path)?;
        omr_disk::sync_folder(folder)?;
        self.open = None;
        self.files += 1;
        Ok(())
    }
}

/// Creates a folder for the owner alone, as its content is as secret as the server itself.
fn create_private(path: &Path) -> std::io::Result<()> {
    omr_disk::create_folders_with(path, |path| {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    })
}

/// Creates an empty file for the owner alone.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the relative names of all files, with `/` between folders.
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

#[derive(Serialize)]
struct RestoredFigures {
    from: String,
    messages: u64,
    segments: u64,
    keys: u64,
    records: u64,
    /// `None` where the backup has no tokens, or where the data folder had some already.
    tokens: Option<u64>,
    lost: Vec<u64>,
    faults: Vec<String>,
}

fn restore(args: &DataRestore, ui: &Ui) -> Result<(), CliError> {
    let config = config(&args.of)?;
    let bar = ui.bar();
    let restored = Store::restore(
        &store_config(&config),
        &args.from,
        &mut steps(&bar, "bytes"),
    )?;
    drop(bar);
    let tokens = restore_tokens(&args.from, &config.tokens())?;
    let faults: Vec<String> = restored
        .faults
        .iter()
        .map(|fault| match fault {
            StoreError::Backup { path, .. } if *path != restored.file => {
                format!("{}: an older backup was taken instead", chain(fault))
            }
            _ => format!("{}: left out", chain(fault)),
        })
        .collect();
    warn_all(&faults, ui);
    if !restored.lost.is_empty() {
        ui.warn(&format!(
            "no backup of the folder has {}: they are marked as lost",
            listed(&restored.lost)
        ));
    }
    let count = faults.len() as u64;
    let figures = RestoredFigures {
        from: restored.file.display().to_string(),
        messages: restored.messages,
        segments: restored.segments,
        keys: restored.keys,
        records: restored.records,
        tokens: tokens.map(|tokens| tokens as u64),
        lost: restored.lost,
        faults,
    };
    let tokens = match figures.tokens {
        Some(tokens) => format!("{tokens} tokens"),
        None => format!("no tokens ({} stays as it is)", config.tokens().display()),
    };
    let line = format!(
        "restored {} messages, {} keys, {} records and {tokens} from {}; {count} faults, {} messages lost",
        omr_console::thousands(figures.messages),
        figures.keys,
        figures.records,
        figures.from,
        figures.lost.len()
    );
    summary(&figures, &line, args.json, ui)?;
    found(count)
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
    let whole = match gone.expired {
        0 => " (messages go in whole segments, and those of the last one stay)",
        _ => "",
    };
    let line = format!(
        "{} messages expired, {} bytes{whole}; the board begins at {} and has {} left",
        omr_console::thousands(gone.expired),
        omr_console::thousands(gone.bytes),
        gone.first_index,
        omr_console::thousands(gone.messages - gone.first_index)
    );
    summary(&gone, &line, args.json, ui)
}

fn repair(args: &DataRepair, ui: &Ui) -> Result<(), CliError> {
    let store = Store::open(&place(&args.of)?)?;
    let report = store.repair(args.from.as_deref())?;
    let faults = report.faults.iter().map(advised).collect();
    print_report(&report, faults, args.json, ui)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_disk::Recording;

    #[test]
    fn files_of_a_backup_survive_a_power_failure() {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::start(dir.path()).unwrap();
        let mut folder = Folder::open(&dir.path().join("far").join("backup")).unwrap();
        let mut kept = Vec::new();
        let pieces = [
            ("objects/segments/one", &[1; 3000], false),
            ("objects/segments/one", &[2; 3000], true),
            ("objects/segments/two", &[3; 3000], true),
            ("meta-1.bak", &[4; 3000], true),
        ];
        let mut content = Vec::new();
        for (name, piece, last) in pieces {
            let offset = content.len() as u64;
            folder.take(name, offset, piece, last).unwrap();
            content.extend_from_slice(piece);
            if last {
                kept.push((recording.now(), name, std::mem::take(&mut content)));
            }
        }
        let history = recording.finish().unwrap();
        let checked = history.crash_everywhere(None, |moment, root| {
            for (since, name, content) in &kept {
                match fs::read(root.join("far").join("backup").join(name)) {
                    Ok(found) if found == *content => {}
                    Err(_) if *since > moment => {}
                    // A file under its name is complete, even if the crash came before the report.
                    found => return Err(format!("{name}: {:?}", found.map(|bytes| bytes.len()))),
                }
            }
            Ok(())
        });
        checked.unwrap();
    }
}

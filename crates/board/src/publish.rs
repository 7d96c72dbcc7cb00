//! Creation of the file of a new board: complete or absent.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use redb::Database;

use crate::config::{BoardConfig, Clues};
use crate::error::{BoardError, Redb};
use crate::format::{
    FILE_NAME, KEY_CONFIG, KEY_STATE, KEY_VERSION, Layout, MESSAGES, META, ONCE, WHOLE_VERSION,
    encode_config,
};
use crate::store::{Guarded, builder, guarded};

/// Writes an empty board into `dir`, under another name first.
///
/// Errors: [`BoardError::Exists`] where the file is there, and those of the disk.
pub(crate) fn publish(dir: &Path, config: &BoardConfig) -> Result<(), BoardError> {
    fs::create_dir_all(dir)?;
    let path = dir.join(FILE_NAME);
    // Before any work, for the common mistake; the linking below decides.
    if fs::exists(&path)? {
        return Err(BoardError::Exists { path });
    }
    let id = u128::from_be_bytes(config.board_id);
    let draft = dir.join(format!("{FILE_NAME}.{id:032x}"));
    remove_if_present(&draft)?;
    let published = guarded(|| {
        let database = builder().create(&draft).map_err(Redb)?;
        initialise(Guarded::new(database).get()?, config)
    })
    .and_then(|()| Ok(link(&draft, &path)?));
    let removed = remove_if_present(&draft);
    match published {
        Err(BoardError::Io { source }) if source.kind() == io::ErrorKind::AlreadyExists => {
            return Err(BoardError::Exists { path });
        }
        other => other?,
    }
    removed?;
    sync_dir(dir)
}

/// Writes the records of an empty board.
pub(crate) fn initialise(database: &Database, config: &BoardConfig) -> Result<(), BoardError> {
    let layout = Layout::choose(config);
    let mut transaction = database.begin_write().map_err(Redb)?;
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META).map_err(Redb)?;
        let version = WHOLE_VERSION.to_le_bytes();
        let encoded = encode_config(config, &layout);
        let state = layout.encode_state(0);
        meta.insert(KEY_VERSION, version.as_slice()).map_err(Redb)?;
        meta.insert(KEY_CONFIG, encoded.as_slice()).map_err(Redb)?;
        meta.insert(KEY_STATE, state.as_slice()).map_err(Redb)?;
        transaction.open_table(MESSAGES).map_err(Redb)?;
        if config.clues == Clues::Bound {
            transaction.open_table(ONCE).map_err(Redb)?;
        }
    }
    Ok(transaction.commit().map_err(Redb)?)
}

/// Gives `draft` its name, never over another file where the file system has links.
fn link(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(draft, path),
        other => other,
    }
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a new name in `dir` survive a crash.
fn sync_dir(dir: &Path) -> Result<(), BoardError> {
    // Other systems neither need it nor open folders as files.
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

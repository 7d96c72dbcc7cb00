//! Verification: every record, and the database under them.

use std::fs::File;

use redb::backends::FileBackend;
use redb::{DatabaseError, ReadableTableMetadata, StorageBackend};

use crate::config::Clues;
use crate::error::{BoardError, Redb};
use crate::overlay::Overlay;
use crate::snapshot::{Keys, Snapshot};
use crate::store::{Guarded, Source, builder, guarded};

/// Faults listed in full; the others are counted.
const MAX_LISTED: usize = 16;

/// What [`crate::Board::verify`] found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Messages the board should hold: those that have not expired.
    pub messages: u64,
    /// Messages that cannot be read as they were appended.
    pub bad_messages: u64,
    /// The first 16 faults: [`BoardError::Corrupt`], [`BoardError::Chunk`],
    /// [`BoardError::ChunkCount`], [`BoardError::KeyCount`], [`BoardError::Key`] or an error of the
    /// database.
    pub faults: Vec<BoardError>,
    /// The database under the records.
    pub structure: Structure,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && matches!(self.structure, Structure::Sound)
    }

    fn add(&mut self, messages: u64, fault: BoardError) {
        self.bad_messages += messages;
        if self.faults.len() < MAX_LISTED {
            self.faults.push(fault);
        }
    }
}

/// The state of the database under the records, by its own checksums.
#[derive(Debug)]
#[non_exhaustive]
pub enum Structure {
    /// Every page agrees.
    Sound,
    /// Something disagrees, and the database could repair it, perhaps at the cost of messages.
    Inconsistent,
    /// It cannot be repaired.
    Damaged(BoardError),
}

pub(crate) fn verify(
    source: &Source,
    snapshot: &Snapshot,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, BoardError> {
    let structure = match check_structure(source) {
        Ok(true) => Structure::Sound,
        Ok(false) => Structure::Inconsistent,
        Err(error @ BoardError::Io { .. }) => return Err(error),
        Err(error) => Structure::Damaged(error),
    };
    let (first, len) = (snapshot.first(), snapshot.len());
    let messages = len - first;
    let mut report = Report {
        messages,
        bad_messages: 0,
        faults: Vec::new(),
        structure,
    };
    let chunks = first / snapshot.layout().chunk_messages..snapshot.layout().chunk_count(len);
    let expected = chunks.end - chunks.start;
    match snapshot.stored_chunks() {
        Ok(found) if found == expected => {}
        Ok(found) => report.add(0, BoardError::ChunkCount { expected, found }),
        Err(error) => report.add(0, error),
    }
    let keys = open_keys(snapshot, &mut report);
    for chunk in chunks {
        check_chunk(snapshot, keys.as_ref(), chunk, &mut report);
        let done = snapshot.layout().chunk_range(chunk, len).end - first;
        progress(done, messages);
    }
    Ok(report)
}

/// The list of keys, one for each message that ever was on the board; none where there is none to look at.
fn open_keys(snapshot: &Snapshot, report: &mut Report) -> Option<Keys> {
    let counted = snapshot.keys().and_then(|keys| {
        let count = |keys: &Keys| guarded(|| Ok(keys.get()?.len().map_err(Redb)?));
        let found = keys.as_ref().map(count).transpose()?;
        Ok((keys, found))
    });
    let expected = snapshot.len();
    match counted {
        Ok((keys, found)) => {
            if let Some(found) = found.filter(|found| *found != expected) {
                report.add(0, BoardError::KeyCount { expected, found });
            }
            keys
        }
        Err(error) => {
            report.add(0, error);
            None
        }
    }
}

/// Tests that the key of a message is listed as its own.
fn check_key(keys: &Keys, index: u64, clue: &[u8]) -> Result<(), BoardError> {
    let Some(key) = Clues::Bound.post_key(clue) else {
        return Ok(());
    };
    let found = guarded(|| {
        let found = keys.get()?.get(key).map_err(Redb)?;
        Ok(found.map(|guard| guard.value()))
    })?;
    match found {
        Some(found) if found == index => Ok(()),
        found => Err(BoardError::Key { index, found }),
    }
}

fn check_chunk(snapshot: &Snapshot, keys: Option<&Keys>, chunk: u64, report: &mut Report) {
    let range = snapshot.layout().chunk_range(chunk, snapshot.len());
    let guard = match snapshot.chunk(chunk) {
        Ok(guard) => guard,
        Err(fault) => return report.add(range.end - range.start, fault),
    };
    for (index, record) in snapshot.records(chunk, guard.value()) {
        match snapshot.layout().open_record(index, record) {
            Err(fault) => report.add(1, fault),
            Ok((clue, _)) => {
                let listed = keys.map_or(Ok(()), |keys| check_key(keys, index, clue));
                if let Err(fault) = listed {
                    report.add(0, fault);
                }
            }
        }
    }
}

/// Has redb check its pages, on a copy-on-write view: its check repairs what it can in place,
/// which here could roll back acknowledged appends.
fn check_structure(source: &Source) -> Result<bool, BoardError> {
    match source {
        Source::File(path) => {
            let file = FileBackend::new(File::open(path)?).map_err(Redb)?;
            check_view(Overlay::new(file)?)
        }
        #[cfg(test)]
        Source::Disk(disk) => check_view(Overlay::new(disk.attach())?),
    }
}

fn check_view(view: Overlay<impl StorageBackend>) -> Result<bool, BoardError> {
    guarded(|| {
        let database = builder().create_with_backend(view).map_err(Redb)?;
        let mut database = Guarded::new(database);
        let checked: Result<bool, DatabaseError> = database.get_mut()?.check_integrity();
        Ok(checked.map_err(Redb)?)
    })
}

//! Restoring a store from a folder of backups.

use omr_errors::Mismatch;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use redb::Database;

use super::frames::{Frame, Frames, KINDS, Start, check_row, newest_first, one_history};
use super::objects::{Objects, Place, key_name};
use super::{META_FILE, Store, StoreConfig, claim, mend, sealed};
use crate::config::{BoardConfig, Clues};
use crate::database::create_folder;
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{
    History, Layout, Rows, SEGMENTS, SPENT, State, TAIL, hash_of, index_key, index_of, numbers,
    open_row, pack,
};
use crate::once::nobodys;
use crate::publish::publish;
use crate::segment::Segment;
use crate::tables::{Writing, initialise_at, short};
use crate::tail::{lost_record, most_in_run};

/// The number of bytes of rows in one transaction.
const BATCH_BYTES: usize = 16 << 20;
const COPY_BYTES: usize = 1 << 20;

/// The result of a restore.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored {
    /// The configuration of the board.
    pub board: BoardConfig,
    /// The file of the tables from which the store was restored.
    pub file: PathBuf,
    /// The number of messages, including those that have expired.
    pub messages: u64,
    /// The id of the history that begins with this restore.
    pub history: [u8; 16],
    /// The number of segments.
    pub segments: u64,
    /// The number of detection keys.
    pub keys: u64,
    /// The number of records.
    pub records: u64,
    /// The messages that are lost: neither this backup nor an older one in the folder has them intact. Only searched if
    /// there are faults.
    pub lost: Vec<u64>,
    /// The faults of newer files of tables that could not be read, and of rows, keys and segments that were left out.
    pub faults: Vec<StoreError>,
}

/// The content of a file of the tables.
pub(super) struct Manifest {
    pub(super) file: PathBuf,
    pub(super) board: BoardConfig,
    pub(super) layout: Layout,
    pub(super) state: State,
    pub(super) histories: Vec<History>,
    pub(super) segments: Vec<Segment>,
    pub(super) keys: Vec<([u8; 32], u64)>,
    records: u64,
    /// The number of one-time keys of expired messages.
    spent: u64,
    /// The faults of what was left out.
    pub(super) faults: Vec<StoreError>,
}

impl Store {
    /// Creates a store at `config` from the newest readable backup in the folder `from`, whose files are those that
    /// [`Store::backup`] wrote, under their names. Tests every hash and checksum before the store exists. A crash
    /// before the end leaves no store, and another restore begins from nothing. A new history of the board begins at
    /// its length in the backup, see [`History`].
    ///
    /// Damaged rows and objects are left out, and their faults returned. Messages in them are taken from older backups
    /// in the folder; a mark replaces a message that no backup has.
    ///
    /// The place of the objects may contain objects of the same board, which are written again. `progress(done, total)`
    /// counts bytes of objects.
    ///
    /// Errors: [`StoreError::Exists`], [`StoreError::NoBackup`], [`StoreError::Backup`] of the newest backup if none
    /// can be read, [`StoreError::ObjectsExist`], and those of disk and bucket.
    pub fn restore(
        config: &StoreConfig,
        from: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Restored, StoreError> {
        config.check()?;
        create_folder(&config.dir)?;
        let path = config.dir.join(META_FILE);
        if fs::exists(&path)? {
            return Err(StoreError::Exists(path));
        }
        let (mut manifest, mut faults) = Manifest::newest(from)?;
        let history = History::begin(manifest.state.len, manifest.state.sequence)?;
        manifest.histories.push(history);
        let place = config.place()?;
        claim(&place, &manifest.board, true)?;
        copy_objects(&place, &mut manifest, from, progress)?;
        publish(&path, &manifest.board, |database| fill(database, &manifest))?;
        faults.append(&mut manifest.faults);
        let store = Self::open(config)?;
        if !faults.is_empty() {
            store.bring_back(from)?;
        }
        // Backups leave the list of one-time keys out.
        store.index_keys(&mut |_, _| {})?;
        // An id that was left out of one table may be in the other one.
        store.mend_post_ids(&mut Vec::new())?;
        Ok(Restored {
            messages: manifest.state.len,
            history: history.id,
            segments: manifest.segments.len() as u64,
            keys: manifest.keys.len() as u64,
            records: manifest.records,
            board: manifest.board,
            file: manifest.file,
            lost: if faults.is_empty() {
                Vec::new()
            } else {
                store.lost()?
            },
            faults,
        })
    }
}

impl Manifest {
    /// Reads the newest backup in a folder whose tables can be read. Also returns the faults of newer ones.
    ///
    /// Errors: [`StoreError::NoBackup`], [`StoreError::OtherHistory`], and the error of the newest file if none can be
    /// read.
    pub(super) fn newest(from: &Path) -> Result<(Self, Vec<StoreError>), StoreError> {
        let mut faults = Vec::new();
        let files = newest_first(from)?;
        for file in &files {
            match Self::read(file, from) {
                Ok(manifest) => {
                    one_history(&files, &manifest.state, &manifest.histories)?;
                    return Ok((manifest, faults));
                }
                Err(
                    fault @ (StoreError::Backup { .. }
                    | StoreError::Row { .. }
                    | StoreError::Version { .. }),
                ) => faults.push(fault),
                Err(other) => return Err(other),
            }
        }
        Err(faults.swap_remove(0))
    }

    /// Reads a file of the tables to its end and tests every row.
    pub(super) fn read(file: &Path, from: &Path) -> Result<Self, StoreError> {
        let (mut frames, start) = Frames::open(file)?;
        let Start {
            config: board,
            state,
            histories,
        } = start;
        let mut out = Self {
            file: file.to_owned(),
            layout: Layout::new(&board),
            board,
            state,
            histories,
            segments: Vec::new(),
            keys: Vec::new(),
            records: 0,
            spent: 0,
            faults: Vec::new(),
        };
        let mut next = state.sealed;
        while let Some(frame) = frames.next()? {
            out.add(&frames, &frame, &mut next)?;
        }
        out.faults.append(&mut frames.damaged);
        out.miss(next..state.len);
        let gaps = mend::gaps(&out.segments, state.first..state.sealed);
        if !gaps.is_empty() {
            let place = Place::open(&Objects::Local, from.to_owned())?;
            let found = mend::filling(&out.layout, &out.board.board_id, &place, &gaps)?;
            out.segments.extend(found);
            out.segments.sort_unstable_by_key(|segment| segment.first);
        }
        match mend::gaps(&out.segments, state.first..state.sealed).first() {
            None => Ok(out),
            Some(gap) => {
                let (expected, found) = (Evidence::Number(gap.start), Evidence::Number(gap.end));
                Err(frames.bad(Mismatch::new(expected, found)))
            }
        }
    }

    fn add(&mut self, frames: &Frames, frame: &Frame, next: &mut u64) -> Result<(), StoreError> {
        let rows = table_of(frames, frame)?;
        let table = short(&rows);
        if table == "tail" {
            let Ok(first) = index_of(table, &frame.key) else {
                return Ok(());
            };
            if first < *next {
                let (expected, found) = (Evidence::Number(*next), Evidence::Number(first));
                return Err(frames.bad(Mismatch::new(expected, found)));
            }
            self.miss(*next..first);
            let records = frame.value.chunks(self.layout.record_bytes());
            *next = first + records.len() as u64;
            for (index, record) in (first..).zip(records) {
                if !is_intact(&self.layout, index, record) {
                    self.faults.push(lost_record(index));
                }
            }
            return Ok(());
        }
        if let Err(fault) = check_row(self.layout.seed, rows, &frame.key, &frame.value) {
            self.faults.push(fault);
            return Ok(());
        }
        let value = open_row(self.layout.seed, table, &frame.key, &frame.value)?;
        match table {
            "segments" => self.segments.push(Segment::decode(&frame.key, value)?),
            "keys" => {
                let [bytes] = numbers(table, &frame.key, value)?;
                self.keys.push((hash_of(table, &frame.key)?, bytes));
            }
            "records" => self.records += 1,
            "spent" => self.spent += 1,
            _ => {}
        }
        Ok(())
    }

    /// Notes missing messages of the tail.
    fn miss(&mut self, range: Range<u64>) {
        self.faults.extend(range.map(lost_record));
    }
}

/// Returns the table of a frame's row.
///
/// Errors: [`StoreError::Backup`].
fn table_of(frames: &Frames, frame: &Frame) -> Result<Rows, StoreError> {
    match KINDS.iter().find(|(kind, _)| *kind == frame.kind) {
        Some((_, rows)) => Ok(*rows),
        None => {
            let found = Evidence::Number(u64::from(frame.kind));
            Err(frames.bad(Mismatch::new(Evidence::Present, found)))
        }
    }
}

fn is_intact(layout: &Layout, index: u64, record: &[u8]) -> bool {
    record.len() == layout.record_bytes() && layout.open_record(index, record).is_ok()
}

/// Copies the objects that a backup names. A key that is missing or damaged in the backup is left out; a segment of
/// marks replaces a segment that is.
fn copy_objects(
    place: &Place,
    manifest: &mut Manifest,
    from: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let segments = manifest.segments.iter().map(|segment| segment.bytes);
    let keys = manifest.keys.iter().map(|(_, bytes)| *bytes);
    let total = segments.chain(keys).fold(0, u64::saturating_add);
    let mut done = 0;
    let (layout, board_id) = (&manifest.layout, &manifest.board.board_id);
    for segment in &mut manifest.segments {
        done += segment.bytes;
        match copy_segment(place, layout, board_id, segment, from) {
            Err(fault @ StoreError::Damaged { .. }) => {
                manifest.faults.push(fault);
                let mut records = Vec::new();
                for index in segment.first..segment.end() {
                    layout.push_lost(index, &mut records);
                }
                let (marks, bytes) = sealed::build(layout, board_id, segment.first, &records);
                place.put(&marks.name(), bytes)?;
                *segment = Segment {
                    sealed_at: segment.sealed_at,
                    ..marks
                };
            }
            other => other?,
        }
        progress(done, total);
    }
    let mut keys = Vec::new();
    for (hash, bytes) in std::mem::take(&mut manifest.keys) {
        done += bytes;
        match copy_key(place, &hash, bytes, from) {
            Err(fault @ StoreError::Damaged { .. }) => manifest.faults.push(fault),
            other => {
                other?;
                keys.push((hash, bytes));
            }
        }
        progress(done, total);
    }
    manifest.keys = keys;
    Ok(())
}

/// Copies a segment from a backup.
///
/// Errors: [`StoreError::Damaged`] where the backup does not have it intact.
pub(crate) fn copy_segment(
    place: &Place,
    layout: &Layout,
    board_id: &[u8; 16],
    segment: &Segment,
    from: &Path,
) -> Result<(), StoreError> {
    place.put(
        &segment.name(),
        segment_in(layout, board_id, segment, from)?,
    )
}

/// Returns the bytes of a backup's segment.
///
/// Errors: [`StoreError::Damaged`] where the backup does not have it intact.
pub(super) fn segment_in(
    layout: &Layout,
    board_id: &[u8; 16],
    segment: &Segment,
    from: &Path,
) -> Result<Bytes, StoreError> {
    let bytes = match fs::read(from.join(segment.name())) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(segment.damaged(Mismatch::new(Evidence::Present, Evidence::Missing)));
        }
        Err(error) => return Err(StoreError::file(error)),
    };
    sealed::check(layout, board_id, segment, &bytes)?;
    Ok(bytes)
}

/// Copies a key from a backup.
///
/// Errors: [`StoreError::Damaged`] where the backup does not have it intact.
pub(crate) fn copy_key(
    place: &Place,
    hash: &[u8; 32],
    bytes: u64,
    from: &Path,
) -> Result<(), StoreError> {
    // The object is begun only once there is something to copy.
    let mut begun = None;
    key_in(hash, bytes, from, &mut |data| {
        let writer = match &mut begun {
            Some(writer) => writer,
            none => none.insert(place.writer(&key_name(hash))?),
        };
        writer.write(data)
    })?;
    match begun {
        Some(writer) => writer.finish(),
        None => Ok(()),
    }
}

/// Calls `each` with the bytes of a backup's key. None of them may be used unless this returns without an error.
///
/// Errors: [`StoreError::Damaged`] where the backup does not have it intact; those of `each`.
pub(super) fn key_in(
    hash: &[u8; 32],
    bytes: u64,
    from: &Path,
    each: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut file = match File::open(from.join(key_name(hash))) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::key(
                hash,
                Mismatch::new(Evidence::Present, Evidence::Missing),
            ));
        }
        Err(error) => return Err(StoreError::file(error)),
    };
    let (mut hasher, mut seen) = (blake3::Hasher::new(), 0);
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        seen += count as u64;
        each(&buffer[..count])?;
    }
    let found = Evidence::hash(*hasher.finalize().as_bytes());
    for (expected, found) in [
        (Evidence::Bytes(bytes), Evidence::Bytes(seen)),
        (Evidence::hash(*hash), found),
    ] {
        if expected != found {
            return Err(StoreError::key(hash, Mismatch::new(expected, found)));
        }
    }
    Ok(())
}

/// Writes the intact rows of the backup into a new database, and marks for missing messages.
fn fill(database: &Database, manifest: &Manifest) -> Result<(), StoreError> {
    let (board, histories) = (&manifest.board, &manifest.histories);
    initialise_at(database, board, &manifest.state, histories)?;
    let (mut frames, ..) = Frames::open(&manifest.file)?;
    let (layout, state) = (&manifest.layout, &manifest.state);
    let kept: HashSet<[u8; 32]> = manifest.keys.iter().map(|(hash, _)| *hash).collect();
    let (mut next, mut more) = (state.sealed, true);
    while more {
        let mut transaction = database.begin_write().map_err(Redb)?;
        transaction.set_quick_repair(true);
        let writing = Writing::new(&transaction, layout.seed);
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            let Some(frame) = frames.next()? else {
                more = false;
                break;
            };
            bytes += frame.key.len() + frame.value.len();
            let rows = table_of(&frames, &frame)?;
            match short(&rows) {
                // Segments are written below.
                "segments" => continue,
                "tail" => {
                    let Ok(first) = index_of("tail", &frame.key) else {
                        continue;
                    };
                    put_marks(&writing, layout, next..first)?;
                    next = put_run(&writing, layout, first, &frame.value)?;
                    continue;
                }
                "keys" if !kept.iter().any(|hash| hash == frame.key.as_slice()) => continue,
                _ => {}
            }
            if check_row(layout.seed, rows, &frame.key, &frame.value).is_ok() {
                let mut table = writing.table(rows)?;
                table
                    .insert(frame.key.as_slice(), frame.value.as_slice())
                    .map_err(Redb)?;
            }
        }
        if !more {
            put_marks(&writing, layout, next..state.len)?;
            for segment in &manifest.segments {
                writing.put(SEGMENTS, &index_key(segment.first), &segment.encode())?;
            }
            let spent = match layout.clues {
                Clues::Plain => 0,
                Clues::Bound => state.first,
            };
            // One row for each expired message: with fewer rows nothing could be posted.
            for number in manifest.spent..spent {
                let index = u64::MAX - number;
                writing.put(SPENT, &nobodys(index), &pack([index]))?;
            }
        }
        transaction.commit().map_err(Redb)?;
    }
    Ok(())
}

/// Writes marks of lost messages.
fn put_marks(writing: &Writing<'_>, layout: &Layout, range: Range<u64>) -> Result<(), StoreError> {
    let mut table = writing.table(TAIL)?;
    for start in range.clone().step_by(most_in_run(layout) as usize) {
        let mut run = Vec::new();
        for index in start..range.end.min(start + most_in_run(layout)) {
            layout.push_lost(index, &mut run);
        }
        let key = index_key(start);
        table.insert(key.as_slice(), run.as_slice()).map_err(Redb)?;
    }
    Ok(())
}

/// Writes a run, with marks in place of damaged records. Returns the index at which the next run begins.
fn put_run(
    writing: &Writing<'_>,
    layout: &Layout,
    first: u64,
    run: &[u8],
) -> Result<u64, StoreError> {
    let (mut out, mut next) = (Vec::new(), first);
    for record in run.chunks(layout.record_bytes()) {
        if is_intact(layout, next, record) {
            out.extend_from_slice(record)
        } else {
            layout.push_lost(next, &mut out)
        }
        next += 1;
    }
    let mut table = writing.table(TAIL)?;
    let key = index_key(first);
    table.insert(key.as_slice(), out.as_slice()).map_err(Redb)?;
    Ok(next)
}

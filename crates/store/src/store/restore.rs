//! Restoring a store from the folder of a backup.

use omr_mismatch::Mismatch;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use redb::Database;

use super::frames::{Frame, Frames, KINDS, newest};
use super::objects::{Place, key_name};
use super::{META_FILE, Store, StoreConfig, claim, sealed};
use crate::config::{BoardConfig, Clues};
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{Layout, State, hash_of, index_of, numbers, open_row};
use crate::publish::publish;
use crate::segment::Segment;
use crate::tables::{initialise, short};
use crate::tail::damaged_tail;

/// Bytes of rows in one transaction.
const BATCH_BYTES: usize = 16 << 20;
const COPY_BYTES: usize = 1 << 20;

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// The board.
    pub board: BoardConfig,
    /// Messages.
    pub messages: u64,
    /// Segments.
    pub segments: u64,
    /// Detection keys.
    pub keys: u64,
    /// Records.
    pub records: u64,
}

/// What the file of the tables says.
struct Manifest {
    board: BoardConfig,
    layout: Layout,
    state: State,
    segments: Vec<Segment>,
    keys: Vec<([u8; 32], u64)>,
    records: u64,
    /// Messages covered so far, while it is read.
    covered: u64,
    /// One-time keys of messages that expired.
    spent: u64,
}

impl Store {
    /// Makes a store at `config` of the newest backup in the folder `from`: the files that
    /// [`Store::backup`] gave, under their names. Tests every hash and checksum before there is
    /// a store; a crash on the way leaves none, and restoring again begins anew.
    ///
    /// The place of the objects may hold objects of the same board; they are written again.
    /// `progress(done, total)` counts bytes of objects.
    ///
    /// Errors: [`StoreError::Exists`], [`StoreError::NoBackup`], [`StoreError::Backup`],
    /// [`StoreError::Damaged`] for an object that the backup lacks or has damaged,
    /// [`StoreError::ObjectsExist`], and those of disk and bucket.
    pub fn restore(
        config: &StoreConfig,
        from: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Restored, StoreError> {
        config.check()?;
        fs::create_dir_all(&config.dir).map_err(StoreError::file)?;
        let path = config.dir.join(META_FILE);
        if fs::exists(&path)? {
            return Err(StoreError::Exists(path));
        }
        let file = newest(from)?;
        let manifest = Manifest::read(&file)?;
        let place = config.place()?;
        claim(&place, &manifest.board, true)?;
        copy_objects(&place, &manifest, from, progress)?;
        publish(&path, &manifest.board, |database| {
            fill(database, &file, &manifest)
        })?;
        // Backups leave it out.
        Self::open(config)?.index_keys(&mut |_, _| {})?;
        Ok(Restored {
            messages: manifest.state.len,
            segments: manifest.segments.len() as u64,
            keys: manifest.keys.len() as u64,
            records: manifest.records,
            board: manifest.board,
        })
    }
}

impl Manifest {
    /// Reads the file of the tables to its end, testing every row.
    fn read(file: &Path) -> Result<Self, StoreError> {
        let (mut frames, board, state) = Frames::open(file)?;
        let mut out = Self {
            layout: Layout::new(&board),
            board,
            state,
            segments: Vec::new(),
            keys: Vec::new(),
            records: 0,
            covered: state.first,
            spent: 0,
        };
        while let Some(frame) = frames.next()? {
            out.add(&frames, &frame)?;
        }
        if out.covered != state.len {
            let found = Evidence::Number(out.covered);
            return Err(frames.bad(Mismatch::new(Evidence::Number(state.len), found)));
        }
        let spent = match out.layout.clues {
            Clues::Plain => 0,
            Clues::Bound => state.first,
        };
        if out.spent != spent {
            let found = Evidence::Number(out.spent);
            return Err(frames.bad(Mismatch::new(Evidence::Number(spent), found)));
        }
        Ok(out)
    }

    fn add(&mut self, frames: &Frames, frame: &Frame) -> Result<(), StoreError> {
        let rows = KINDS.iter().find(|(kind, _)| *kind == frame.kind);
        let (_, rows) = rows.ok_or_else(|| {
            frames.bad(Mismatch::new(
                Evidence::Present,
                Evidence::Number(u64::from(frame.kind)),
            ))
        })?;
        let table = short(rows);
        if table == "tail" {
            self.cover(frames, index_of(table, &frame.key)?)?;
            self.covered += check_run(&self.layout, self.covered, &frame.value)?;
            return Ok(());
        }
        let value = open_row(self.layout.seed, table, &frame.key, &frame.value)?;
        match table {
            "segments" => {
                let segment = Segment::decode(&frame.key, value)?;
                self.cover(frames, segment.first)?;
                self.covered = segment.end();
                self.segments.push(segment);
            }
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

    /// Segments, then runs of the tail, come in order and leave nothing out.
    fn cover(&self, frames: &Frames, first: u64) -> Result<(), StoreError> {
        if first != self.covered {
            return Err(frames.bad(Mismatch::new(
                Evidence::Number(self.covered),
                Evidence::Number(first),
            )));
        }
        Ok(())
    }
}

fn copy_objects(
    place: &Place,
    manifest: &Manifest,
    from: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let segments = manifest.segments.iter().map(|segment| segment.bytes);
    let keys = manifest.keys.iter().map(|(_, bytes)| *bytes);
    let total = segments.chain(keys).fold(0, u64::saturating_add);
    let mut done = 0;
    for segment in &manifest.segments {
        copy_segment(
            place,
            &manifest.layout,
            &manifest.board.board_id,
            segment,
            from,
        )?;
        done += segment.bytes;
        progress(done, total);
    }
    for (hash, bytes) in &manifest.keys {
        copy_key(place, hash, *bytes, from)?;
        done += bytes;
        progress(done, total);
    }
    Ok(())
}

/// Puts the intact segment of a backup into its place.
///
/// Errors: [`StoreError::Damaged`] where the backup has none.
pub(crate) fn copy_segment(
    place: &Place,
    layout: &Layout,
    board_id: &[u8; 16],
    segment: &Segment,
    from: &Path,
) -> Result<(), StoreError> {
    let name = segment.name();
    let bytes = match fs::read(from.join(&name)) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(segment.damaged(Mismatch::new(Evidence::Present, Evidence::Missing)));
        }
        Err(error) => return Err(StoreError::file(error)),
    };
    sealed::check(layout, board_id, segment, &bytes)?;
    place.put(&name, bytes)
}

/// Puts the intact key of a backup into its place.
///
/// Errors: [`StoreError::Damaged`] where the backup has none.
pub(crate) fn copy_key(
    place: &Place,
    hash: &[u8; 32],
    bytes: u64,
    from: &Path,
) -> Result<(), StoreError> {
    let name = key_name(hash);
    let mut file = match File::open(from.join(&name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::key(
                hash,
                Mismatch::new(Evidence::Present, Evidence::Missing),
            ));
        }
        Err(error) => return Err(StoreError::file(error)),
    };
    let mut writer = place.writer(&name)?;
    let (mut hasher, mut seen) = (blake3::Hasher::new(), 0);
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        seen += count as u64;
        writer.write(&buffer[..count])?;
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
    writer.finish()
}

/// Writes the rows of the backup into a new database.
fn fill(database: &Database, file: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    initialise(database, &manifest.board, &manifest.state)?;
    let (mut frames, ..) = Frames::open(file)?;
    let mut more = true;
    while more {
        let mut transaction = database.begin_write().map_err(Redb)?;
        transaction.set_quick_repair(true);
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            let Some(frame) = frames.next()? else {
                more = false;
                break;
            };
            let rows = KINDS.iter().find(|(kind, _)| *kind == frame.kind);
            let Some((_, rows)) = rows else {
                return Err(frames.bad(Mismatch::new(Evidence::Present, Evidence::Malformed)));
            };
            let mut table = transaction.open_table(*rows).map_err(Redb)?;
            let row = table.insert(frame.key.as_slice(), frame.value.as_slice());
            row.map_err(Redb)?;
            bytes += frame.key.len() + frame.value.len();
        }
        transaction.commit().map_err(Redb)?;
    }
    Ok(())
}

/// Tests a run of the tail, the first record being that of `first`; gives the number of records.
///
/// Errors: [`StoreError::Damaged`] for the first record that is not intact.
fn check_run(layout: &Layout, first: u64, run: &[u8]) -> Result<u64, StoreError> {
    let mut index = first;
    let mut records = run.chunks_exact(layout.record_bytes());
    for record in records.by_ref() {
        let opened = layout.open_record(index, record);
        opened.map_err(|evidence| damaged_tail(index, index + 1, evidence))?;
        index += 1;
    }
    if !records.remainder().is_empty() || index == first {
        let expected = Evidence::Bytes(layout.record_bytes() as u64);
        let found = Evidence::Bytes(records.remainder().len() as u64);
        return Err(damaged_tail(
            index,
            index + 1,
            Mismatch::new(expected, found),
        ));
    }
    Ok(index - first)
}

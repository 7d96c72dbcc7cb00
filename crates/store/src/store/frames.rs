//! The portable form of the meta file: frames with checksums, in a file of a backup.

use omr_errors::Mismatch;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::blocks::Placed;
use crate::config::BoardConfig;
use crate::error::{Evidence, StoreError};
use crate::format::{
    BLOCKS, History, KEYS, LOG, ORDER, POSTS, RECORDS, Rows, SEGMENTS, SPENT, State, TAIL,
    decode_config, encode_config, hash_of, numbers, open_row, u32_at,
};
use crate::segment::Segment;
use crate::tables::short;

/// The version of backups that this build reads and writes.
pub const BACKUP_VERSION: u32 = 1;
pub(crate) const MAGIC: [u8; 8] = *b"omr-bak\n";
const HEADER_BYTES: usize = 12;
/// The greatest accepted lengths of a key and a value. A run of the tail has one message or up to 256 KiB.
const MAX_KEY_BYTES: u32 = 1 << 20;
const MAX_VALUE_BYTES: u32 = 1 << 28;

/// The kinds of frames. A file begins with the configuration, the state and the histories, and ends with the end.
pub(crate) const KIND_CONFIG: u8 = 1;
pub(crate) const KIND_STATE: u8 = 2;
pub(crate) const KIND_HISTORY: u8 = 3;
pub(crate) const KIND_END: u8 = 255;
/// The tables in a backup, with the kinds of their frames. Uploads are not backed up.
pub(crate) const KINDS: [(u8, Rows); 9] = [
    (16, SEGMENTS),
    (17, KEYS),
    (18, TAIL),
    (19, POSTS),
    (20, ORDER),
    (21, RECORDS),
    (22, SPENT),
    (23, LOG),
    (24, BLOCKS),
];

/// Tests a row of a table in [`KINDS`] other than the tail, as reading the row does.
///
/// Errors: [`StoreError::Row`].
pub(crate) fn check_row(seed: u32, rows: Rows, key: &[u8], row: &[u8]) -> Result<(), StoreError> {
    let table = short(&rows);
    let value = open_row(seed, table, key, row)?;
    match table {
        "segments" => Segment::decode(key, value).map(drop),
        "blocks" => Placed::decode(key, value).map(drop),
        "keys" => {
            hash_of(table, key)?;
            numbers::<1>(table, key, value).map(drop)
        }
        _ => Ok(()),
    }
}

/// Returns the header of a file.
pub(crate) fn header() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&BACKUP_VERSION.to_le_bytes());
    out
}

/// Appends a frame: kind, lengths of key and value, key, value, and the CRC of all these.
pub(crate) fn push_frame(kind: u8, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(kind);
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    let crc = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// Appends the first three frames of a file.
pub(crate) fn push_start(
    config: &BoardConfig,
    state: &State,
    histories: &[History],
    out: &mut Vec<u8>,
) {
    push_frame(KIND_CONFIG, &[], &encode_config(config), out);
    push_frame(KIND_STATE, &[], &state.encode(), out);
    push_frame(KIND_HISTORY, &[], &History::encode_all(histories), out);
}

/// The content of the first frames.
pub(crate) struct Start {
    pub(crate) config: BoardConfig,
    pub(crate) state: State,
    /// The histories of the board, oldest first; at least one.
    pub(crate) histories: Vec<History>,
}

/// A frame that was read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// A reader of a file, frame by frame.
#[derive(Debug)]
pub(crate) struct Frames {
    path: PathBuf,
    file: BufReader<File>,
    hasher: blake3::Hasher,
    offset: u64,
    /// The faults of frames with wrong checksums.
    pub(crate) damaged: Vec<StoreError>,
    /// The offset of the end of the last damaged frame.
    damaged_end: Option<u64>,
}

impl Frames {
    /// Opens a file and reads its header, configuration, state and histories.
    pub(crate) fn open(path: &Path) -> Result<(Self, Start), StoreError> {
        let mut frames = Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(1 << 20, File::open(path).map_err(StoreError::file)?),
            hasher: blake3::Hasher::new(),
            offset: 0,
            damaged: Vec::new(),
            damaged_end: None,
        };
        let header = frames.take(HEADER_BYTES)?;
        let magic = header.first_chunk::<8>().copied().unwrap_or_default();
        if magic != MAGIC {
            return Err(frames.bad(Mismatch::new(
                Evidence::Magic(MAGIC),
                Evidence::Magic(magic),
            )));
        }
        let version = u32_at(&header, 8).unwrap_or_default();
        if version != BACKUP_VERSION {
            return Err(StoreError::version("the backup", BACKUP_VERSION, version));
        }
        let malformed =
            |frames: &Self| frames.bad(Mismatch::new(Evidence::Present, Evidence::Malformed));
        let config =
            decode_config(&frames.next_of(KIND_CONFIG)?).ok_or_else(|| malformed(&frames))?;
        let state = State::decode(&frames.next_of(KIND_STATE)?).map_err(|_| malformed(&frames))?;
        let histories =
            History::decode_all(&frames.next_of(KIND_HISTORY)?).map_err(|_| malformed(&frames))?;
        let start = Start {
            config,
            state,
            histories,
        };
        Ok((frames, start))
    }

    /// Returns the next intact frame, or `None` at the end, after a test of the file's hash. Frames with wrong
    /// checksums are skipped and noted; the hash is then not tested.
    ///
    /// Errors: [`StoreError::Backup`].
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, StoreError> {
        let (so_far, frame) = loop {
            if self.damaged_end == Some(self.offset) && self.file.fill_buf()?.is_empty() {
                // The last frame of the file is damaged.
                return Ok(None);
            }
            let so_far = *self.hasher.finalize().as_bytes();
            match self.frame()? {
                Ok(frame) => break (so_far, frame),
                Err(evidence) => {
                    self.damaged.push(self.bad(evidence));
                    self.damaged_end = Some(self.offset);
                }
            }
        };
        if frame.kind != KIND_END {
            return Ok(Some(frame));
        }
        if self.damaged.is_empty() && frame.value != so_far {
            let found = frame
                .value
                .try_into()
                .map_or(Evidence::Malformed, Evidence::hash);
            return Err(self.bad(Mismatch::new(Evidence::hash(so_far), found)));
        }
        match self.file.read(&mut [0])? {
            0 => Ok(None),
            _ => Err(self.bad(Mismatch::new(
                Evidence::Bytes(self.offset),
                Evidence::Bytes(self.offset + 1),
            ))),
        }
    }

    /// Reads the next frame. The inner error is a wrong checksum.
    ///
    /// Errors: [`StoreError::Backup`] where the file ends or the lengths in the frame are wrong.
    fn frame(&mut self) -> Result<Result<Frame, Mismatch<Evidence>>, StoreError> {
        let mut bytes = self.take(9)?;
        let sizes = u32_at(&bytes, 1).zip(u32_at(&bytes, 5));
        let (key, value) = sizes
            .filter(|(key, value)| *key <= MAX_KEY_BYTES && *value <= MAX_VALUE_BYTES)
            .ok_or_else(|| self.bad(Mismatch::new(Evidence::Present, Evidence::Malformed)))?;
        let body = key as usize + value as usize;
        bytes.extend(self.take(body + 4)?);
        let expected = crc32c::crc32c(&bytes[..9 + body]);
        let found = u32_at(&bytes, 9 + body).unwrap_or_default();
        if expected != found {
            return Ok(Err(Mismatch::new(
                Evidence::Checksum(expected),
                Evidence::Checksum(found),
            )));
        }
        let value = bytes[9 + key as usize..9 + body].to_vec();
        bytes.truncate(9 + key as usize);
        Ok(Ok(Frame {
            kind: bytes[0],
            key: bytes.split_off(9),
            value,
        }))
    }

    fn next_of(&mut self, kind: u8) -> Result<Vec<u8>, StoreError> {
        let frame = self.frame()?.map_err(|evidence| self.bad(evidence))?;
        if frame.kind != kind {
            let number = |kind| Evidence::Number(u64::from(kind));
            return Err(self.bad(Mismatch::new(number(kind), number(frame.kind))));
        }
        Ok(frame.value)
    }

    /// Reads `count` bytes. Memory is allocated for bytes that the file has, not for the number that it states.
    fn take(&mut self, count: usize) -> Result<Vec<u8>, StoreError> {
        let mut out = Vec::new();
        let read = (&mut self.file)
            .take(count as u64)
            .read_to_end(&mut out)
            .map_err(StoreError::file)?;
        if read < count {
            let bytes = |count: usize| Evidence::Bytes(self.offset + count as u64);
            return Err(self.bad(Mismatch::new(bytes(count), bytes(read))));
        }
        self.hasher.update(&out);
        self.offset += count as u64;
        Ok(out)
    }

    /// Returns the error of this file at the current offset.
    pub(crate) fn bad(&self, evidence: Mismatch<Evidence>) -> StoreError {
        StoreError::Backup {
            path: self.path.clone(),
            offset: self.offset,
            evidence,
        }
    }
}

/// Returns the name of the file of the meta tables after `sequence` transactions of a history.
pub(crate) fn backup_name(sequence: u64, history: &[u8; 16]) -> String {
    let id = u128::from_be_bytes(*history);
    format!("meta-{sequence:020}-{id:032x}.bak")
}

/// Returns the number of transactions and the history in the name of a file of the meta tables. Returns `None` for
/// other names.
pub(crate) fn named(name: &str) -> Option<(u64, [u8; 16])> {
    let rest = name.strip_prefix("meta-")?.strip_suffix(".bak")?;
    let (sequence, history) = rest.split_once('-')?;
    if sequence.len() != 20 || history.len() != 32 {
        return None;
    }
    let id = u128::from_str_radix(history, 16).ok()?;
    Some((sequence.parse().ok()?, id.to_be_bytes()))
}

/// Tests that a file of the meta tables is an earlier state of a board with these histories.
///
/// Errors: [`StoreError::OtherHistory`] where the file is of a history that the board never had, or of a history after
/// the point at which a restore ended it.
pub(crate) fn precedes(name: &str, histories: &[History]) -> Result<(), StoreError> {
    let Some((sequence, id)) = named(name) else {
        return Ok(());
    };
    if let Some(at) = histories.iter().position(|history| history.id == id) {
        let end = histories.get(at + 1).map_or(u64::MAX, |next| next.sequence);
        if sequence <= end {
            return Ok(());
        }
    }
    Err(StoreError::OtherHistory {
        name: name.to_owned(),
        history: histories.last().map_or([0; 16], |history| history.id),
    })
}

/// Tests that the files of the meta tables are earlier states of a board in `state` with these histories. Files newer
/// than `state` are not tested.
///
/// Errors: [`StoreError::OtherHistory`] where the folder contains files of two histories of the board.
pub(crate) fn one_history(
    files: &[PathBuf],
    state: &State,
    histories: &[History],
) -> Result<(), StoreError> {
    for file in files {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if named(name).is_some_and(|(sequence, _)| sequence <= state.sequence) {
            precedes(name, histories)?;
        }
    }
    Ok(())
}

fn is_no_folder(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the files of meta tables in a folder, the newest first; there is at least one. Their histories are not
/// tested.
///
/// Errors: [`StoreError::NoBackup`], and those of the disk.
pub(crate) fn newest_first(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if is_no_folder(&error) => {
            return Err(StoreError::NoBackup(folder.to_owned()));
        }
        entries => entries.map_err(StoreError::file)?,
    };
    for entry in entries {
        let file_name = entry?.file_name();
        let name = file_name.to_str().unwrap_or_default();
        found.extend(named(name).map(|(sequence, _)| (sequence, name.to_owned())));
    }
    if found.is_empty() {
        return Err(StoreError::NoBackup(folder.to_owned()));
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found
        .into_iter()
        .map(|(_, name)| folder.join(name))
        .collect())
}

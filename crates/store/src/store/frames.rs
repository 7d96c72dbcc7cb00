//! The portable form of the meta file: frames, each with a checksum, in a file of a backup.

use omr_mismatch::Mismatch;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::config::BoardConfig;
use crate::error::{Evidence, StoreError};
use crate::format::{
    KEYS, ORDER, POSTS, RECORDS, Rows, SEGMENTS, SPENT, State, TAIL, decode_config, encode_config,
    u32_at,
};

/// The version of backups that this build reads and writes.
pub const BACKUP_VERSION: u32 = 4;
/// The oldest version this build reads.
const OLDEST_VERSION: u32 = 1;
pub(crate) const MAGIC: [u8; 8] = *b"omr-bak\n";
const HEADER_BYTES: usize = 12;
/// Longest key and value accepted; a run of the tail is one message or 256 KiB.
const MAX_KEY_BYTES: u32 = 1 << 20;
const MAX_VALUE_BYTES: u32 = 1 << 28;

/// What a frame holds; the first is the configuration, the second the state, the last the end.
pub(crate) const KIND_CONFIG: u8 = 1;
pub(crate) const KIND_STATE: u8 = 2;
pub(crate) const KIND_END: u8 = 255;
/// The tables in a backup, with the kind of their frames. Uploads are left out.
pub(crate) const KINDS: [(u8, Rows); 7] = [
    (16, SEGMENTS),
    (17, KEYS),
    (18, TAIL),
    (19, POSTS),
    (20, ORDER),
    (21, RECORDS),
    (22, SPENT),
];

/// The first bytes of a file.
pub(crate) fn header() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&BACKUP_VERSION.to_le_bytes());
    out
}

/// Appends a frame: kind, bytes of key and value, key, value, CRC of all that.
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

/// The first two frames.
pub(crate) fn push_start(config: &BoardConfig, state: &State, out: &mut Vec<u8>) {
    push_frame(KIND_CONFIG, &[], &encode_config(config), out);
    push_frame(KIND_STATE, &[], &state.encode(), out);
}

/// A frame as read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Reads a file frame by frame.
#[derive(Debug)]
pub(crate) struct Frames {
    path: PathBuf,
    file: BufReader<File>,
    hasher: blake3::Hasher,
    offset: u64,
}

impl Frames {
    /// Opens a file and reads its header, configuration and state.
    pub(crate) fn open(path: &Path) -> Result<(Self, BoardConfig, State), StoreError> {
        let mut frames = Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(1 << 20, File::open(path).map_err(StoreError::file)?),
            hasher: blake3::Hasher::new(),
            offset: 0,
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
        if !(OLDEST_VERSION..=BACKUP_VERSION).contains(&version) {
            return Err(StoreError::Version {
                what: "the backup",
                expected: BACKUP_VERSION,
                found: version,
            });
        }
        let config = frames.next_of(KIND_CONFIG)?;
        let malformed =
            |frames: &Self| frames.bad(Mismatch::new(Evidence::Present, Evidence::Malformed));
        let config = decode_config(&config).ok_or_else(|| malformed(&frames))?;
        let state = frames.next_of(KIND_STATE)?;
        let state = State::decode(&state).map_err(|_| malformed(&frames))?;
        Ok((frames, config, state))
    }

    /// The next frame; none at the end, once the file's hash agrees.
    ///
    /// Errors: [`StoreError::Backup`].
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, StoreError> {
        let so_far = *self.hasher.finalize().as_bytes();
        let frame = self.frame()?;
        if frame.kind != KIND_END {
            return Ok(Some(frame));
        }
        if frame.value != so_far {
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

    fn frame(&mut self) -> Result<Frame, StoreError> {
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
            return Err(self.bad(Mismatch::new(
                Evidence::Checksum(expected),
                Evidence::Checksum(found),
            )));
        }
        let value = bytes[9 + key as usize..9 + body].to_vec();
        bytes.truncate(9 + key as usize);
        Ok(Frame {
            kind: bytes[0],
            key: bytes.split_off(9),
            value,
        })
    }

    fn next_of(&mut self, kind: u8) -> Result<Vec<u8>, StoreError> {
        let frame = self.frame()?;
        if frame.kind != kind {
            let number = |kind| Evidence::Number(u64::from(kind));
            return Err(self.bad(Mismatch::new(number(kind), number(frame.kind))));
        }
        Ok(frame.value)
    }

    /// Takes `count` bytes; memory follows what the file has, not what it says.
    fn take(&mut self, count: usize) -> Result<Vec<u8>, StoreError> {
        let mut out = Vec::new();
        let read = (&mut self.file).take(count as u64).read_to_end(&mut out);
        let read = read.map_err(StoreError::file)?;
        if read < count {
            let bytes = |count: usize| Evidence::Bytes(self.offset + count as u64);
            return Err(self.bad(Mismatch::new(bytes(count), bytes(read))));
        }
        self.hasher.update(&out);
        self.offset += count as u64;
        Ok(out)
    }

    /// The error of this file.
    pub(crate) fn bad(&self, evidence: Mismatch<Evidence>) -> StoreError {
        StoreError::Backup {
            path: self.path.clone(),
            offset: self.offset,
            evidence,
        }
    }
}

/// The name of the file of the meta tables after `sequence` transactions.
pub(crate) fn backup_name(sequence: u64) -> String {
    format!("meta-{sequence:020}.bak")
}

/// The newest such file in a folder.
///
/// Errors: [`StoreError::NoBackup`].
pub(crate) fn newest(folder: &Path) -> Result<PathBuf, StoreError> {
    let mut best = None;
    for entry in std::fs::read_dir(folder).map_err(StoreError::file)? {
        let name = entry?.file_name();
        let sequence = name
            .to_str()
            .and_then(|name| name.strip_prefix("meta-")?.strip_suffix(".bak"))
            .filter(|digits| digits.len() == 20)
            .and_then(|digits| digits.parse::<u64>().ok());
        best = best.max(sequence);
    }
    let path = folder.to_owned();
    let sequence = best.ok_or(StoreError::NoBackup(path))?;
    Ok(folder.join(backup_name(sequence)))
}

//! Letters with missing parts: the received parts are kept beside the letters until the rest arrives.

use crate::commands::decode::Decode;
use crate::commands::keygen::create_folder;
use crate::error::{CliError, InputError};
use crate::io::{self, Access};
use crate::spans::{in_words, spans};
use omr_client::fragment::{self, MessageId};
use omr_client::kept::{KeptParts, Parts};
use omr_client::letters;
use omr_protocol::frame::FrameHeader;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// The folder beside the letters.
const FOLDER: &str = "incomplete";
const EXTENSION: &str = "parts";

/// Kept parts of letters, one file per letter.
pub(super) struct Kept {
    /// The folder; `None` where no parts are kept.
    dir: Option<PathBuf>,
    /// The ids of the recipient's parameter set, address and board.
    of: (String, [u8; 16], [u8; 16]),
    parts: BTreeMap<MessageId, Parts>,
    /// Letters with a file, and the number of parts in it.
    files: BTreeMap<MessageId, usize>,
}

/// The report on a letter with missing parts.
#[derive(Serialize)]
pub(super) struct Incomplete {
    /// The index of its first received message.
    index: u64,
    have: u32,
    total: u32,
    /// The numbers of the missing parts, counted from 0, as ranges.
    missing: Vec<[u32; 2]>,
    /// The messages with these parts, if the letter was posted in one call.
    messages: Option<Vec<[u64; 2]>>,
    /// The file with its received parts.
    kept: Option<PathBuf>,
    #[serde(skip)]
    indices: Vec<u64>,
}

impl Kept {
    /// Reads the parts that earlier calls kept for the same key and board.
    ///
    /// Errors: `Input` for damaged files.
    pub(super) fn open(
        args: &Decode,
        board_id: [u8; 16],
        secret: &FrameHeader,
    ) -> Result<Self, CliError> {
        let joins = !args.raw && !io::is_standard(&args.out);
        let mut kept = Self {
            dir: joins.then(|| args.out.join(FOLDER)),
            of: (secret.params_id.clone(), secret.key_id, board_id),
            parts: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        let Some(entries) = kept.dir.as_ref().and_then(|dir| fs::read_dir(dir).ok()) else {
            return Ok(kept);
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|found| found == EXTENSION) {
                kept.read(&path).map_err(CliError::input(&path))?;
            }
        }
        Ok(kept)
    }

    /// Reads a file, unless it is of another board or key.
    fn read(&mut self, path: &Path) -> Result<(), InputError> {
        let bytes = zeroize::Zeroizing::new(fs::read(path)?);
        let KeptParts {
            params,
            key_id,
            board_id,
            id,
            parts,
        } = KeptParts::from_bytes(&bytes)?;
        if (params, key_id, board_id) == self.of {
            self.files.insert(id, parts.len());
            self.parts.insert(id, parts);
        }
        Ok(())
    }

    /// Takes the parts out; [`Kept::settle`] gets them back.
    pub(super) fn take(&mut self) -> BTreeMap<MessageId, Parts> {
        std::mem::take(&mut self.parts)
    }

    fn path(&self, id: &MessageId) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(dir.join(format!("{}.{EXTENSION}", omr_protocol::hex(id))))
    }

    /// Keeps letters with missing parts, and removes the files of letters that are complete by now. Returns reports of
    /// the missing parts.
    ///
    /// Errors: `Write`.
    pub(super) fn settle(
        self,
        letters: Vec<letters::Incomplete>,
    ) -> Result<Vec<Incomplete>, CliError> {
        let mut reports = Vec::new();
        for letter in &letters {
            let path = self.path(&letter.id);
            if let Some(path) = &path
                && self.files.get(&letter.id) != Some(&letter.parts.len())
            {
                self.write(path, letter)?;
            }
            reports.extend(Incomplete::new(letter, path));
        }
        for id in self.files.keys() {
            if letters.iter().all(|letter| letter.id != *id)
                && let Some(path) = self.path(id)
            {
                fs::remove_file(&path).map_err(|error| CliError::write(path, error))?;
            }
        }
        if let Some(dir) = &self.dir {
            // The folder stays while there is a file in it.
            let _ = fs::remove_dir(dir);
        }
        reports.sort_by_key(|letter: &Incomplete| letter.index);
        Ok(reports)
    }

    fn write(&self, path: &Path, letter: &letters::Incomplete) -> Result<(), CliError> {
        let (params, key_id, board_id) = self.of.clone();
        let kept = KeptParts {
            params,
            key_id,
            board_id,
            id: letter.id,
            parts: letter.parts.clone(),
        };
        let bytes = kept
            .to_bytes()
            .map_err(|error| CliError::write(path, error))?;
        if let Some(dir) = &self.dir {
            create_folder(dir)?;
        }
        Ok(io::stage_bytes(path, Access::Private, &bytes)?.commit(true)?)
    }
}

impl Incomplete {
    /// Returns the report on a letter; `None` for a letter without parts.
    fn new(letter: &letters::Incomplete, kept: Option<PathBuf>) -> Option<Self> {
        let (&index, _) = letter.parts.first_key_value()?;
        let messages = first_message(&letter.parts).map(|first| {
            let on_board = |gap: &Range<u32>| [gap.start, gap.end].map(|n| first + u64::from(n));
            letter.missing.iter().map(on_board).collect()
        });
        let numbers = |gap: &Range<u32>| [gap.start, gap.end];
        Some(Self {
            index,
            have: letter.have,
            total: letter.total,
            missing: letter.missing.iter().map(numbers).collect(),
            messages,
            kept,
            indices: letter.parts.keys().copied().collect(),
        })
    }

    /// Returns whether its parts are lost after this call.
    pub(super) fn is_lost(&self) -> bool {
        self.kept.is_none()
    }

    /// Returns its received messages.
    pub(super) fn indices(&self) -> &[u64] {
        &self.indices
    }
}

/// Returns the message of part 0, if the received parts are consecutive on the board.
fn first_message(parts: &Parts) -> Option<u64> {
    let first = |(&index, part): (&u64, &zeroize::Zeroizing<Vec<u8>>)| {
        let place = fragment::place(part).ok()??;
        index.checked_sub(place.index.into())
    };
    let mut firsts = parts.iter().map(first);
    let one = firsts.next()??;
    firsts.all(|other| other == Some(one)).then_some(one)
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.indices.len() {
            1 => "message",
            _ => "messages",
        };
        let came = in_words(&spans(self.indices.iter().copied()));
        write!(f, "{name} {came} left out: ")?;
        write!(f, "{} of {} parts of a file", self.have, self.total)?;
        let gaps = |of: Vec<[u64; 2]>, one, many| {
            let spans: Vec<_> = of.iter().map(|[start, end]| *start..*end).collect();
            let alone = spans.len() == 1 && spans[0].end - spans[0].start == 1;
            format!("{} {}", if alone { one } else { many }, in_words(&spans))
        };
        let missing = match &self.messages {
            Some(messages) => {
                gaps(messages.clone(), "is message", "are messages") + " if it was posted in one go"
            }
            None => {
                let parts = self.missing.iter().map(|gap| gap.map(u64::from));
                gaps(parts.collect(), "is its part", "are its parts")
            }
        };
        write!(f, ", missing {missing}")?;
        match &self.kept {
            Some(_) => f.write_str(
                "; what came is kept: decode a digest of the others into the same folder",
            ),
            None => f.write_str(": decode digests that cover all of them in one call"),
        }
    }
}

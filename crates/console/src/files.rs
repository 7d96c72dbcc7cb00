//! Files read whole, with limits, and what goes to standard output.

use crate::{ConsoleError, ReadError};
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The path that stands for standard input or output.
pub const STANDARD: &str = "-";

/// Whether a path stands for standard input or output.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// A path in one line, whatever its names hold.
#[must_use]
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let one = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.into()
        }
    };
    text.chars().map(one).collect()
}

/// A path in JSON. What is not Unicode in it is replaced: the work that is told of is done.
///
/// Errors: the serializer's.
pub fn as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Reads a file (`-`: standard input) of at most `limit` bytes.
///
/// Errors: `Read`.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, ConsoleError> {
    let read = || -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let found = if is_standard(path) {
            io::stdin().take(limit + 1).read_to_end(&mut bytes)?
        } else {
            File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?
        };
        if found as u64 > limit {
            Err(ReadError::TooLarge(limit))
        } else {
            Ok(bytes)
        }
    };
    read().map_err(|source| ConsoleError::Read(path.to_owned(), source))
}

/// Writes text to standard output; a reader that went away is no error.
///
/// Errors: `Output`.
pub fn print(text: &str) -> Result<(), ConsoleError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ConsoleError::Output(error)),
        _ => Ok(()),
    }
}

/// Prints one JSON object in one line.
///
/// Errors: `Output`.
pub fn print_json(value: &impl Serialize) -> Result<(), ConsoleError> {
    print(&json_line(value)?)
}

/// One JSON object in one line, its end included.
///
/// Errors: `Output`.
pub fn json_line(value: &impl Serialize) -> Result<String, ConsoleError> {
    match serde_json::to_string(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(ConsoleError::Output(error.into())),
    }
}

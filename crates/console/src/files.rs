//! Reading of whole files with limits, and writing to standard output.

use crate::{ConsoleError, ReadError};
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The path of standard input or output.
pub const STANDARD: &str = "-";

/// Returns whether a path is that of standard input or output.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Returns a path in one line, with control characters escaped.
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

/// Serializes a path as text. Parts that are not Unicode are replaced rather than refused, because the reported work is
/// already done.
///
/// Errors: those of the serializer.
pub fn as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Reads a file (`-` is standard input) of at most `limit` bytes.
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

/// Writes text to standard output. It is no error if the reader has closed it.
///
/// Errors: `Output`.
pub fn print(text: &str) -> Result<(), ConsoleError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ConsoleError::Output(error)),
        _ => Ok(()),
    }
}

/// Prints a JSON object in one line.
///
/// Errors: `Output`.
pub fn print_json(value: &impl Serialize) -> Result<(), ConsoleError> {
    print(&json_line(value)?)
}

/// Returns a JSON object in one line, including the line's end.
///
/// Errors: `Output`.
pub fn json_line(value: &impl Serialize) -> Result<String, ConsoleError> {
    match serde_json::to_string(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(ConsoleError::Output(error.into())),
    }
}

//! Looking at what is in the inbox, and what a person may ask of it.

use super::requests::stored;
use super::{BODIES, Inbox, JOBS, MESSAGES, PIECES, UNOPENED, decode, encode};
use crate::MailError;
use omr_client::fragment::Reassembler;
use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Characters of a first line that are listed.
const LINE: usize = 60;

/// A message's entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) index: u64,
    pub(super) fetched: u64,
    pub(super) bytes: u64,
    pub(super) read: bool,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retired: Option<String>,
}

/// A message as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The letter's number in this inbox.
    pub number: u64,
    /// Index of its first payload on the board.
    pub index: u64,
    /// When it was taken in, in seconds since 1970.
    pub fetched: u64,
    /// The letter's length in bytes.
    pub bytes: u64,
    /// Whether it was read.
    pub read: bool,
    /// The name that its sender gave it, harmless.
    pub name: Option<String>,
    /// The retired identity that it was written to, if it was.
    pub retired: Option<String>,
    /// The letter's first line without control characters, if it is text.
    pub first_line: Option<String>,
}

/// A letter of which parts are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Incomplete {
    /// Parts that came.
    pub here: u32,
    /// Parts that it has.
    pub parts: u32,
}

impl Inbox {
    /// The messages, oldest first; `all`: those too that were read.
    ///
    /// Errors: `Database`, `Record`.
    pub fn list(&self, all: bool) -> Result<Vec<Listed>, MailError> {
        self.read(|tx| listed(tx, all))
    }

    /// A message's content.
    ///
    /// Errors: `NoMessage`, `Database`.
    pub fn body(&self, number: u64) -> Result<Vec<u8>, MailError> {
        self.read(|tx| {
            let bodies = tx.open_table(BODIES)?;
            let body = bodies.get(number)?.ok_or(MailError::NoMessage(number))?;
            Ok(body.value().to_vec())
        })
    }

    /// The name that a message's sender gave it: no folders, nothing that steers a terminal.
    ///
    /// Errors: `NoMessage`, `Database`, `Record`.
    pub fn name(&self, number: u64) -> Result<Option<String>, MailError> {
        self.read(|tx| {
            let record: Option<Record> = stored(&tx.open_table(MESSAGES)?, number)?;
            Ok(record.ok_or(MailError::NoMessage(number))?.name)
        })
    }

    /// Notes that messages were read.
    ///
    /// Errors: `NoMessage`, `Database`.
    pub fn mark_read(&self, numbers: &[u64]) -> Result<(), MailError> {
        self.write(|tx| {
            let mut messages = tx.open_table(MESSAGES)?;
            for &number in numbers {
                let record: Option<Record> = stored(&messages, number)?;
                let mut record = record.ok_or(MailError::NoMessage(number))?;
                record.read = true;
                messages.insert(number, &encode(&record)?[..])?;
            }
            Ok(())
        })
    }

    /// Letters of which parts are missing, and payloads that did not open.
    ///
    /// Errors: `Damaged`, `Database`.
    pub fn leftovers(&self) -> Result<(Vec<Incomplete>, u64), MailError> {
        self.read(|tx| {
            let mut letters: BTreeMap<u64, Reassembler> = BTreeMap::new();
            for entry in tx.open_table(PIECES)?.iter()? {
                let (key, part) = entry?;
                let parts = letters.entry(key.value().0).or_default();
                // A part that contradicts others is left out, as when the letter is put together.
                let _ = parts.push(part.value());
            }
            let incomplete = letters.into_values().flat_map(|parts| parts.finish().1);
            let incomplete = incomplete.map(|letter| Incomplete {
                here: letter.have,
                parts: letter.total,
            });
            Ok((incomplete.collect(), tx.open_table(UNOPENED)?.len()?))
        })
    }

    /// Requests that are under way or wait to be decoded.
    ///
    /// Errors: `Damaged`, `Database`.
    pub fn pending(&self) -> Result<u64, MailError> {
        self.read(|tx| Ok(tx.open_table(JOBS)?.len()?))
    }
}

fn listed(tx: &ReadTransaction, all: bool) -> Result<Vec<Listed>, MailError> {
    let (messages, bodies) = (tx.open_table(MESSAGES)?, tx.open_table(BODIES)?);
    let mut listed = Vec::new();
    for entry in messages.iter()? {
        let (number, record) = entry?;
        let (number, record): (u64, Record) = (number.value(), decode(record.value())?);
        if record.read && !all {
            continue;
        }
        let body = bodies.get(number)?;
        listed.push(Listed {
            number,
            index: record.index,
            fetched: record.fetched,
            bytes: record.bytes,
            read: record.read,
            name: record.name,
            retired: record.retired,
            first_line: body.and_then(|body| first_line(body.value())),
        });
    }
    Ok(listed)
}

/// The first line that says something, if the content is text: what a sender wrote must not steer a terminal.
fn first_line(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let shown = |c: &char| !c.is_control();
    let clean = text.chars().all(is_text);
    clean.then(|| line.chars().filter(shown).take(LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_shown() {
        assert_eq!(
            first_line(b"\n\n  Dear Bob,\nhello"),
            Some("Dear Bob,".into())
        );
        assert_eq!(first_line(b"tab\there"), Some("tabhere".into()));
        assert_eq!(first_line(b"\x1b[2Jgone"), None);
        assert_eq!(first_line(b"\xff\xfe"), None);
        assert_eq!(first_line(b""), None);
        assert_eq!(
            first_line("ä".repeat(200).as_bytes()),
            Some("ä".repeat(LINE))
        );
    }
}

//! Lists and reads the messages of an inbox.

use crate::storage::{Look, Storage};
use crate::table::{BODIES, JOBS, MESSAGES, PIECES, UNOPENED};
use crate::{Heading, Inbox, InboxError, withdrawn};
use omr_client::fragment::{Reassembler, visible};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The number of characters of a first line in the list.
const LINE: usize = 60;

/// A message's entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) index: u64,
    pub(crate) fetched: u64,
    pub(crate) bytes: u64,
    pub(crate) read: bool,
    /// Whether the recipient's other devices know that it was read.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(crate) shared: bool,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retired: Option<String>,
    /// The indices of its further payloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) further: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<Heading>,
}

fn is_unset(flag: &bool) -> bool {
    !flag
}

/// A message in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The letter's number in this inbox.
    pub number: u64,
    /// The index of its first payload on the board.
    pub index: u64,
    /// The indices of its further payloads, where they were recorded.
    #[serde(skip)]
    pub further: Vec<u64>,
    /// The time when it was taken in, in seconds since 1970.
    pub fetched: u64,
    /// The letter's length in bytes.
    pub bytes: u64,
    /// Whether it was marked as read.
    pub read: bool,
    /// The name that its sender gave it, without characters that steer a terminal.
    pub name: Option<String>,
    /// The name of the retired identity to which it was written, if any.
    pub retired: Option<String>,
    /// Whether the board no longer has one of its messages: the ledger took another branch, or the server was restored.
    pub withdrawn: bool,
    /// The statements of its header, if it has one.
    pub header: Option<Heading>,
    /// The letter's first line if it is text, without characters that steer a terminal, hide text or change its
    /// direction.
    pub first_line: Option<String>,
}

/// A letter with missing parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Incomplete {
    /// The number of parts that were received.
    pub here: u32,
    /// The number of all its parts.
    pub parts: u32,
}

impl<S: Storage> Inbox<S> {
    /// Returns the unread messages, or with `all` all messages, in the order of the board.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn list(&self, all: bool) -> Result<Vec<Listed>, S::Error> {
        self.store.read(|tx| {
            let mut messages = MESSAGES.all(tx)?;
            messages.retain(|(_, record)| all || !record.read);
            let mut listed = listed(tx, messages)?;
            listed.sort_by_key(|message| (message.index, message.number));
            Ok(listed)
        })
    }

    /// Returns the last `count` messages with numbers below `end`, in the order in which they came. The time does not
    /// depend on the number of others.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn page(&self, end: u64, count: u64) -> Result<Vec<Listed>, S::Error> {
        self.store.read(|tx| {
            let end = end.min(MESSAGES.next_number(tx)?);
            let mut messages = Vec::new();
            // Numbers of deleted letters are missing.
            let mut width = count;
            while (messages.len() as u64) < count && width > 0 {
                let start = end.saturating_sub(width);
                messages = match end.checked_sub(1) {
                    Some(last) => MESSAGES.range(tx, start..=last)?,
                    None => Vec::new(),
                };
                width = match start {
                    0 => 0,
                    _ => width.saturating_mul(2),
                };
            }
            let extra = (messages.len() as u64).saturating_sub(count) as usize;
            listed(tx, messages.split_off(extra))
        })
    }

    /// Returns a message as it is listed.
    ///
    /// Errors: those of the storage; `NoMessage`, `Record`.
    pub fn letter(&self, number: u64) -> Result<Listed, S::Error> {
        self.store.read(|tx| {
            let record = record(tx, number)?;
            entry(tx, &withdrawn::letters(tx)?, number, record)
        })
    }

    /// Returns the messages whose headers state this media type, in the order of the board.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn of_media_type(&self, media_type: &str) -> Result<Vec<Listed>, S::Error> {
        self.store.read(|tx| {
            let mut messages = MESSAGES.all(tx)?;
            messages.retain(|(_, record)| {
                let header = record.header.as_ref();
                header.and_then(|header| header.media_type.as_deref()) == Some(media_type)
            });
            let mut listed = listed(tx, messages)?;
            listed.sort_by_key(|message| (message.index, message.number));
            Ok(listed)
        })
    }

    /// Returns the numbers of the letters with messages that the board no longer has, as [`Listed::withdrawn`].
    ///
    /// Errors: those of the storage; `Record`.
    pub fn withdrawn(&self) -> Result<Vec<u64>, S::Error> {
        let letters = self.store.read(|tx| withdrawn::letters(tx))?;
        Ok(letters.into_iter().collect())
    }

    /// Returns a message's content.
    ///
    /// Errors: those of the storage; `NoMessage`.
    pub fn body(&self, number: u64) -> Result<Vec<u8>, S::Error> {
        let body = self.store.read(|tx| BODIES.get(tx, &number))?;
        Ok(body.ok_or(InboxError::NoMessage(number))?)
    }

    /// Returns the name that a message's sender gave it, without folders or characters that steer a terminal.
    ///
    /// Errors: those of the storage; `NoMessage`, `Record`.
    pub fn name(&self, number: u64) -> Result<Option<String>, S::Error> {
        self.store.read(|tx| Ok(record(tx, number)?.name))
    }

    /// Marks messages as read.
    ///
    /// Errors: those of the storage; `NoMessage`, `Record`.
    pub fn mark_read(&self, numbers: &[u64]) -> Result<(), S::Error> {
        self.store.write(|tx| {
            for number in numbers {
                let mut record = record(tx, *number)?;
                record.read = true;
                MESSAGES.put(tx, number, &record)?;
            }
            Ok(())
        })
    }

    /// Returns the letters with missing parts, and the number of payloads that could not be opened.
    ///
    /// Errors: those of the storage.
    pub fn leftovers(&self) -> Result<(Vec<Incomplete>, u64), S::Error> {
        self.store.read(|tx| {
            let mut letters: BTreeMap<u64, Reassembler> = BTreeMap::new();
            for ((letter, _), part) in PIECES.all(tx)? {
                let parts = letters.entry(letter).or_default();
                // A part that contradicts others is left out, as when the letter is put together.
                let _ = parts.push(&part);
            }
            let incomplete = letters.into_values().flat_map(|parts| parts.finish().1);
            let incomplete = incomplete.map(|letter| Incomplete {
                here: letter.have,
                parts: letter.total,
            });
            Ok((incomplete.collect(), UNOPENED.count(tx)?))
        })
    }

    /// Returns the number of requests that are under way or wait to be decoded.
    ///
    /// Errors: those of the storage.
    pub fn pending(&self) -> Result<u64, S::Error> {
        self.store.read(|tx| JOBS.count(tx))
    }
}

/// Returns entries as they are listed, in the same order.
fn listed<T: Look>(tx: &T, messages: Vec<(u64, Record)>) -> Result<Vec<Listed>, T::Error> {
    let withdrawn = withdrawn::letters(tx)?;
    messages
        .into_iter()
        .map(|(number, record)| entry(tx, &withdrawn, number, record))
        .collect()
}

/// Returns an entry as it is listed, where `withdrawn` has the numbers of all letters with withdrawn messages.
fn entry<T: Look>(
    tx: &T,
    withdrawn: &BTreeSet<u64>,
    number: u64,
    record: Record,
) -> Result<Listed, T::Error> {
    let body = BODIES.get(tx, &number)?;
    Ok(Listed {
        number,
        index: record.index,
        further: record.further,
        fetched: record.fetched,
        bytes: record.bytes,
        read: record.read,
        name: record.name,
        retired: record.retired,
        withdrawn: withdrawn.contains(&number),
        header: record.header,
        first_line: body.and_then(|body| first_line(&body)),
    })
}

fn record<T: Look>(tx: &T, number: u64) -> Result<Record, T::Error> {
    let record = MESSAGES.get(tx, &number)?;
    Ok(record.ok_or(InboxError::NoMessage(number))?)
}

/// Returns the first line that is not blank, if the content is text, without characters that could steer a terminal.
fn first_line(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    let line = text
        .lines()
        .map(visible)
        .find(|line| !line.trim().is_empty())?;
    let clean = text.chars().all(is_text);
    clean.then(|| line.trim().chars().take(LINE).collect())
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
        assert_eq!(
            first_line("pay\u{202e}lap\u{2028}\u{200b}\u{e0041} now".as_bytes()),
            Some("paylap now".into())
        );
        assert_eq!(
            first_line("\u{645}\u{6cc}\u{200c}\u{62e}".as_bytes()),
            Some("\u{645}\u{6cc}\u{200c}\u{62e}".into())
        );
        assert_eq!(first_line(b"\xff\xfe"), None);
        assert_eq!(first_line(b""), None);
        assert_eq!(
            first_line("ä".repeat(200).as_bytes()),
            Some("ä".repeat(LINE))
        );
    }
}

//! Looking at what is in the inbox, and what a person may ask of it.

use super::requests::{ask_again, stored};
use super::{BODIES, Inbox, JOBS, KEPT, Kept, MESSAGES, PIECES, UNOPENED, decode, encode};
use crate::MailError;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
}

/// A message as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its number in this inbox.
    pub number: u64,
    /// Index of its first payload on the board.
    pub index: u64,
    /// When it was taken in, in seconds since 1970.
    pub fetched: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether it was read.
    pub read: bool,
    /// The name that its sender gave it, harmless.
    pub name: Option<String>,
    /// Its first line without control characters, if it is text.
    pub first_line: Option<String>,
}

impl Inbox {
    /// The messages, oldest first; `all`: those too that were read.
    ///
    /// Errors: `Database`, `Record`.
    pub fn list(&self, all: bool) -> Result<Vec<Listed>, MailError> {
        let tx = self.db.begin_read()?;
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
                first_line: body.and_then(|body| first_line(body.value())),
            });
        }
        Ok(listed)
    }

    /// A message's content.
    ///
    /// Errors: `NoMessage`, `Database`.
    pub fn body(&self, number: u64) -> Result<Vec<u8>, MailError> {
        let bodies = self.db.begin_read()?.open_table(BODIES)?;
        let body = bodies.get(number)?.ok_or(MailError::NoMessage { number })?;
        Ok(body.value().to_vec())
    }

    /// The name that a message's sender gave it: no folders, nothing that steers a terminal.
    ///
    /// Errors: `NoMessage`, `Database`, `Record`.
    pub fn name(&self, number: u64) -> Result<Option<String>, MailError> {
        let messages = self.db.begin_read()?.open_table(MESSAGES)?;
        let record: Option<Record> = stored(&messages, number)?;
        Ok(record.ok_or(MailError::NoMessage { number })?.name)
    }

    /// Notes that messages were read.
    ///
    /// Errors: `NoMessage`, `Database`.
    pub fn mark_read(&self, numbers: &[u64]) -> Result<(), MailError> {
        self.write(|tx| {
            let mut messages = tx.open_table(MESSAGES)?;
            for &number in numbers {
                let record: Option<Record> = stored(&messages, number)?;
                let mut record = record.ok_or(MailError::NoMessage { number })?;
                record.read = true;
                messages.insert(number, &encode(&record)?[..])?;
            }
            Ok(())
        })
    }

    /// Ranges whose digests gave no messages.
    ///
    /// Errors: `Database`, `Record`.
    pub fn kept(&self) -> Result<Vec<Kept>, MailError> {
        let kept = self.db.begin_read()?.open_table(KEPT)?;
        let mut ranges = Vec::new();
        for entry in kept.iter()? {
            ranges.push(decode(entry?.1.value())?);
        }
        Ok(ranges)
    }

    /// Files of which parts are missing, and payloads that did not open.
    ///
    /// Errors: `Database`.
    pub fn leftovers(&self) -> Result<(usize, u64), MailError> {
        let tx = self.db.begin_read()?;
        let mut files = BTreeSet::new();
        for entry in tx.open_table(PIECES)?.iter()? {
            files.insert(entry?.0.value().0);
        }
        Ok((files.len(), tx.open_table(UNOPENED)?.len()?))
    }

    /// Requests that are under way or wait to be decoded.
    ///
    /// Errors: `Database`.
    pub fn pending(&self) -> Result<u64, MailError> {
        Ok(self.db.begin_read()?.open_table(JOBS)?.len()?)
    }

    /// **A person's act.** Has the next fetch ask for every overflowed range again, with a larger bound: that
    /// tells the detector that the old bound did not do, so that whoever sent the messages, if it is the
    /// detector or is in league with it, learns something of her secret. Gives the number of ranges.
    ///
    /// Errors: `Database`, `Record`.
    pub fn raise_bound(&self, bound: u32) -> Result<usize, MailError> {
        self.again(|kept| (kept.overflowed.is_some() && bound > kept.bound).then_some(bound))
    }

    /// **A person's act.** Has the next fetch ask for every damaged range again, as it was asked for: that
    /// tells the detector that a digest did not decode.
    ///
    /// Errors: `Database`, `Record`.
    pub fn retry_damaged(&self) -> Result<usize, MailError> {
        self.again(|kept| kept.overflowed.is_none().then_some(kept.bound))
    }

    fn again(&self, bound: impl Fn(&Kept) -> Option<u32>) -> Result<usize, MailError> {
        self.write(|tx| {
            let mut table = tx.open_table(KEPT)?;
            let mut entries: Vec<(u64, Kept)> = Vec::new();
            for entry in table.iter()? {
                let (number, kept) = entry?;
                entries.push((number.value(), decode(kept.value())?));
            }
            let mut asked = 0;
            for (number, mut kept) in entries {
                let Some(bound) = bound(&kept) else { continue };
                asked += usize::from(ask_again(tx, number, &mut kept, bound)?);
                table.insert(number, &encode(&kept)?[..])?;
            }
            Ok(asked)
        })
    }
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

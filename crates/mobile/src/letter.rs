//! The content of an inbox.

use omr_binding::{Decoded, Received, genuine_sender, is_forged};
use std::fmt;

/// A letter of an inbox. Its text form has no content.
#[derive(Clone, uniffi::Record)]
#[uniffi::export(Display)]
pub struct Letter {
    /// The number of the letter in the inbox.
    pub number: u64,
    /// The index of the letter's first message on the board.
    pub index: u64,
    /// The name that the sender gave the letter, if there is one.
    pub name: Option<String>,
    /// The content.
    pub data: Vec<u8>,
    /// The time when it was taken in, in seconds since 1970.
    pub fetched: u64,
    /// Whether the letter was marked as read when it was listed.
    pub read: bool,
    /// The name of the address to which the letter was written, if that address was replaced since.
    pub retired: Option<String>,
    /// The short address of the sender, if the letter names one and the signature matches.
    pub sender: Option<String>,
    /// Whether the letter names a sender whose signature does not match.
    pub forged: bool,
    /// The conversation, 32 hexadecimal digits that its letters have in common.
    pub thread: Option<String>,
    /// The subject, if the letter has one.
    pub subject: Option<String>,
    /// The media type of the content, such as `text/plain`, if the letter names one.
    pub media_type: Option<String>,
    /// The time in seconds since 1970, by the sender's clock.
    pub time: Option<u64>,
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "letter {}: {} bytes", self.number, self.data.len())
    }
}

impl From<Received> for Letter {
    fn from(received: Received) -> Self {
        let listed = received.listed;
        let header = listed.header.unwrap_or_default();
        Self {
            number: listed.number,
            index: listed.index,
            name: listed.name,
            data: received.data,
            fetched: listed.fetched,
            read: listed.read,
            retired: listed.retired,
            sender: genuine_sender(&header),
            forged: is_forged(&header),
            thread: header.thread,
            subject: header.subject,
            media_type: header.media_type,
            time: header.time,
        }
    }
}

/// A range of the board with missing messages: its digest overflowed or was damaged.
#[derive(Clone, uniffi::Record)]
pub struct Kept {
    /// The first message of the range.
    pub start: u64,
    /// The message after the last one.
    pub end: u64,
    /// The bound of the digest.
    pub bound: u32,
    /// The number of the recipient's messages in it, where that is known; a lower bound unless `exact` is true.
    pub count: Option<u64>,
    /// Whether `count` is the exact number.
    pub exact: bool,
    /// The reason why messages are missing.
    pub reason: String,
    /// Whether the next fetch requests it again.
    pub asked_again: bool,
    /// The number of its messages that later digests contained.
    pub read: u64,
    /// The number of further fetches that cover it by themselves.
    pub fetches_left: u64,
    /// The number of these fetches after which it is expected to be complete, unless many other letters arrive
    /// meanwhile.
    pub fetches_expected: u64,
    /// Whether the board's messages of the range have expired, so that nothing can bring them.
    pub expired: bool,
}

impl From<omr_mail::Kept> for Kept {
    fn from(kept: omr_mail::Kept) -> Self {
        Self {
            start: kept.start,
            end: kept.end,
            bound: kept.bound,
            count: kept.overflowed,
            exact: kept.exact,
            reason: kept.reason,
            asked_again: kept.asked_again,
            read: kept.read,
            fetches_left: kept.fetches_left,
            fetches_expected: kept.fetches_expected,
            expired: kept.expired,
        }
    }
}

/// Messages that were found and whose payloads later fetches bring.
#[derive(Clone, uniffi::Record)]
pub struct Waiting {
    /// The number of these messages.
    pub messages: u64,
    /// The number of fetches that bring them, unless others are found before them.
    pub fetches: u64,
}

/// The result of a fetch.
#[derive(Clone, uniffi::Record)]
pub struct Fetched {
    /// The new letters.
    pub letters: Vec<Letter>,
    /// The ranges with missing messages.
    pub kept: Vec<Kept>,
    /// The number of messages that could not be opened.
    pub unopened: u64,
    /// Warnings for the program's log.
    pub warnings: Vec<String>,
}

impl From<Decoded> for Fetched {
    fn from(decoded: Decoded) -> Self {
        Self {
            letters: decoded.letters.into_iter().map(Letter::from).collect(),
            kept: decoded.kept.into_iter().map(Kept::from).collect(),
            unopened: decoded.unopened as u64,
            warnings: decoded.warnings,
        }
    }
}

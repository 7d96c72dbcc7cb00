//! The part of a board's log that a session covers, and the check that a board still has it.

use crate::hex;
use std::ops::Range;

/// A number of messages at the beginning of a log, and the running hash of the log at that length
/// (`docs/storage.md`, "Running hash and histories"), if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPoint {
    /// The number of messages.
    pub length: u64,
    /// The running hash at that length.
    pub hash: Option<[u8; 32]>,
}

/// The part of a log that a session covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The first message that the session covers: the end of the last digest that was cut off, if there was one.
    pub start: LogPoint,
    /// The next message that the session will process.
    pub next: LogPoint,
}

/// An error: the board no longer has the messages that a session covers, or has others in their place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the board of which the session has seen {} messages{}, found {}: the board was put back from an older copy or \
     exchanged",
    seen.length, named(" with the running hash ", seen.hash), found(seen, board)
)]
pub struct OtherHistory {
    /// The length and hash of the log that the session covers.
    pub seen: LogPoint,
    /// The length of the board's log, and its running hash at the session's end; no hash if the board is shorter.
    pub board: LogPoint,
    /// A length up to which the board has the messages that the session covers, if one is known.
    pub common: Option<u64>,
}

/// Returns `text` and the first 8 bytes of the hash, or nothing if the hash is unknown.
fn named(text: &str, hash: Option<[u8; 32]>) -> String {
    hash.map_or(String::new(), |hash| format!("{text}{}", hex(&hash[..8])))
}

fn found(seen: &LogPoint, board: &LogPoint) -> String {
    if board.length < seen.length {
        return format!("one of {} messages", board.length);
    }
    let hash = named(", with the running hash ", board.hash);
    format!(
        "one of {} messages{hash} at length {}",
        board.length, seen.length
    )
}

impl Seen {
    /// Makes the part of a log over a range of messages, with the hashes at its two ends.
    pub fn new(range: &Range<u64>, start: Option<[u8; 32]>, next: Option<[u8; 32]>) -> Self {
        Self {
            start: LogPoint {
                length: range.start,
                hash: start,
            },
            next: LogPoint {
                length: range.end,
                hash: next,
            },
        }
    }

    /// Compares the session's part of the log with a board of `messages` messages, whose running hash at a length
    /// `hash_at` returns.
    ///
    /// Returns whether both hashes are known, and therefore equal. If one of them is unknown, only the lengths were
    /// compared.
    ///
    /// Errors: `OtherHistory`; those of `hash_at`.
    pub fn check<E: From<OtherHistory>>(
        &self,
        messages: u64,
        hash_at: impl Fn(u64) -> Result<Option<[u8; 32]>, E>,
    ) -> Result<bool, E> {
        let is_shorter = messages < self.next.length;
        let hash = if is_shorter {
            None
        } else {
            hash_at(self.next.length)?
        };
        let both = self.next.hash.zip(hash);
        if !is_shorter && both.is_none_or(|(seen, board)| seen == board) {
            return Ok(both.is_some());
        }
        let mut common = None;
        if self.start.length <= messages
            && self.start.hash.is_some()
            && hash_at(self.start.length)? == self.start.hash
        {
            common = Some(self.start.length);
        }
        let board = LogPoint {
            length: messages,
            hash,
        };
        let seen = self.next;
        Err(OtherHistory {
            seen,
            board,
            common,
        }
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(length: u64, hash: Option<u8>) -> LogPoint {
        let hash = hash.map(|byte| [byte; 32]);
        LogPoint { length, hash }
    }

    /// Compares a session of messages 2 to 5 with a board whose hash at length n is entry n of `hashes`.
    fn checked(seen: Option<u8>, hashes: &[Option<u8>]) -> Result<bool, OtherHistory> {
        let seen = Seen {
            start: point(2, Some(2)),
            next: point(5, seen),
        };
        let messages = hashes.len() as u64 - 1;
        seen.check(messages, |length| {
            Ok(hashes[length as usize].map(|byte| [byte; 32]))
        })
    }

    #[test]
    fn boards_are_distinguished_by_hash_and_length() {
        let own = [0, 1, 2, 3, 4, 5, 6].map(Some);
        assert_eq!(checked(Some(5), &own), Ok(true));
        assert_eq!(checked(Some(5), &own[..6]), Ok(true));
        assert_eq!(checked(None, &own), Ok(false));
        let mut lost = own;
        lost[5] = None;
        assert_eq!(checked(Some(5), &lost), Ok(false));

        let shorter = checked(Some(5), &own[..4]).unwrap_err();
        assert_eq!(shorter.board, point(3, None));
        assert_eq!(shorter.common, Some(2));
        let text = shorter.to_string();
        assert!(
            text.contains("5 messages with the running hash 0505050505050505"),
            "{text}"
        );
        assert!(text.contains("found one of 3 messages:"), "{text}");
        // The same if the hash is unknown, and if the board is shorter than the session's start.
        assert_eq!(checked(None, &own[..4]).unwrap_err().common, Some(2));
        assert_eq!(checked(Some(5), &own[..2]).unwrap_err().common, None);

        let forked = [0, 1, 2, 30, 40, 50].map(Some);
        let other = checked(Some(5), &forked).unwrap_err();
        assert_eq!(other.seen, point(5, Some(5)));
        assert_eq!(other.board, point(5, Some(50)));
        assert_eq!(other.common, Some(2));
        let text = other.to_string();
        let hash = "found one of 5 messages, with the running hash 3232323232323232 at length 5";
        assert!(text.contains(hash), "{text}");
        let earlier = [0, 10, 20, 30, 40, 50].map(Some);
        assert_eq!(checked(Some(5), &earlier).unwrap_err().common, None);
    }
}

//! The comparison of acknowledgements with the board.

use super::pool::Pool;
use omr_remote::v1::Message;
use serde::Serialize;

/// The result of reading the whole board.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadBack {
    /// The number of messages read.
    pub messages: u64,
    /// Seconds of reading.
    pub seconds: f64,
    /// The number of acknowledged messages that are at the acknowledged index with exactly their content, once.
    pub exact: u64,
    /// The number of acknowledged messages that are missing.
    pub lost: u64,
    /// The number of repeated messages, not counting the first of each.
    pub doubled: u64,
    /// The number of acknowledged messages at another index.
    pub misplaced: u64,
    /// The number of messages that no client posted.
    pub altered: u64,
    /// The number of messages whose posts were not acknowledged; they may be on the board.
    pub unacknowledged: u64,
}

impl ReadBack {
    /// Returns descriptions of all broken promises.
    pub(crate) fn faults(&self) -> Vec<String> {
        [
            (self.lost, "acknowledged messages are lost"),
            (self.doubled, "messages are there twice"),
            (self.misplaced, "messages are not where it was acknowledged"),
            (self.altered, "messages are there that nobody posted"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// Messages by number, with the index of each and whether it was seen.
pub(crate) struct Ledger {
    indices: Vec<Option<u64>>,
    seen: Vec<bool>,
    found: ReadBack,
}

impl Ledger {
    /// Returns a ledger with the index acknowledged for each message, if it was.
    pub(crate) fn new(indices: Vec<Option<u64>>) -> Self {
        Self {
            seen: vec![false; indices.len()],
            indices,
            found: ReadBack::default(),
        }
    }

    /// Records a message of the board; `expected` makes the message with a number.
    pub(crate) fn take(
        &mut self,
        index: u64,
        message: &Message,
        expected: impl Fn(u64) -> Message,
    ) {
        self.found.messages += 1;
        let number = Pool::number(message).filter(|number| *number < self.indices.len() as u64);
        let Some(number) = number.filter(|&number| *message == expected(number)) else {
            self.found.altered += 1;
            return;
        };
        let at = number as usize;
        if std::mem::replace(&mut self.seen[at], true) {
            self.found.doubled += 1
        } else {
            match self.indices[at] {
                Some(acknowledged) if acknowledged == index => self.found.exact += 1,
                Some(_) => self.found.misplaced += 1,
                None => self.found.unacknowledged += 1,
            }
        }
    }

    /// Returns the result, once the whole board was recorded.
    pub(crate) fn finish(mut self) -> ReadBack {
        self.found.lost = self
            .indices
            .iter()
            .zip(&self.seen)
            .filter(|(index, seen)| index.is_some() && !**seen)
            .count() as u64;
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64) -> Message {
        Message {
            clue: vec![number as u8; 3].into(),
            payload: number.to_le_bytes().to_vec().into(),
        }
    }

    fn read(acknowledged: &[Option<u64>], board: &[Message]) -> ReadBack {
        let mut ledger = Ledger::new(acknowledged.to_vec());
        for (index, found) in board.iter().enumerate() {
            ledger.take(index as u64, found, message);
        }
        ledger.finish()
    }

    #[test]
    fn what_was_acknowledged_and_is_there_is_exact() {
        let found = read(&[Some(1), Some(0), None], &[1, 0, 2].map(message));
        assert_eq!(
            (found.messages, found.exact, found.unacknowledged),
            (3, 2, 1)
        );
        assert!(found.faults().is_empty(), "{found:?}");
    }

    #[test]
    fn every_fault_shows() {
        let found = read(&[Some(0), Some(1)], &[message(0)]);
        assert_eq!((found.exact, found.lost), (1, 1));
        let found = read(&[Some(0)], &[message(0), message(0)]);
        assert_eq!((found.exact, found.doubled), (1, 1));
        let found = read(&[Some(1), Some(0)], &[message(0), message(1)]);
        assert_eq!((found.exact, found.misplaced), (0, 2));
        let mut changed = message(0);
        changed.clue = vec![9; 3].into();
        let found = read(&[Some(0)], &[changed, message(5)]);
        assert_eq!((found.altered, found.lost), (2, 1));
        assert_eq!(found.faults().len(), 2);
    }
}

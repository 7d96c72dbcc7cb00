//! A record of posts and acknowledgements, and their comparison with the board at the end.

use super::people::label;
use crate::trials::TrialError;
use bytes::Bytes;
use futures::StreamExt;
use omr_remote::Client;
use omr_remote::v1::{Message, Part};
use std::collections::HashMap;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The id of a post.
pub(crate) type PostId = [u8; 16];

/// A post as it was sent.
struct Entry {
    hashes: Vec<blake3::Hash>,
    acknowledged: Option<Range<u64>>,
}

/// All posts of a trial.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Mutex<HashMap<PostId, Entry>>,
    faults: Mutex<Vec<String>>,
}

/// The board at the end: payloads and their owners.
#[derive(Default)]
pub(crate) struct Copy {
    pub(crate) payloads: Vec<Bytes>,
    pub(crate) owners: Vec<usize>,
}

/// The comparison of the posts with the board.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit {
    pub(crate) acknowledged: u64,
    pub(crate) unacknowledged: u64,
    /// The number of posts that are on the board without acknowledgement.
    pub(crate) landed: u64,
    /// The number of acknowledged posts that are missing or at another position.
    pub(crate) lost: u64,
    /// The number of posts that are on the board more than once.
    pub(crate) doubled: u64,
    /// The number of posts that are on the board in part.
    pub(crate) torn: u64,
    /// The number of messages on the board that no client posted.
    pub(crate) foreign: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash(message: &Message) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&message.clue).update(&message.payload);
    hasher.finalize()
}

impl Ledger {
    /// Records a post before it is sent.
    pub(crate) fn intend(&self, id: PostId, messages: &[Message]) {
        let entry = Entry {
            hashes: messages.iter().map(hash).collect(),
            acknowledged: None,
        };
        lock(&self.entries).insert(id, entry);
    }

    /// Records the server's acknowledgement; a repeated one that differs is a fault.
    pub(crate) fn acknowledge(&self, id: &PostId, range: Range<u64>) {
        let mut entries = lock(&self.entries);
        let Some(entry) = entries.get_mut(id) else {
            return;
        };
        let first = entry.acknowledged.get_or_insert_with(|| range.clone());
        if *first != range {
            let fault = format!("a post was acknowledged at {first:?}, then at {range:?}");
            lock(&self.faults).push(fault);
        }
    }

    /// Compares all posts with the board; returns the comparison and the faults.
    pub(crate) fn audit(&self, copy: &Copy, hashes: &[blake3::Hash]) -> (Audit, Vec<String>) {
        let (mut audit, mut faults) = (Audit::default(), lock(&self.faults).clone());
        let entries = lock(&self.entries);
        let mut places: HashMap<PostId, Vec<(u64, usize)>> = HashMap::new();
        for (index, payload) in copy.payloads.iter().enumerate() {
            let found = label(payload).filter(|(id, place, _)| {
                let entry = entries.get(id);
                entry.is_some_and(|entry| entry.hashes.get(*place) == Some(&hashes[index]))
            });
            match found {
                Some((id, place, _)) => places.entry(id).or_default().push((index as u64, place)),
                None => {
                    audit.foreign += 1;
                    faults.push(format!("message {index} was posted by nobody"));
                }
            }
        }
        for (id, entry) in entries.iter() {
            let found = places.get(id).map_or(&[][..], Vec::as_slice);
            if let Some(fault) = audit.post(entry, found) {
                faults.push(fault);
            }
        }
        (audit, faults)
    }
}

impl Audit {
    /// Counts a post and returns its fault, if there is one.
    fn post(&mut self, entry: &Entry, found: &[(u64, usize)]) -> Option<String> {
        let count = entry.hashes.len();
        let first = found.first().map_or(0, |(index, _)| *index);
        let mut steps = found.iter().enumerate();
        let in_order = steps.all(|(i, &(index, place))| index == first + i as u64 && place == i);
        let whole = found.len() == count && in_order;
        let doubled = found.len() > count;
        let torn = !found.is_empty() && !whole && !doubled;
        self.doubled += u64::from(doubled);
        self.torn += u64::from(torn);
        let lost = match &entry.acknowledged {
            None => {
                self.unacknowledged += 1;
                self.landed += u64::from(whole);
                false
            }
            Some(range) => {
                self.acknowledged += 1;
                !(doubled || whole && *range == (first..first + count as u64))
            }
        };
        self.lost += u64::from(lost);
        let wrong = lost || doubled || torn;
        wrong.then(|| {
            format!(
                "a post of {count} messages, acknowledged as {:?}, stands at {:?}",
                entry.acknowledged,
                found.iter().map(|(index, _)| index).collect::<Vec<_>>()
            )
        })
    }
}

/// Reads a range of the board, with the hash of every message.
///
/// Errors: those of the client.
pub(crate) async fn read(
    client: &Client,
    range: Range<u64>,
) -> Result<(Copy, Vec<blake3::Hash>), TrialError> {
    let (mut copy, mut hashes) = (Copy::default(), Vec::new());
    let mut pieces = pin!(client.read(range, Part::Unspecified));
    while let Some(piece) = pieces.next().await {
        for message in piece?.messages {
            hashes.push(hash(&message));
            copy.owners
                .push(label(&message.payload).map_or(usize::MAX, |(_, _, owner)| owner));
            copy.payloads.push(message.payload);
        }
    }
    Ok((copy, hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: PostId, place: u16, fill: u8) -> Message {
        let mut payload = id.to_vec();
        payload.extend(place.to_le_bytes());
        payload.extend([2, fill]);
        Message {
            clue: vec![fill].into(),
            payload: payload.into(),
        }
    }

    /// Returns the audit of a board with these messages.
    fn audit(ledger: &Ledger, board: &[Message]) -> Audit {
        let copy = Copy {
            payloads: board.iter().map(|m| m.payload.clone()).collect(),
            owners: vec![2; board.len()],
        };
        let hashes: Vec<_> = board.iter().map(hash).collect();
        ledger.audit(&copy, &hashes).0
    }

    #[test]
    fn every_kind_of_loss_is_a_fault() {
        let ledger = Ledger::default();
        let first = [message([1; 16], 0, 7), message([1; 16], 1, 8)];
        let second = [message([2; 16], 0, 9)];
        ledger.intend([1; 16], &first);
        ledger.intend([2; 16], &second);
        ledger.acknowledge(&[1; 16], 0..2);
        let [a, b, c] = [&first[0], &first[1], &second[0]].map(Clone::clone);
        let figures = |board: &[Message]| {
            let found = audit(&ledger, board);
            [
                found.landed,
                found.lost,
                found.doubled,
                found.torn,
                found.foreign,
            ]
        };
        assert_eq!(figures(&[a.clone(), b.clone()]), [0, 0, 0, 0, 0]);
        assert_eq!(figures(&[a.clone(), b.clone(), c.clone()]), [1, 0, 0, 0, 0]);
        assert_eq!(figures(&[c.clone(), a.clone(), b.clone()]), [1, 1, 0, 0, 0]);
        assert_eq!(figures(std::slice::from_ref(&a)), [0, 1, 0, 1, 0]);
        assert_eq!(figures(&[]), [0, 1, 0, 0, 0]);
        let twice = [a.clone(), b.clone(), a.clone(), b.clone()];
        assert_eq!(figures(&twice), [0, 0, 1, 0, 0]);
        assert_eq!(figures(&[a, b, message([3; 16], 0, 1)]), [0, 0, 0, 0, 1]);
    }
}

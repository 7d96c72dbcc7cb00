//! The places of a page's messages in buckets.

use crate::fetch::Fetch;
use omr_ring::Xof;
use rand_core::Rng;

/// A place of a message in the row that its page fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bucket.
    pub bucket: usize,
    /// The position in the bucket's row.
    pub position: usize,
}

/// The places of the messages of a page. They depend on a public seed and on the numbers of page and message alone, so
/// that messages that are posted later move no earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    choices: usize,
    /// For each message and choice, the bucket.
    buckets: Vec<u8>,
    /// For each message and choice, the number of earlier messages in the bucket.
    positions: Vec<u16>,
}

impl Places {
    /// Draws the places of all messages of a page, counted on the board. A message takes bytes of a stream, modulo the
    /// number of buckets, until it has distinct buckets; bytes that name a full bucket are skipped.
    pub fn new(fetch: &Fetch, seed: &[u8; 32], page: u64) -> Self {
        let (spec, room) = (fetch.spec(), fetch.positions());
        let mut stream = Xof::stream("omr fetch places v1", seed, &[page]);
        let mut bytes = [0; 64];
        let mut left: &[u8] = &[];
        let mut used = vec![0_u16; spec.buckets];
        let mut buckets: Vec<u8> = Vec::with_capacity(spec.page * spec.choices);
        let mut positions = Vec::with_capacity(buckets.capacity());
        for message in 0..spec.page {
            let first = message * spec.choices;
            // This ends: `Fetch::new` checks that there always is another bucket with room.
            while buckets.len() < first + spec.choices {
                let Some((&byte, rest)) = left.split_first() else {
                    stream.fill_bytes(&mut bytes);
                    left = &bytes;
                    continue;
                };
                left = rest;
                let bucket = byte % spec.buckets as u8;
                let position = &mut used[usize::from(bucket)];
                if usize::from(*position) == room || buckets[first..].contains(&bucket) {
                    continue;
                }
                buckets.push(bucket);
                positions.push(*position);
                *position += 1;
            }
        }
        Self {
            choices: spec.choices,
            buckets,
            positions,
        }
    }

    /// Returns the number of messages of a page.
    pub fn messages(&self) -> usize {
        self.buckets.len() / self.choices
    }

    /// Returns the places of a message, by its number in the page.
    ///
    /// Panics: if there is no such message.
    pub fn of(&self, message: usize) -> impl Iterator<Item = Place> + '_ {
        let range = message * self.choices..(message + 1) * self.choices;
        range.map(|i| Place {
            bucket: usize::from(self.buckets[i]),
            position: usize::from(self.positions[i]),
        })
    }
}

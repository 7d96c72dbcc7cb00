//! The places of a section's messages in buckets.

use crate::fetch::Fetch;
use omr_ring::Xof;
use rand_core::Rng;

/// A place of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bucket.
    pub bucket: usize,
    /// The row in the section.
    pub row: usize,
    /// The position in the row.
    pub position: usize,
}

/// The places of the messages of a section. They depend on a public seed and on the numbers of section and message
/// alone, so that places of messages that are posted later change no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    choices: usize,
    positions: usize,
    /// For each message and choice, the bucket.
    buckets: Vec<u8>,
    /// For each message and choice, the number of earlier messages in the bucket.
    orders: Vec<u16>,
}

impl Places {
    /// Draws the places of `messages` messages, the size of a section. A draw that overfills a bucket is replaced by
    /// the next one of the same seed.
    ///
    /// Panics: if no bucket could hold its share of the messages.
    pub fn new(fetch: &Fetch, seed: &[u8; 32], section: u64, messages: usize) -> Self {
        let spec = fetch.spec();
        let room = spec.rows * fetch.positions();
        assert!(
            room * spec.buckets > messages * spec.choices,
            "buckets with room"
        );
        let drawn =
            (0..).find_map(|attempt| Self::drawn(fetch, seed, [section, attempt], messages));
        drawn.expect("a draw that fits")
    }

    /// Draws places: for each message as many bytes of the stream as it takes, a byte modulo the number of buckets each,
    /// for distinct buckets. Returns `None` if a bucket overflows.
    fn drawn(fetch: &Fetch, seed: &[u8; 32], index: [u64; 2], messages: usize) -> Option<Self> {
        let spec = fetch.spec();
        let room = spec.rows * fetch.positions();
        let mut stream = Xof::stream("omr fetch places v1", seed, &index);
        let mut bytes = [0; 64];
        let mut left: &[u8] = &[];
        let mut used = vec![0_u16; spec.buckets];
        let (mut buckets, mut orders) = (Vec::new(), Vec::new());
        for message in 0..messages {
            let first = message * spec.choices;
            while buckets.len() < first + spec.choices {
                let Some((&byte, rest)) = left.split_first() else {
                    stream.fill_bytes(&mut bytes);
                    left = &bytes;
                    continue;
                };
                left = rest;
                let bucket = byte % spec.buckets as u8;
                if buckets[first..].contains(&bucket) {
                    continue;
                }
                let order = &mut used[usize::from(bucket)];
                if usize::from(*order) == room {
                    return None;
                }
                buckets.push(bucket);
                orders.push(*order);
                *order += 1;
            }
        }
        Some(Self {
            choices: spec.choices,
            positions: fetch.positions(),
            buckets,
            orders,
        })
    }

    /// Returns the number of messages.
    pub fn messages(&self) -> usize {
        self.buckets.len() / self.choices
    }

    /// Returns the places of a message, by its number in the section.
    ///
    /// Panics: if there is no such message.
    pub fn of(&self, message: usize) -> impl Iterator<Item = Place> + '_ {
        let range = message * self.choices..(message + 1) * self.choices;
        range.map(|i| {
            let order = usize::from(self.orders[i]);
            Place {
                bucket: usize::from(self.buckets[i]),
                row: order / self.positions,
                position: order % self.positions,
            }
        })
    }
}

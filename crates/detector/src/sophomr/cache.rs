//! What all recipients of a board share, kept between their digests: encoded diagonals and
//! payloads, which depend on messages and placement alone.

use crate::sophomr::clues::Coordinates;
use omr_compress::Plaintexts;
use omr_protocol::SEED_BYTES;
use omr_ring::Buffer;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ranges whose seeds are remembered.
const SEEDS: usize = 256;

/// Work on a board's batches that serves every recipient. `Send + Sync`; detectors share it by
/// [`Detector::with_cache`](crate::sophomr::Detector::with_cache).
///
/// A batch is known by its board's id, the digest's seed, its number and its messages: what a board
/// holds under an id at a place must never change. Kept are the encoded diagonals (at full size
/// 13.1 GB a batch, in parts of 136 MB) and the encoded payloads (270 MB at 612 bytes). What does
/// not fit is made anew for each digest. The parts of the batch that was unused for longest make
/// room first; those in use stay.
pub struct BoardCache {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of all parts, and of those being made.
    bytes: usize,
    /// Uses of batches so far.
    uses: u64,
    batches: HashMap<BatchKey, Batch>,
    /// The latest last.
    seeds: VecDeque<(SeedKey, [u8; SEED_BYTES])>,
}

type SeedKey = ([u8; 16], Range<u64>);

#[derive(Default)]
struct Batch {
    last_use: u64,
    parts: HashMap<PartKey, (Part, usize)>,
}

/// Which batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BatchKey {
    pub(crate) params: &'static str,
    pub(crate) board_id: [u8; 16],
    pub(crate) seed: [u8; SEED_BYTES],
    /// Number of the batch in the digest: its placement and its nodes follow from it.
    pub(crate) number: usize,
    pub(crate) messages: Range<u64>,
    /// Whether clues are bound.
    pub(crate) bound: bool,
}

/// Which part of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartKey {
    /// `b` of the clues.
    Coordinates,
    /// One limb of the diagonals of some giant steps, from `giant` on.
    Diagonals { giant: usize, limb: usize },
    /// Encoded symbols of payloads of so many bytes, for sums of so many exponents a ciphertext.
    Payloads {
        bytes: Option<usize>,
        width: usize,
        symbols: Range<usize>,
    },
}

#[derive(Clone)]
pub(crate) enum Part {
    Coordinates(Arc<Coordinates>),
    Diagonals(Arc<Buffer>),
    Payloads(Arc<Plaintexts>),
}

impl Part {
    /// Whether a digest works with it. Parts are handed out under the lock alone.
    fn in_use(&self) -> bool {
        let holders = match self {
            Self::Coordinates(part) => Arc::strong_count(part),
            Self::Diagonals(part) => Arc::strong_count(part),
            Self::Payloads(part) => Arc::strong_count(part),
        };
        holders > 1
    }
}

impl BoardCache {
    /// A cache that holds up to `limit` bytes; with 0 it is off.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Bytes that it may hold.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The seed for digests of messages `range` of a board: only digests with the same seed share
    /// work. `draw`n at the first use, which must come after these messages were posted, and again
    /// when 256 other ranges were asked for since; with the cache off at each use.
    pub fn seed(
        &self,
        board_id: [u8; 16],
        range: Range<u64>,
        draw: impl FnOnce() -> [u8; SEED_BYTES],
    ) -> [u8; SEED_BYTES] {
        if self.limit == 0 {
            return draw();
        }
        let key = (board_id, range);
        let mut state = self.lock();
        let known = state.seeds.iter().position(|(known, _)| *known == key);
        let entry = known.and_then(|at| state.seeds.remove(at));
        let (key, seed) = entry.unwrap_or_else(|| (key, draw()));
        state.seeds.push_back((key, seed));
        if state.seeds.len() > SEEDS {
            state.seeds.pop_front();
        }
        seed
    }

    /// A batch, whatever is kept of it. None: the cache is off.
    pub(crate) fn batch(&self, key: BatchKey) -> Option<SharedBatch<'_>> {
        if self.limit == 0 {
            return None;
        }
        let mut state = self.lock();
        state.uses += 1;
        let last_use = state.uses;
        if let Some(batch) = state.batches.get_mut(&key) {
            batch.last_use = last_use;
        }
        drop(state);
        let cache = self;
        Some(SharedBatch { cache, key })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets go of parts of other batches until `bytes` more fit; false: they never will.
    fn make_room(
        &mut self,
        limit: usize,
        bytes: usize,
        of: &BatchKey,
        out: &mut Vec<Part>,
    ) -> bool {
        let own = self.batches.get(of);
        let own: usize = own.map_or(0, |own| own.parts.values().map(|(_, bytes)| bytes).sum());
        if own.saturating_add(bytes) > limit {
            return false;
        }
        let mut others: Vec<(u64, BatchKey)> = self
            .batches
            .iter()
            .filter(|(key, _)| *key != of)
            .map(|(key, batch)| (batch.last_use, key.clone()))
            .collect();
        others.sort_unstable_by_key(|(last_use, _)| *last_use);
        for (_, key) in others {
            if self.bytes + bytes <= limit {
                break;
            }
            self.shrink(&key, (self.bytes + bytes).saturating_sub(limit), out);
        }
        self.bytes + bytes <= limit
    }

    /// Takes unused parts of `excess` bytes or a little more from a batch.
    fn shrink(&mut self, key: &BatchKey, excess: usize, out: &mut Vec<Part>) {
        let Some(batch) = self.batches.get_mut(key) else {
            return;
        };
        let mut freed = 0;
        let unused = batch.parts.extract_if(|_, (part, bytes)| {
            let take = freed < excess && !part.in_use();
            freed += if take { *bytes } else { 0 };
            take
        });
        out.extend(unused.map(|(_, (part, _))| part));
        self.bytes -= freed;
        if batch.parts.is_empty() {
            self.batches.remove(key);
        }
    }
}

/// One batch in a cache.
pub(crate) struct SharedBatch<'a> {
    cache: &'a BoardCache,
    key: BatchKey,
}

impl SharedBatch<'_> {
    pub(crate) fn coordinates(&self) -> Option<Arc<Coordinates>> {
        match self.part(&PartKey::Coordinates)? {
            Part::Coordinates(part) => Some(part),
            _ => None,
        }
    }

    pub(crate) fn diagonals(&self, giant: usize, limb: usize) -> Option<Arc<Buffer>> {
        match self.part(&PartKey::Diagonals { giant, limb })? {
            Part::Diagonals(part) => Some(part),
            _ => None,
        }
    }

    pub(crate) fn payloads(&self, key: &PartKey) -> Option<Arc<Plaintexts>> {
        match self.part(key)? {
            Part::Payloads(part) => Some(part),
            _ => None,
        }
    }

    fn part(&self, key: &PartKey) -> Option<Part> {
        let state = self.cache.lock();
        let (part, _) = state.batches.get(&self.key)?.parts.get(key)?;
        Some(part.clone())
    }

    /// Room for a part that is to be made. None: it does not fit, or is there.
    pub(crate) fn room(&self, key: PartKey, bytes: usize) -> Option<Room<'_>> {
        let mut evicted = Vec::new();
        let mut state = self.cache.lock();
        let known = state.batches.get(&self.key);
        let known = known.is_some_and(|batch| batch.parts.contains_key(&key));
        if known || !state.make_room(self.cache.limit, bytes, &self.key, &mut evicted) {
            return None;
        }
        state.bytes += bytes;
        drop(state);
        // Their memory goes back to the pool outside the lock, and is likely to serve this part.
        drop(evicted);
        Some(Room {
            batch: self,
            key,
            bytes,
        })
    }
}

/// Bytes set aside for a part; given back unless it is filled.
pub(crate) struct Room<'a> {
    batch: &'a SharedBatch<'a>,
    key: PartKey,
    bytes: usize,
}

impl Room<'_> {
    /// Keeps the part, unless another digest was faster.
    pub(crate) fn fill(mut self, part: Part) {
        let cache = self.batch.cache;
        let mut state = cache.lock();
        let last_use = state.uses;
        let batch = state.batches.entry(self.batch.key.clone());
        let batch = batch.or_insert_with(|| Batch {
            last_use,
            ..Batch::default()
        });
        if !batch.parts.contains_key(&self.key) {
            let bytes = std::mem::take(&mut self.bytes);
            batch.parts.insert(self.key.clone(), (part, bytes));
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.batch.cache.lock().bytes -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests;

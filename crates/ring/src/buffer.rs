//! Buffers of words, and the pool that those return to which nobody uses.

use omr_kernels::AlignedVec;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroize;

/// Words that large data is cut by, 16 MiB, so that buffers which one stage of some work gives back serve the next
/// stage: what is reserved comes in buffers of this length or up to twice as long, what is taken later in buffers of
/// this length at most ([`Blocks`](crate::Blocks)).
pub const BUFFER_WORDS: usize = 1 << 21;

/// Words below which the allocator serves as well.
const POOLED_FROM: usize = 1 << 16;

/// Most words that the pool keeps, 384 MiB, beside those reserved. Beyond, those unused for
/// longest go.
const POOL_WORDS: usize = 48 << 20;

/// A buffer of the pool serves down to this fraction of its length.
const WASTE: usize = 18;

/// Words of a page.
const PAGE: usize = 512;

/// Rows that were used before: fresh pages cost more than the arithmetic on them.
static POOL: Mutex<Pool> = Mutex::new(Pool {
    buffers: VecDeque::new(),
    words: 0,
    reserved: Vec::new(),
    fresh: 0,
});

struct Pool {
    buffers: VecDeque<AlignedVec>,
    words: usize,
    /// Words of each [`Reservation`] that lives.
    reserved: Vec<usize>,
    /// Words that buffers took from the system so far.
    fresh: usize,
}

impl Pool {
    fn lock() -> MutexGuard<'static, Self> {
        POOL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever reserves works in the same memory as others, one after another.
    fn limit(&self) -> usize {
        POOL_WORDS + self.reserved.iter().max().copied().unwrap_or(0)
    }

    /// Takes what is beyond the limit, unused for longest.
    fn excess(&mut self) -> Vec<AlignedVec> {
        let mut old = Vec::new();
        while self.words > self.limit() {
            let Some(oldest) = self.buffers.pop_front() else {
                break;
            };
            self.words -= oldest.len();
            old.push(oldest);
        }
        old
    }

    /// Takes all that nobody uses.
    fn unused(&mut self) -> VecDeque<AlignedVec> {
        self.words = 0;
        std::mem::take(&mut self.buffers)
    }
}

/// Memory that the pool keeps for as long as this lives. Several share one memory, as large as the largest asks for.
/// The last one that is dropped gives all that nobody uses back to the system.
#[derive(Debug)]
#[must_use = "memory is kept for as long as this lives"]
pub struct Reservation {
    words: usize,
}

/// Takes memory for buffers of these lengths, in words, from the system once: the pool keeps it, so that later work does
/// not wait for fresh pages.
pub fn reserve(lengths: &[usize]) -> Reservation {
    let words = lengths.iter().filter(|&&len| len >= POOLED_FROM).sum();
    Pool::lock().reserved.push(words);
    // The longest first: shorter ones do not take the places of longer ones.
    let mut lengths = lengths.to_vec();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let taken: Vec<Buffer> = lengths.into_iter().map(Buffer::touched).collect();
    drop(taken);
    Reservation { words }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut pool = Pool::lock();
        if let Some(at) = pool.reserved.iter().position(|&words| words == self.words) {
            pool.reserved.swap_remove(at);
        }
        let mut old: Vec<AlignedVec> = match pool.reserved.is_empty() {
            true => pool.unused().into(),
            false => pool.excess(),
        };
        // Given back to the system outside the lock.
        drop(pool);
        old.clear();
    }
}

/// Gives what the pool keeps, and nothing uses, back to the system: for a process that has nothing to do for a while.
/// Later work waits for fresh pages once. Gives the bytes.
pub fn release() -> usize {
    let unused = Pool::lock().unused();
    let words: usize = unused.iter().map(|words| words.len()).sum();
    size_of::<u64>() * words
}

/// Bytes that buffers took from the system since the process started, because nothing in the pool fitted: work whose
/// memory is reserved adds none.
pub fn fresh_bytes() -> usize {
    size_of::<u64>() * Pool::lock().fresh
}

/// Aligned words that return to the pool when dropped.
#[derive(Debug)]
pub struct Buffer {
    words: AlignedVec,
    len: usize,
}

impl Buffer {
    /// `len` words of any content.
    pub fn any(len: usize) -> Self {
        let words = take(len).unwrap_or_else(|| AlignedVec::zeroed(len));
        Self { words, len }
    }

    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        match take(len) {
            Some(mut words) => {
                words[..len].fill(0);
                Self { words, len }
            }
            None => Self {
                words: AlignedVec::zeroed(len),
                len,
            },
        }
    }

    /// The words as halves, twice as many.
    pub fn halves(&self) -> &[u32] {
        bytemuck::cast_slice(self)
    }

    /// The halves, to write.
    pub fn halves_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(self)
    }

    /// Words whose pages have been written to, as those of the pool have.
    fn touched(len: usize) -> Self {
        let fresh = || {
            let mut words = AlignedVec::zeroed(len);
            words.chunks_mut(PAGE).for_each(|page| page[0] = 0);
            words
        };
        let words = take(len).unwrap_or_else(fresh);
        Self { words, len }
    }

    pub(crate) fn from_slice(words: &[u64]) -> Self {
        let mut copy = Self::any(words.len());
        copy.copy_from_slice(words);
        copy
    }
}

fn take(len: usize) -> Option<AlignedVec> {
    if len < POOLED_FROM {
        return None;
    }
    let mut pool = Pool::lock();
    // The tightest fit, within limits: the longest are to be there when they are needed.
    let fits = |words: &AlignedVec| (len..=WASTE * len).contains(&words.len());
    let best = (0..pool.buffers.len())
        .filter(|&i| fits(&pool.buffers[i]))
        .min_by_key(|&i| pool.buffers[i].len());
    let words = best.and_then(|best| pool.buffers.remove(best));
    match &words {
        Some(words) => pool.words -= words.len(),
        None => pool.fresh += len,
    }
    words
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let words = std::mem::replace(&mut self.words, AlignedVec::zeroed(0));
        if words.len() < POOLED_FROM {
            return;
        }
        let mut pool = Pool::lock();
        pool.words += words.len();
        pool.buffers.push_back(words);
        let mut old = pool.excess();
        // Given back to the system outside the lock.
        drop(pool);
        old.clear();
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl Zeroize for Buffer {
    fn zeroize(&mut self) {
        // Keeps the length: the rows stay rows of zeros.
        self.words.zeroize();
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words[..self.len]
    }
}

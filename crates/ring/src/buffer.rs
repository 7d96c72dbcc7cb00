//! Buffers of words, and the pool that those return to which nobody uses.

use crate::{parallel, recent};
use omr_kernels::AlignedVec;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroize;

/// Largest number of words in a buffer that large data is cut into ([`Blocks`](crate::Blocks)). It is the length of a
/// polynomial of 65,536 coefficients modulo 24 primes, 12 MiB, so that buffers which one stage gives back serve the
/// next one.
pub const BUFFER_WORDS: usize = 24 << 16;

/// Words below which every thread keeps its own ([`recent`]).
const POOLED_FROM: usize = 1 << 16;

/// Most words that the pool keeps, 384 MiB, beside those reserved. Beyond, those unused for
/// longest go.
const POOL_WORDS: usize = 48 << 20;

/// A buffer of the pool serves down to this fraction of its length.
const WASTE: usize = 18;

/// One that lasts wastes at most this fraction of what it needs.
const SNUG: usize = 16;

/// Words of a page.
const PAGE: usize = 512;

/// Rows that were used before: fresh pages cost more than the arithmetic on them.
static POOL: Mutex<Pool> = Mutex::new(Pool {
    buffers: VecDeque::new(),
    words: 0,
    plans: Vec::new(),
    fresh: 0,
});

struct Pool {
    buffers: VecDeque<AlignedVec>,
    words: usize,
    /// The plans of all live [`Reservation`]s.
    plans: Vec<Plan>,
    /// Words that buffers took from the system so far.
    fresh: usize,
}

/// Buffers that one or more [`Reservation`]s are for.
struct Plan {
    /// Words of each, the longest first.
    lengths: Vec<usize>,
    /// Words of those that the pool takes back.
    words: usize,
    holders: usize,
    /// Whether they were taken since the pool was last [`release`]d.
    taken: bool,
}

impl Pool {
    fn lock() -> MutexGuard<'static, Self> {
        POOL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of words that are kept: all holders of reservations share this memory, one after another.
    fn limit(&self) -> usize {
        let most = self.plans.iter().map(|plan| plan.words).max();
        POOL_WORDS + most.unwrap_or(0)
    }

    /// Notes one more holder of buffers of these lengths; whether they are to be taken.
    fn hold(&mut self, lengths: &[usize]) -> bool {
        if let Some(plan) = self.plans.iter_mut().find(|plan| plan.lengths == lengths) {
            plan.holders += 1;
            return !std::mem::replace(&mut plan.taken, true);
        }
        self.plans.push(Plan {
            lengths: lengths.to_vec(),
            words: lengths.iter().filter(|&&len| len >= POOLED_FROM).sum(),
            holders: 1,
            taken: true,
        });
        true
    }

    fn let_go(&mut self, lengths: &[usize]) {
        let at = self
            .plans
            .iter()
            .position(|plan| plan.lengths == lengths)
            .expect("a plan is noted for as long as it has holders");
        self.plans[at].holders -= 1;
        if self.plans[at].holders == 0 {
            self.plans.swap_remove(at);
        }
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
    /// The longest first.
    lengths: Vec<usize>,
}

/// Takes memory for buffers of these lengths, in words, from the system once, on as many threads as work: the pool keeps
/// it, so that later work does not wait for fresh pages. Takes nothing where a reservation of the same lengths lives, but
/// after a [`release`].
pub fn reserve(lengths: &[usize]) -> Reservation {
    // The longest first: shorter ones do not take the places of longer ones.
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    if Pool::lock().hold(&sorted) {
        let mut taken: Vec<(Buffer, bool)> = sorted.iter().map(|&len| Buffer::told(len)).collect();
        let from_system = taken.iter_mut().filter(|(_, fresh)| *fresh);
        touch(from_system.map(|(buffer, _)| buffer));
    }
    Reservation { lengths: sorted }
}

/// Writes to every page. Not on threads of a pool: those could take up work that waits for this.
fn touch<'a>(buffers: impl Iterator<Item = &'a mut Buffer> + Send) {
    let left = Mutex::new(buffers);
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(buffer) = next() {
            buffer.chunks_mut(PAGE).for_each(|page| page[0] = 0);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..parallel::current_num_threads() {
            // Where the system gives no thread, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut pool = Pool::lock();
        pool.let_go(&self.lengths);
        let mut old: Vec<AlignedVec> = if pool.plans.is_empty() {
            pool.unused().into()
        } else {
            pool.excess()
        };
        // Given back to the system outside the lock.
        drop(pool);
        old.clear();
    }
}

/// Gives what the pool keeps, and nothing uses, back to the system: for a process that has nothing to do for a while.
/// Later work waits for fresh pages once. Gives the bytes. Short buffers stay, up to 2 MiB with each other thread.
pub fn release() -> usize {
    let mut pool = Pool::lock();
    pool.plans.iter_mut().for_each(|plan| plan.taken = false);
    let unused = pool.unused();
    drop(pool);
    let words: usize = unused.iter().map(|buffer| buffer.len()).sum();
    size_of::<u64>() * (words + recent::release())
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
        Self::told(len).0
    }

    /// `len` words of any content, for data that stays: longer buffers of the pool are left to work that gives them
    /// back.
    pub fn lasting(len: usize) -> Self {
        let words = take(len, len + len / SNUG).unwrap_or_else(|| AlignedVec::zeroed(len));
        Self { words, len }
    }

    /// `len` words of any content, and whether they come from the system.
    fn told(len: usize) -> (Self, bool) {
        match take(len, WASTE * len) {
            Some(words) => (Self { words, len }, false),
            None => {
                let words = AlignedVec::zeroed(len);
                (Self { words, len }, true)
            }
        }
    }

    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        match take(len, WASTE * len) {
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

    pub(crate) fn from_slice(words: &[u64]) -> Self {
        let mut copy = Self::any(words.len());
        copy.copy_from_slice(words);
        copy
    }
}

/// A buffer of the pool of `len` to `most` words, or a shorter one of this thread.
fn take(len: usize, most: usize) -> Option<AlignedVec> {
    if len < POOLED_FROM {
        return recent::take(len, most);
    }
    let mut pool = Pool::lock();
    // The tightest fit, within limits: the longest are to be there when they are needed.
    let fits = |words: &AlignedVec| (len..=most).contains(&words.len());
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
            return recent::keep(words);
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

use omr_kernels::AlignedVec;
use std::collections::VecDeque;
use std::sync::Mutex;
use zeroize::Zeroize;

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
    limit: POOL_WORDS,
});

struct Pool {
    buffers: VecDeque<AlignedVec>,
    words: usize,
    limit: usize,
}

/// Takes memory for buffers of these lengths from the system, once: the pool keeps it, so that
/// later work does not wait for fresh pages.
pub fn reserve(lengths: &[usize]) {
    let words: usize = lengths.iter().filter(|&&len| len >= POOLED_FROM).sum();
    if let Ok(mut pool) = POOL.lock() {
        pool.limit = pool.limit.max(POOL_WORDS + words);
    }
    let taken: Vec<Buffer> = lengths.iter().map(|&len| Buffer::touched(len)).collect();
    drop(taken);
}

/// Gives what the pool keeps, and nothing uses, back to the system: for a process that has nothing to do for a while.
/// Later work waits for fresh pages once. Gives the bytes.
pub fn release() -> usize {
    let unused = match POOL.lock() {
        Ok(mut pool) => {
            pool.words = 0;
            std::mem::take(&mut pool.buffers)
        }
        Err(_) => return 0,
    };
    let words: usize = unused.iter().map(|words| words.len()).sum();
    size_of::<u64>() * words
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
    let mut pool = POOL.lock().ok()?;
    // The tightest fit, within limits: the longest are to be there when they are needed.
    let fits = |words: &AlignedVec| (len..=WASTE * len).contains(&words.len());
    let best = (0..pool.buffers.len())
        .filter(|&i| fits(&pool.buffers[i]))
        .min_by_key(|&i| pool.buffers[i].len())?;
    let words = pool.buffers.remove(best)?;
    pool.words -= words.len();
    Some(words)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let words = std::mem::replace(&mut self.words, AlignedVec::zeroed(0));
        if words.len() < POOLED_FROM {
            return;
        }
        let mut old = Vec::new();
        if let Ok(mut pool) = POOL.lock() {
            pool.words += words.len();
            pool.buffers.push_back(words);
            while pool.words > pool.limit {
                let Some(oldest) = pool.buffers.pop_front() else {
                    break;
                };
                pool.words -= oldest.len();
                old.push(oldest);
            }
        }
        // Given back to the system outside the lock.
        drop(old);
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

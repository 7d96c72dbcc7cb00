use std::collections::VecDeque;
use std::sync::Mutex;
use zeroize::Zeroize;

/// Words below which the allocator serves as well.
const POOLED_FROM: usize = 1 << 16;

/// Most words that the pool keeps: 384 MiB. Beyond, those unused for longest go.
const POOL_WORDS: usize = 48 << 20;

/// Rows that were used before: fresh pages cost more than the arithmetic on them.
static POOL: Mutex<Pool> = Mutex::new(Pool {
    buffers: VecDeque::new(),
    words: 0,
});

struct Pool {
    buffers: VecDeque<Vec<u64>>,
    words: usize,
}

/// A vector of words that returns to the pool when dropped.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<u64>);

impl Buffer {
    /// `len` words of any content.
    pub(crate) fn any(len: usize) -> Self {
        Self(take(len).unwrap_or_else(|| vec![0; len]))
    }

    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        match take(len) {
            Some(mut words) => {
                words.fill(0);
                Self(words)
            }
            None => Self(vec![0; len]),
        }
    }

    pub(crate) fn from_vec(words: Vec<u64>) -> Self {
        Self(words)
    }
}

fn take(len: usize) -> Option<Vec<u64>> {
    if len < POOLED_FROM {
        return None;
    }
    let mut pool = POOL.lock().ok()?;
    // The tightest fit, wasting at most a half.
    let fits = |words: &Vec<u64>| words.capacity() >= len && words.capacity() <= len + len / 2;
    let best = (0..pool.buffers.len())
        .filter(|&i| fits(&pool.buffers[i]))
        .min_by_key(|&i| pool.buffers[i].capacity())?;
    let mut words = pool.buffers.remove(best)?;
    pool.words -= words.capacity();
    drop(pool);
    words.resize(len, 0);
    Some(words)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.0);
        if words.capacity() < POOLED_FROM {
            return;
        }
        let mut old = Vec::new();
        if let Ok(mut pool) = POOL.lock() {
            pool.words += words.capacity();
            pool.buffers.push_back(words);
            while pool.words > POOL_WORDS {
                let Some(oldest) = pool.buffers.pop_front() else {
                    break;
                };
                pool.words -= oldest.capacity();
                old.push(oldest);
            }
        }
        // Given back to the system outside the lock.
        drop(old);
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::any(self.0.len());
        copy.0.copy_from_slice(&self.0);
        copy
    }
}

impl Zeroize for Buffer {
    fn zeroize(&mut self) {
        // Keeps the length: the rows stay rows of zeros.
        self.0.as_mut_slice().zeroize();
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

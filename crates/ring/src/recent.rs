//! Short buffers that a thread gave back last, for its next ones.

use omr_kernels::AlignedVec;
use std::cell::RefCell;
use std::collections::VecDeque;

/// Words below which the allocator serves as well, 64 KiB.
const KEPT_FROM: usize = 1 << 13;

/// Most words that a thread keeps, 2 MiB: a key switch of a ring of dimension 8,192 works in as many. Beyond, the
/// buffers that were unused for longest go.
const KEPT_WORDS: usize = 1 << 18;

/// A buffer exceeds what is asked for at most by this fraction: it may stay in use for long.
const SNUG: usize = 16;

thread_local! {
    /// Memory of a key switch comes and goes many times a second. The allocator gives buffers of this length back to
    /// the system as often, and their pages are zeroed and faulted in again, which takes as long as the arithmetic.
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent::new()) };
}

/// The buffers that one thread keeps.
#[derive(Default)]
struct Recent {
    /// The buffer that was unused for longest comes first.
    buffers: VecDeque<AlignedVec>,
    /// The words of all of them.
    words: usize,
}

impl Recent {
    const fn new() -> Self {
        Self {
            buffers: VecDeque::new(),
            words: 0,
        }
    }

    /// Takes the buffer that was used last among those that fit: its words may still be in a cache.
    fn take(&mut self, len: usize, most: usize) -> Option<AlignedVec> {
        let most = most.min(len + len / SNUG);
        let fits = |words: &AlignedVec| (len..=most).contains(&words.len());
        let found = self.buffers.iter().rposition(fits)?;
        let words = self.buffers.remove(found)?;
        self.words -= words.len();
        Some(words)
    }

    /// Keeps a buffer, and drops the oldest ones beyond the limit.
    fn keep(&mut self, words: AlignedVec) {
        self.words += words.len();
        self.buffers.push_back(words);
        while self.words > KEPT_WORDS {
            let Some(oldest) = self.buffers.pop_front() else {
                break;
            };
            self.words -= oldest.len();
        }
    }
}

/// Returns a buffer of `len` to `most` words that this thread gave back, of any content, if it has one that is not much
/// longer.
pub(crate) fn take(len: usize, most: usize) -> Option<AlignedVec> {
    if len < KEPT_FROM {
        return None;
    }
    let taken = RECENT.try_with(|recent| recent.borrow_mut().take(len, most));
    taken.ok().flatten()
}

/// Keeps a buffer for this thread. All that a thread keeps goes back to the allocator when it ends.
pub(crate) fn keep(words: AlignedVec) {
    if words.len() >= KEPT_FROM {
        let _ = RECENT.try_with(|recent| recent.borrow_mut().keep(words));
    }
}

/// Gives all that this thread keeps back to the allocator, and returns the number of words.
pub(crate) fn release() -> usize {
    RECENT.take().words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_buffer_that_fits_is_taken_and_the_oldest_goes() {
        let mut recent = Recent::new();
        for (i, len) in [20000, 20000, 36000].into_iter().enumerate() {
            let mut words = AlignedVec::zeroed(len);
            words[0] = i as u64;
            recent.keep(words);
        }
        assert!(recent.take(36001, 80000).is_none());
        assert!(recent.take(18400, 40000).is_none());
        assert!(recent.take(19600, 19999).is_none());
        let taken = recent.take(19600, 40000).unwrap();
        assert_eq!((taken.len(), taken[0]), (20000, 1));
        let taken = recent.take(34000, 36000).unwrap();
        assert_eq!((taken.len(), taken[0]), (36000, 2));
        assert_eq!(recent.words, 20000);

        for _ in 0..=KEPT_WORDS / 24000 {
            recent.keep(AlignedVec::zeroed(24000));
        }
        assert!(recent.words <= KEPT_WORDS);
        assert!(recent.buffers.iter().all(|words| words.len() == 24000));
    }

    #[test]
    fn a_thread_keeps_what_it_gave_back_until_it_releases_it() {
        let mut words = AlignedVec::zeroed(KEPT_FROM);
        words[1] = 7;
        keep(words);
        keep(AlignedVec::zeroed(KEPT_FROM - 1));
        let other = std::thread::spawn(|| take(KEPT_FROM, KEPT_FROM).is_none());
        assert!(other.join().unwrap());
        assert_eq!(take(KEPT_FROM, KEPT_FROM).unwrap()[1], 7);
        assert!(take(KEPT_FROM, KEPT_FROM).is_none());
        keep(AlignedVec::zeroed(KEPT_FROM));
        assert_eq!(release(), KEPT_FROM);
        assert_eq!(release(), 0);
    }
}

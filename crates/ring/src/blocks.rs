//! Blocks of equal length in buffers of the pool.

use crate::{BUFFER_WORDS, Buffer};

/// Blocks of words of one length, several in a buffer of at most [`BUFFER_WORDS`], so that they take the places of
/// other buffers in the pool.
pub struct Blocks {
    buffers: Vec<Buffer>,
    together: usize,
    words: usize,
}

impl Blocks {
    /// `count` blocks of `words` words of any content.
    pub fn any(count: usize, words: usize) -> Self {
        Self::new(count, words, Buffer::any)
    }

    /// `count` blocks of `words` zeros.
    pub fn zeroed(count: usize, words: usize) -> Self {
        Self::new(count, words, Buffer::zeroed)
    }

    fn new(count: usize, words: usize, buffer: impl Fn(usize) -> Buffer) -> Self {
        let together = (BUFFER_WORDS / words.max(1)).max(1);
        let buffers = (0..count)
            .step_by(together)
            .map(|from| buffer(together.min(count - from) * words));
        Self {
            buffers: buffers.collect(),
            together,
            words,
        }
    }

    /// One block. Panics: when there is no such block.
    pub fn block(&self, index: usize) -> &[u64] {
        let (buffer, place) = (index / self.together, index % self.together);
        &self.buffers[buffer][place * self.words..][..self.words]
    }

    /// All blocks in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.buffers.iter().flat_map(|b| b.chunks(self.words))
    }

    /// All blocks in their order, to write.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let words = self.words;
        self.buffers
            .iter_mut()
            .flat_map(move |b| b.chunks_mut(words))
    }

    /// The halves of one block's words, twice as many. Panics: when there is no such block.
    pub fn halves(&self, index: usize) -> &[u32] {
        bytemuck::cast_slice(self.block(index))
    }

    /// The halves of all blocks in their order, to write.
    pub fn halves_mut(&mut self) -> impl Iterator<Item = &mut [u32]> {
        self.iter_mut().map(bytemuck::cast_slice_mut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_where_they_were_put() {
        for (count, words) in [
            (1, 1),
            (5, 7),
            (3, BUFFER_WORDS / 2 + 1),
            (3, BUFFER_WORDS + 1),
            (9, BUFFER_WORDS / 4),
        ] {
            let mut blocks = Blocks::zeroed(count, words);
            assert!(
                blocks
                    .buffers
                    .iter()
                    .all(|b| b.len() <= BUFFER_WORDS.max(words))
            );
            for (i, block) in blocks.iter_mut().enumerate() {
                assert!(block.len() == words && block.iter().all(|&x| x == 0));
                (block[0], block[words - 1]) = (i as u64 + 1, i as u64 + 1);
            }
            for i in 0..count {
                assert_eq!(blocks.block(i)[words - 1], i as u64 + 1);
                assert_eq!(blocks.halves(i).len(), 2 * words);
                assert_eq!(blocks.halves(i)[0], i as u32 + 1);
            }
            assert_eq!(blocks.iter().count(), count);
        }
    }
}

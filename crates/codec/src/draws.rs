//! Random numbers below limits, from a stream of bytes that a seed and a place in it determine.

use crate::wide::product;

/// Bytes that the hash makes at a time, however few are asked for.
const BLOCK: usize = 64;

/// A stream of numbers, each below a limit of its own.
pub struct Draws {
    stream: blake3::OutputReader,
    block: [u8; BLOCK],
    used: usize,
}

impl Draws {
    /// The numbers of message `index`.
    pub fn new(key: &[u8; 32], index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(key);
        Self::of(hasher.update(&index.to_le_bytes()))
    }

    /// The numbers that follow from what was hashed.
    pub fn of(hasher: &blake3::Hasher) -> Self {
        Self {
            stream: hasher.finalize_xof(),
            block: [0; BLOCK],
            used: BLOCK,
        }
    }

    /// The next number below `limit`. The bias is below `limit / 2^64`.
    pub fn below(&mut self, limit: u64) -> u64 {
        if self.used == BLOCK {
            self.stream.fill(&mut self.block);
            self.used = 0;
        }
        let word = self.block[self.used..].first_chunk().expect("whole words");
        self.used += 8;
        below(u64::from_le_bytes(*word), limit)
    }
}

/// A uniform word to a number below `limit`; the bias is `limit / 2^64`.
#[inline]
pub(crate) fn below(word: u64, limit: u64) -> u64 {
    (product(word, limit) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_words_of_the_stream() {
        let mut bytes = [0; 8 * 20];
        let mut hasher = blake3::Hasher::new_keyed(&[3; 32]);
        let hasher = hasher.update(&7u64.to_le_bytes());
        hasher.finalize_xof().fill(&mut bytes);
        let mut draws = Draws::new(&[3; 32], 7);
        for word in bytes.as_chunks::<8>().0 {
            assert_eq!(draws.below(956), below(u64::from_le_bytes(*word), 956));
        }
    }

    #[test]
    fn words_spread_over_the_range() {
        assert_eq!((below(0, 956), below(u64::MAX, 956)), (0, 955));
        assert_eq!(below(1 << 63, 956), 478);
    }
}

//! The random numbers of a message, from its index and a key.

/// A stream of numbers, each below a limit of its own.
pub(crate) struct Draws(blake3::OutputReader);

impl Draws {
    pub(crate) fn new(key: &[u8; 32], index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(key);
        Self(hasher.update(&index.to_le_bytes()).finalize_xof())
    }

    /// The next number below `limit`. The bias is below `limit / 2^64`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        let mut word = [0; 8];
        self.0.fill(&mut word);
        below(u64::from_le_bytes(word), limit)
    }
}

/// A uniform word to a number below `limit`; the bias is `limit / 2^64`.
#[inline]
pub(crate) fn below(word: u64, limit: u64) -> u64 {
    ((u128::from(word) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_spread_over_the_range() {
        assert_eq!((below(0, 956), below(u64::MAX, 956)), (0, 955));
        assert_eq!(below(1 << 63, 956), 478);
    }
}

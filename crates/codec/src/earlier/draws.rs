//! The random numbers of a message, from its index and a key.

/// A stream of numbers, each below a limit of its own.
pub(super) struct Draws(blake3::OutputReader);

impl Draws {
    pub(super) fn new(key: &[u8; 32], index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(key);
        Self(hasher.update(&index.to_le_bytes()).finalize_xof())
    }

    /// The next number below `limit`. The bias is below `limit / 2^64`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let mut word = [0; 8];
        self.0.fill(&mut word);
        ((u128::from(u64::from_le_bytes(word)) * u128::from(limit)) >> 64) as u64
    }
}

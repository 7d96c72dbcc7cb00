//! Values that the server draws for one answer with two-sided privacy, and keeps to itself.

use crate::{Params, lock};
use chacha20::ChaCha20Rng;
use omr_protocol::Placement;
use omr_ring::Xof;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Secrets of one answer, all from one seed.
pub(crate) struct Hidden {
    seed: Zeroizing<[u8; 32]>,
    /// Where rows lie among the places of all blocks.
    pub(crate) placement: Placement,
}

impl Hidden {
    /// Draws a seed, and a permutation of `places` places. Panics: for 2^32 places or more.
    pub(crate) fn new(places: usize, rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let placement = Placement::new(&seed, 0, places);
        Self { seed, placement }
    }

    /// The key of the row at a place.
    pub(crate) fn key(&self, params: &Params, place: u64) -> [u32; lock::LOCK_SYMBOLS] {
        lock::key(&self.seed, place, params.p())
    }

    /// The randomness of a packed ciphertext's flooding.
    pub(crate) fn flood(&self, group: usize, ciphertext: usize) -> ChaCha20Rng {
        let index = [group as u64, ciphertext as u64];
        Xof::stream("omr pdq flooding v1", &self.seed, &index)
    }
}

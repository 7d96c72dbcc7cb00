//! A generator whose numbers are secret.

use chacha20::ChaCha20Rng;
use omr_marks::{hidden, hide};
use rand_core::{Infallible, SeedableRng, TryCryptoRng, TryRng};

/// ChaCha20 whose output is marked as secret.
pub(crate) struct SecretRng(ChaCha20Rng);

impl SecretRng {
    pub(crate) fn new() -> Self {
        Self(ChaCha20Rng::from_seed([7; 32]))
    }
}

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32().map(hidden)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64().map(hidden)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)?;
        hide(out);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}

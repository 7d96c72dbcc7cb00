//! Progress reports of an answer in the making, and its cancellation.

use crate::ServerError;

/// Receives the progress of an answer and decides whether to stop it. Functions of the number of blocks done and the
/// number of all blocks implement it.
pub trait Progress: Sync {
    /// Reports that `done` of `blocks` blocks are done.
    fn blocks(&self, done: usize, blocks: usize);
    /// Returns whether to stop with [`ServerError::Stopped`]. Any thread may call it; at full size two calls are at most
    /// 0.8 seconds of two cores apart.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl<F: Fn(usize, usize) + Sync> Progress for F {
    fn blocks(&self, done: usize, blocks: usize) {
        self(done, blocks);
    }
}

/// Reports nothing and never stops.
pub struct Quiet;

impl Progress for Quiet {
    fn blocks(&self, _: usize, _: usize) {}
}

/// Errors: `Stopped`.
pub(crate) fn check_stopped(progress: &dyn Progress) -> Result<(), ServerError> {
    if progress.is_stopped() {
        Err(ServerError::Stopped)
    } else {
        Ok(())
    }
}

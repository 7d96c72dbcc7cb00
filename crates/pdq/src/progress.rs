//! Progress reports of an answer in the making, and its cancellation.

use crate::ServerError;

/// Told how far an answer is, and asked whether to go on. Functions of blocks done and blocks are such listeners.
pub trait Progress: Sync {
    /// So many blocks are done, of so many.
    fn blocks(&self, done: usize, blocks: usize);
    /// Whether to stop with [`ServerError::Stopped`]; asked by any thread, at full size
    /// after 0.8 seconds of two cores at most.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl<F: Fn(usize, usize) + Sync> Progress for F {
    fn blocks(&self, done: usize, blocks: usize) {
        self(done, blocks);
    }
}

/// Says nothing.
pub struct Quiet;

impl Progress for Quiet {
    fn blocks(&self, _: usize, _: usize) {}
}

/// Errors: `Stopped`.
pub(crate) fn check_stopped(progress: &dyn Progress) -> Result<(), ServerError> {
    match progress.is_stopped() {
        true => Err(ServerError::Stopped),
        false => Ok(()),
    }
}

//! The length of the log in a build without servers, where no task waits for it to change.

use std::path::Path;

/// Nothing: nobody follows the length.
#[derive(Debug)]
pub(crate) struct Lengths;

impl Lengths {
    pub(super) fn new(_: u64) -> Self {
        Self
    }

    /// Does nothing.
    pub(super) fn publish(&self, _: u64) {}

    /// Does nothing: commands report what fails themselves.
    pub(super) fn log_reopening(&self, _: &Path) {}
}

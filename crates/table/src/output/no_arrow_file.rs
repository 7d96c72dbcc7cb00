//! Arrow's file in a build that does not write it.

use super::{OutputError, Rows};
use std::io::Write;

impl Rows {
    /// Writes an Arrow IPC file.
    ///
    /// Errors: [`OutputError::LeftOut`], always: this build has no Arrow.
    pub fn write_arrow(&self, _: impl Write) -> Result<(), OutputError> {
        Err(OutputError::LeftOut)
    }
}

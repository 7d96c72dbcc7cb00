//! Rows as Arrow's file.

use super::{OutputError, Rows};
use arrow::ipc::writer::FileWriter;
use std::io::Write;

impl Rows {
    /// Writes an Arrow IPC file.
    ///
    /// Errors: as [`Rows::record_batch`], and the writer's.
    pub fn write_arrow(&self, out: impl Write) -> Result<(), OutputError> {
        let batch = self.record_batch()?;
        let mut writer = FileWriter::try_new(out, &batch.schema())?;
        writer.write(&batch)?;
        Ok(writer.finish()?)
    }
}

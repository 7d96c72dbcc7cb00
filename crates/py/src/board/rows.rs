//! The messages of a board as Arrow's record batches.

use arrow::array::{ArrayRef, BinaryBuilder, RecordBatch, RecordBatchReader, UInt64Builder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use omr_store::Board;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The number of messages of a batch.
const TOGETHER: u64 = 1024;

/// A reader of messages, which has one batch in memory. It keeps the board open.
pub(super) struct Rows {
    board: Arc<Board>,
    schema: SchemaRef,
    left: Range<u64>,
}

impl Rows {
    /// Returns a reader of the messages that the board has now.
    pub(super) fn new(board: Arc<Board>) -> Self {
        let fields = [
            Field::new("index", DataType::UInt64, false),
            Field::new("clue", DataType::Binary, false),
            Field::new("payload", DataType::Binary, false),
        ];
        Self {
            left: board.first()..board.len(),
            board,
            schema: Arc::new(Schema::new(fields.to_vec())),
        }
    }

    /// Reads the messages of a range.
    ///
    /// Errors: `ExternalError` with the error of the store.
    fn batch(&self, range: Range<u64>) -> Result<RecordBatch, ArrowError> {
        let mut indices = UInt64Builder::new();
        let (mut clues, mut payloads) = (BinaryBuilder::new(), BinaryBuilder::new());
        let mut visit = |index, clue: &[u8], payload: &[u8]| {
            indices.append_value(index);
            clues.append_value(clue);
            payloads.append_value(payload);
            ControlFlow::Continue(())
        };
        self.board
            .read(range, &mut visit)
            .map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(indices.finish()),
            Arc::new(clues.finish()),
            Arc::new(payloads.finish()),
        ];
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let end = self.left.end.min(self.left.start + TOGETHER);
        let batch = self.batch(self.left.start..end);
        self.left.start = end;
        Some(batch)
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

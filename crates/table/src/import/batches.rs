//! Imports Arrow's record batches.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema as ArrowSchema};

use super::cell::Cell;
use super::columns::{Columns, check_type, each_cell, fill_all};
use super::select::{Chosen, choose};
use super::{ImportError, ImportOptions, Progress};
use crate::Table;

/// Imports batches of one schema, with the types that [`crate::import_parquet`] takes.
///
/// Errors: see [`ImportError`]; a batch of another schema.
pub fn import_batches(
    schema: &ArrowSchema,
    batches: &[RecordBatch],
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    let fields = schema.fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let chosen = choose(&names, options)?;
    for column in &chosen {
        check_type(column, fields[column.place].data_type())?;
    }
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let source = Batches { schema, batches };
    fill_all(&source, &chosen, rows, options, progress)
}

struct Batches<'a> {
    schema: &'a ArrowSchema,
    batches: &'a [RecordBatch],
}

impl Columns for Batches<'_> {
    fn kind(&self, place: usize) -> &DataType {
        self.schema.field(place).data_type()
    }

    fn cells(
        &self,
        column: &Chosen,
        take: &mut dyn FnMut(&Cell) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        for batch in self.batches {
            let array = batch
                .columns()
                .get(column.place)
                .ok_or_else(|| ImportError::Type {
                    column: column.name.clone(),
                    found: "no column in a batch".into(),
                })?;
            each_cell(column, array, take)?;
        }
        Ok(())
    }
}

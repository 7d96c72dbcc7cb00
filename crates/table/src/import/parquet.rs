//! Imports Parquet files.

mod ending;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::basic::Compression;
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};

use super::arrays::is_text;
use super::cell::Cell;
use super::columns::{Columns, check_type, each_cell, fill_all};
use super::select::{Chosen, choose};
use super::{ImportError, ImportOptions, Progress};
use crate::Table;
use ending::Ending;

/// Rows of a batch.
const BATCH: usize = 8192;

/// Imports Parquet: booleans, integers, floats and decimals, dates, timestamps (in UTC) and text, also behind a
/// dictionary; compressed by Snappy, LZ4 or Zstandard, and by gzip where the options allow it.
///
/// One column after another is read, so that one page and batch of one column are in memory beside the table. Floats become
/// decimals of as many places as their shortest forms have. Columns that are left out may have any type.
///
/// Errors: see [`ImportError`]. Damaged files are errors, too; the reader's own panics, if any, are caught and
/// printed by the panic hook.
pub fn import_parquet(
    file: File,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    // The reader indexes by numbers of the file here and there. All that it leaves behind is dropped with it.
    let import = AssertUnwindSafe(|| import(&file, options, progress));
    catch_unwind(import).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(ImportError::Damaged(
            message.unwrap_or("no reason given").into(),
        ))
    })
}

fn import(
    file: &File,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    let metadata = metadata(file)?;
    let fields = metadata.schema().fields().clone();
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let chosen = choose(&names, options)?;
    for column in &chosen {
        check_type(column, fields[column.place].data_type())?;
        check_compression(column, &metadata, options)?;
    }
    let rows = metadata.metadata().file_metadata().num_rows();
    let source = Source {
        file,
        metadata: &metadata,
    };
    let rows = u64::try_from(rows).unwrap_or(0);
    fill_all(&source, (&chosen, rows), options, progress)
}

/// The file's schema, with all text as views: those copy no bytes, however often a dictionary's are referred to.
fn metadata(file: &File) -> Result<ArrowReaderMetadata, ImportError> {
    let file = Ending(file.try_clone()?);
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let view = |field: &Arc<Field>| match is_text(field.data_type()) {
        true => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        false => field.clone(),
    };
    let schema = metadata.schema();
    let fields: Vec<_> = schema.fields().iter().map(view).collect();
    let schema = ArrowSchema::new_with_metadata(fields, schema.metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    Ok(ArrowReaderMetadata::try_new(
        metadata.metadata().clone(),
        options,
    )?)
}

/// Gzip's decoder takes as much memory as the data asks for; others stop at the page's size.
fn check_compression(
    column: &Chosen,
    metadata: &ArrowReaderMetadata,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    let schema = metadata.parquet_schema();
    let groups = metadata.metadata().row_groups().iter();
    let chunks = groups
        .flat_map(|group| group.columns().iter().enumerate())
        .filter(|(leaf, _)| {
            *leaf < schema.num_columns() && schema.get_column_root_idx(*leaf) == column.place
        });
    let name = || column.name.clone();
    for (_, chunk) in chunks {
        match chunk.compression() {
            Compression::GZIP(_) if !options.gzip => {
                return Err(ImportError::Gzip(name()));
            }
            Compression::BROTLI(_) | Compression::LZO => {
                let found = chunk.compression().to_string();
                return Err(ImportError::Compression {
                    column: name(),
                    found: found
                        .split('(')
                        .next()
                        .unwrap_or_default()
                        .to_ascii_lowercase(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// A file whose metadata have been read.
struct Source<'a> {
    file: &'a File,
    metadata: &'a ArrowReaderMetadata,
}

impl Columns for Source<'_> {
    fn kind(&self, place: usize) -> &DataType {
        self.metadata.schema().field(place).data_type()
    }

    fn cells(
        &self,
        column: &Chosen,
        take: &mut dyn FnMut(&Cell) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            Ending(self.file.try_clone()?),
            self.metadata.clone(),
        );
        let mask = ProjectionMask::roots(builder.parquet_schema(), [column.place]);
        let reader = builder
            .with_projection(mask)
            .with_batch_size(BATCH)
            .build()?;
        for batch in reader {
            each_cell(column, batch?.column(0), take)?;
        }
        Ok(())
    }
}

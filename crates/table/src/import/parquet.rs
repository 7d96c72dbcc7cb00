//! Imports Parquet files.

mod ending;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use omr_mismatch::Mismatch;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::basic::Compression;
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};

use super::arrays::{Natural, cells, is_text, natural, plain};
use super::cell::Cell;
use super::fill::{Filler, Target};
use super::guess::Guess;
use super::select::{Chosen, choose};
use super::{ImportError, ImportOptions, Progress, Wanted};
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
    let rows = u64::try_from(rows).unwrap_or(0);
    let mut columns = Vec::new();
    for (place, column) in chosen.iter().enumerate() {
        let mut report = |done| {
            progress(Progress {
                done: place as u64 * rows + done,
                total: chosen.len() as u64 * rows,
            });
        };
        let source = Source {
            file,
            metadata: &metadata,
        };
        let filler = source.fill(column, options, &mut report)?;
        check_rows(column, &filler, &columns)?;
        columns.push(filler.finish());
    }
    Ok(Table::new(options.name.clone(), options.salt, columns))
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

fn check_type(column: &Chosen, kind: &DataType) -> Result<Natural, ImportError> {
    natural(kind).ok_or_else(|| ImportError::Type {
        column: column.name.clone(),
        found: kind.to_string(),
    })
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

fn check_rows<T, U>(
    column: &Chosen,
    filler: &Filler,
    columns: &[(T, U, crate::column::ColumnData)],
) -> Result<(), ImportError> {
    let found = filler.rows();
    match columns
        .first()
        .map_or(found, |(_, _, data)| data.rows() as u64)
    {
        expected if expected == found => Ok(()),
        expected => Err(ImportError::Rows(
            column.name.clone(),
            Mismatch::new(expected, found),
        )),
    }
}

/// A file whose metadata have been read.
struct Source<'a> {
    file: &'a File,
    metadata: &'a ArrowReaderMetadata,
}

impl Source<'_> {
    fn fill(
        &self,
        column: &Chosen,
        options: &ImportOptions,
        report: &mut dyn FnMut(u64),
    ) -> Result<Filler, ImportError> {
        let target = self.target(column, options)?;
        let mut filler = Filler::new(&column.name, target, options);
        self.cells(column, &mut |cell| {
            filler.push(cell)?;
            if filler.rows().is_multiple_of(BATCH as u64) {
                report(filler.rows());
            }
            Ok(())
        })?;
        report(filler.rows());
        Ok(filler)
    }

    /// The type declared, or the file's; measured where neither says how many places there are.
    fn target(&self, column: &Chosen, options: &ImportOptions) -> Result<Target, ImportError> {
        let kind = self.metadata.schema().field(column.place).data_type();
        let natural = check_type(column, kind)?;
        match (column.wanted, natural) {
            (Some(Wanted::Exactly(kind)), _) => Ok(Target::Exactly(kind)),
            (Some(Wanted::Text), _) | (None, Natural::Text) => Ok(Target::MeasuredText),
            (None, Natural::Exactly(kind)) => Ok(Target::Exactly(kind)),
            (Some(Wanted::Decimal), _) | (None, Natural::Measured) => {
                let mut guess = Guess::new(Some(Wanted::Decimal));
                let mut rows = 0;
                self.cells(column, &mut |cell| {
                    guess.push(cell);
                    rows += 1;
                    match rows > options.max_rows {
                        true => Err(ImportError::TooManyRows(options.max_rows)),
                        false => Ok(()),
                    }
                })?;
                guess.decimal(&column.name).map(Target::Exactly)
            }
        }
    }

    /// Hands every cell of a column on.
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
            let array = plain(batch?.column(0))?;
            let mut cells = cells(&array).ok_or_else(|| ImportError::Type {
                column: column.name.clone(),
                found: array.data_type().to_string(),
            })?;
            cells.try_for_each(|cell| take(&cell))?;
        }
        Ok(())
    }
}

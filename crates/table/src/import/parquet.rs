//! Imports Parquet files.

mod ending;
mod raw;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::arrow::parquet_to_arrow_schema;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use ::parquet::schema::types::{SchemaDescriptor, Type};
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
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
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
    fill_all(&source, &chosen, rows, options, progress)
}

/// Reads the file's metadata, with types by which no value is misread.
///
/// All text becomes views, which copy no bytes even if a dictionary's entries are used many times. Types that Arrow's
/// writers add to the file are used only where Parquet has no such type: elsewhere they could state another unit or scale
/// than Parquet's own type, and the reader would follow them.
fn metadata(file: &File) -> Result<ArrowReaderMetadata, ImportError> {
    let file = Ending(file.try_clone()?);
    let own = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let parsed = Arc::new(ParquetMetaDataReader::new().parse_and_finish(&file)?);
    let own = ArrowReaderMetadata::try_new(parsed.clone(), own)
        .map_err(|error| of_column(&parsed, error))?;
    let added = ArrowReaderMetadata::try_new(own.metadata().clone(), ArrowReaderOptions::new())?;
    let field = |(own, added): (&Arc<Field>, &Arc<Field>)| {
        let added = added.data_type();
        match (own.data_type(), added) {
            (kind, _) if is_text(kind) => {
                Arc::new(own.as_ref().clone().with_data_type(DataType::Utf8View))
            }
            (DataType::Int64, DataType::Timestamp(..) | DataType::Date64) => {
                Arc::new(own.as_ref().clone().with_data_type(added.clone()))
            }
            _ => own.clone(),
        }
    };
    let fields: Vec<_> = own
        .schema()
        .fields()
        .iter()
        .zip(added.schema().fields())
        .map(field)
        .collect();
    let schema = ArrowSchema::new_with_metadata(fields, own.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    Ok(ArrowReaderMetadata::try_new(
        own.metadata().clone(),
        options,
    )?)
}

/// Adds the name of the first column whose type the reader does not understand.
fn of_column(metadata: &ParquetMetaData, error: ParquetError) -> ImportError {
    let schema = metadata.file_metadata().schema_descr();
    for column in schema.root_schema().get_fields() {
        let alone = Type::group_type_builder(schema.name()).with_fields(vec![column.clone()]);
        let Ok(alone) = alone.build() else { continue };
        let alone = SchemaDescriptor::new(Arc::new(alone));
        if let Err(error) = parquet_to_arrow_schema(&alone, None) {
            return ImportError::ColumnType {
                column: column.name().to_owned(),
                error,
            };
        }
    }
    error.into()
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
        let file = Ending(self.file.try_clone()?);
        let kind = self.kind(column.place);
        if let Some(leaf) = raw::leaf(self.metadata.parquet_schema(), column.place, kind) {
            return raw::cells(file, leaf, column, kind, take);
        }
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
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

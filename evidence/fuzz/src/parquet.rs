//! Fuzz target: tables from Parquet.

use crate::Target;
use crate::csv::check;
use crate::input::choose;
use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use omr_table::{ImportOptions, import_parquet};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

/// The fuzz target. The reader's own panics become errors.
pub const TARGET: Target = Target::new("parquet", run, seeds).catching();

/// An input that this target found: the header of a page announces a list of billions, which the reader skips where
/// the file ends.
const ENDLESS: &[u8] = include_bytes!("../../../testdata/hostile/endless-header.parquet");

thread_local! {
    static FILE: RefCell<File> = RefCell::new(tempfile::tempfile().expect("a file"));
}

fn run(choice: usize, rest: &[u8]) {
    let mut options = ImportOptions::new("test", [5; 16]);
    options.truncate = choice & 1 != 0;
    if choice & 2 != 0 {
        options.declared = vec!["a:decimal(2)".parse().expect("a declaration")];
    }
    let file = FILE.with_borrow_mut(|file| {
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(rest))
            .and_then(|()| file.rewind())
            .and_then(|()| file.try_clone())
            .expect("a file to write to")
    });
    if let Ok(table) = import_parquet(file, &options, &mut |_| {}) {
        check(&table);
    }
}

fn written(compression: Compression, dictionary: bool) -> Vec<u8> {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "a",
            Arc::new(Int64Array::from(vec![Some(1), None, Some(-7)])),
        ),
        ("b", Arc::new(StringArray::from(vec!["x", "yy", "x"]))),
        ("c", Arc::new(Float64Array::from(vec![0.5, 1.25, -3.0]))),
        ("d", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("e", Arc::new(Date32Array::from(vec![0, 10_000, -1]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_max_row_group_row_count(Some(2))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.into_inner().expect("closed")
}

fn seeds() -> Vec<Vec<u8>> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let files = [
        written(Compression::UNCOMPRESSED, false),
        written(Compression::SNAPPY, true),
        written(Compression::LZ4_RAW, false),
        written(zstd, true),
    ];
    let all = files.iter().enumerate().map(|(i, file)| choose(i, file));
    all.chain([choose(2, ENDLESS)]).collect()
}

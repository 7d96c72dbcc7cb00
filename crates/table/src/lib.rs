//! Typed tables and queries in the clear: what a private database query is asked of, and what it means.
//!
//! No cryptography. A [`Schema`] is public: clients plan and encrypt queries with it alone. A [`Query`] has a
//! public [`Shape`] and constants, which the client keeps to herself; `Query::matches` is the plain
//! reference that encrypted answers are judged by.
#![forbid(unsafe_code)]

mod bits;
mod builder;
mod calendar;
mod column;
mod decimal;
mod doubts;
mod file;
mod import;
mod output;
mod query;
mod row_codec;
mod schema;
mod schema_check;
mod show;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod value;
mod value_parse;

pub use builder::{BuildError, TableBuilder};
pub use column::{Ordinals, Texts};
pub use doubts::{Doubt, Looks};
pub use file::FileError;
#[cfg(feature = "arrow")]
pub use import::import_batches;
#[cfg(feature = "parquet")]
pub use import::import_parquet;
pub use import::{
    ColumnNames, CsvFault, Declared, Delimiter, ImportError, ImportOptions, Progress, Wanted,
    import_csv, import_file,
};
pub use output::{OutputError, Rows};
pub use query::{
    Deriver, Filter, FilterShape, Fingerprints, Leaf, LeafShape, LikeShape, MAX_CONSTANTS,
    MAX_DEPTH, MAX_LEAVES, Pattern, Query, QueryError, Row, Segment, Shape, ShapeError, Test,
    TestShape, compares_null, derive, fingerprint,
};
pub use row_codec::{MAX_ROW_BYTES, RowCodec, RowError};
pub use schema::{Column, ColumnType, Domain, MAX_TEXT_BYTES, Schema};
pub use schema_check::{MAX_COLUMNS, MAX_NAME_BYTES, MAX_ROWS, MAX_SCHEMA_BYTES, SchemaError};
pub use show::Shown;
pub use table::{Table, TableRow};
pub use value::Value;
pub use value_parse::ValueError;

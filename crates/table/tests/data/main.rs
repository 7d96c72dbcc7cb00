//! Tables, their files, rows in bytes, import and output.

mod csv;
mod known_answers;
mod output;
mod parquet;
mod rows;
mod schema;
mod table_file;
mod tables;

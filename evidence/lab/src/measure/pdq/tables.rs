//! Tables from a folder of CSV.

use super::{PdqBenchError, Typed};
use omr_table::{ImportOptions, Table, import_file};
use std::collections::BTreeMap;
use std::path::Path;

/// The key of the fingerprints of text; any key will do.
const SALT: [u8; 16] = *b"omr bench tables";

/// Reads all tables of a folder, by name: `NAME.csv` is table NAME. Types are inferred.
///
/// Errors: `Io`, `Import`.
pub fn read_tables(folder: &Path) -> Result<BTreeMap<String, Table>, PdqBenchError> {
    let io = |source| PdqBenchError::Io(folder.into(), source);
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let options = ImportOptions::new(name, SALT);
        let file =
            std::fs::File::open(&path).map_err(|source| PdqBenchError::Io(path.clone(), source))?;
        let table = import_file(file, &options, &mut |_| {})
            .map_err(|source| PdqBenchError::Import(path.clone(), source))?;
        tables.insert(name.to_owned(), table);
    }
    Ok(tables)
}

/// Returns the names and types of a table's columns.
pub fn typed(table: &Table) -> Typed {
    let schema = table.schema();
    let columns = schema.columns.iter();
    Typed {
        name: schema.name.clone(),
        columns: columns
            .map(|column| (column.name.clone(), column.kind.to_string()))
            .collect(),
    }
}

/// A table that random questions are drawn from.
pub(super) struct Drawn<'a>(pub(super) &'a Table);

impl omr_table::testing::Rows for Drawn<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn value(&self, row: usize, column: usize) -> omr_table::Value {
        self.0.value(row, column)
    }
}

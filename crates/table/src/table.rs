//! A table in memory, stored by columns.

use crate::column::ColumnData;
use crate::import::{Cuts, Filled};
use crate::{Column, Ordinals, Row, Schema, Texts, Value};

/// A schema and its rows, in memory by columns: 8 bytes and a bit for every value, and the bytes of text.
#[derive(Clone, Debug)]
pub struct Table {
    schema: Schema,
    columns: Vec<ColumnData>,
    /// The values that the import cut, for each column. They are not part of the table, and empty unless it was just imported.
    cuts: Vec<Cuts>,
}

/// Tables are equal that have the same schema and values, whatever was cut on their way.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema && self.columns == other.columns
    }
}

impl Table {
    /// Joins columns that were imported.
    pub(crate) fn imported(name: &str, salt: [u8; 16], columns: Vec<Filled>) -> Self {
        let cuts = columns.iter().map(|column| column.cuts).collect();
        let columns = columns
            .into_iter()
            .map(|column| (column.name, column.kind, column.data));
        Table {
            cuts,
            ..Self::new(name.to_owned(), salt, columns.collect())
        }
    }

    pub(crate) fn cuts(&self) -> &[Cuts] {
        &self.cuts
    }

    /// Joins columns, whose values have been checked against their types, and measures domains.
    pub(crate) fn new(
        name: String,
        salt: [u8; 16],
        columns: Vec<(String, crate::ColumnType, ColumnData)>,
    ) -> Self {
        let rows = columns.first().map_or(0, |(_, _, data)| data.rows());
        let schemas = columns.iter().map(|(name, kind, data)| Column {
            name: name.clone(),
            kind: *kind,
            nullable: !data.present().all(),
            domain: data.domain(),
        });
        Table {
            schema: Schema {
                name,
                rows: rows as u64,
                salt,
                columns: schemas.collect(),
            },
            columns: columns.into_iter().map(|(_, _, data)| data).collect(),
            cuts: Vec::new(),
        }
    }

    /// Joins a schema and columns that have been checked against it.
    pub(crate) fn with_schema(schema: Schema, columns: Vec<ColumnData>) -> Self {
        Table {
            schema,
            columns,
            cuts: Vec::new(),
        }
    }

    pub(crate) fn data(&self) -> &[ColumnData] {
        &self.columns
    }

    /// The schema, all that is public about the table.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.schema.rows as usize
    }

    /// The number that stands for a value; `None`: absent, or a column of text.
    ///
    /// Panics: no such row or column.
    pub fn ordinal(&self, row: usize, column: usize) -> Option<i64> {
        match &self.columns[column] {
            ColumnData::Ordinals(data) => data.view().at(row),
            ColumnData::Texts(_) => None,
        }
    }

    /// A text; `None`: absent, or a column of another type.
    ///
    /// Panics: no such row or column.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        match &self.columns[column] {
            ColumnData::Ordinals(_) => None,
            ColumnData::Texts(data) => data.view().at(row),
        }
    }

    /// Whether a value is absent. Panics: no such row or column.
    pub fn is_null(&self, row: usize, column: usize) -> bool {
        !self.columns[column].present().at(row)
    }

    /// A value. Panics: no such row or column.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let value = match &self.columns[column] {
            ColumnData::Texts(data) => data.view().at(row).map(|text| Value::Text(text.into())),
            ColumnData::Ordinals(data) => {
                let kind = self.schema.columns[column].kind;
                let value =
                    |ordinal| Value::from_ordinal(kind, ordinal).expect("checked at its entry");
                data.view().at(row).map(value)
            }
        };
        value.unwrap_or(Value::Null)
    }

    /// All ordinals of a column; `None` for text. Panics: no such column.
    pub fn ordinals(&self, column: usize) -> Option<Ordinals<'_>> {
        match &self.columns[column] {
            ColumnData::Ordinals(data) => Some(data.view()),
            ColumnData::Texts(_) => None,
        }
    }

    /// All texts of a column; `None` for other types. Panics: no such column.
    pub fn texts(&self, column: usize) -> Option<Texts<'_>> {
        match &self.columns[column] {
            ColumnData::Ordinals(_) => None,
            ColumnData::Texts(data) => Some(data.view()),
        }
    }
}

/// One row of a table, for the plain reference.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a> {
    table: &'a Table,
    row: usize,
}

impl Table {
    /// A row. Its methods panic when there is none.
    pub fn at(&self, row: usize) -> TableRow<'_> {
        TableRow { table: self, row }
    }
}

impl Row for TableRow<'_> {
    fn ordinal(&self, column: usize) -> Option<i64> {
        self.table.ordinal(self.row, column)
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.table.text(self.row, column)
    }
}

//! Limits of schemas, their JSON and their fingerprint.

use std::collections::HashSet;

use crate::{Column, ColumnType, Schema};

/// Most columns of a table.
pub const MAX_COLUMNS: usize = 256;
/// Most rows of a table: below 2^32.
pub const MAX_ROWS: u64 = u32::MAX as u64;
/// Most bytes of the name of a table or column.
pub const MAX_NAME_BYTES: usize = 128;
/// Most bytes of a schema as JSON.
pub const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// Separates fingerprints of schemas from all other hashes.
const CONTEXT: &str = "omr table schema v1";

/// Why a schema is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A name is empty, too long or holds control characters.
    #[error("name: expected 1 to {MAX_NAME_BYTES} bytes without control characters, found {0:?}")]
    Name(String),
    /// Two columns differ by case at most; the second one's name.
    #[error("column {0:?} is there twice (names differ in more than case)")]
    Duplicate(String),
    /// Too few or too many columns.
    #[error("expected 1 to {MAX_COLUMNS} columns, found {0}")]
    Columns(usize),
    /// Too many rows.
    #[error("expected at most {MAX_ROWS} rows, found {0}")]
    Rows(u64),
    /// No column type.
    #[error(
        "type: expected boolean, integer, date, timestamp, decimal(0 to 18) or text(1 to 64), found {0:?}"
    )]
    Type(String),
    /// The range of a column's values is none, or missing, or has no place there.
    #[error("column {column:?} of type {kind}: its domain {found} is not one")]
    Domain {
        /// The column.
        column: String,
        /// The column's type.
        kind: ColumnType,
        /// The range, or that there is none.
        found: String,
    },
    /// No JSON of a schema.
    #[error("schema: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is too long: this number of bytes.
    #[error("schema: expected at most {MAX_SCHEMA_BYTES} bytes of JSON, found {0}")]
    Long(usize),
}

impl Schema {
    /// Checks names, numbers, types and domains.
    ///
    /// Errors: see [`SchemaError`]. A column other than text has a domain, within its type's limits, unless all its
    /// values are absent; text has none.
    pub fn check(&self) -> Result<(), SchemaError> {
        check_name(&self.name)?;
        if self.rows > MAX_ROWS {
            return Err(SchemaError::Rows(self.rows));
        }
        check_columns(
            self.columns
                .iter()
                .map(|column| (column.name.as_str(), column.kind)),
        )?;
        self.columns
            .iter()
            .try_for_each(|column| check_domain(column, self.rows))
    }

    /// The column's place, by its name in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = name.to_lowercase();
        self.columns
            .iter()
            .position(|column| column.name.to_lowercase() == name)
    }

    /// Returns the schema as JSON, for clients.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names, numbers and lists have JSON")
    }

    /// Reads and checks what strangers may have written.
    ///
    /// Errors: more than [`MAX_SCHEMA_BYTES`], no JSON of a schema, and what [`Schema::check`] refuses.
    pub fn from_json(json: &[u8]) -> Result<Schema, SchemaError> {
        if json.len() > MAX_SCHEMA_BYTES {
            return Err(SchemaError::Long(json.len()));
        }
        let schema: Schema = serde_json::from_slice(json)?;
        schema.check()?;
        Ok(schema)
    }

    /// Returns the BLAKE3 hash of a unique encoding of the whole schema, which queries are bound to.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hash_text(&mut hasher, &self.name);
        hasher.update(&self.rows.to_le_bytes());
        hasher.update(&self.salt);
        hasher.update(&(self.columns.len() as u64).to_le_bytes());
        for column in &self.columns {
            hash_column(&mut hasher, column);
        }
        *hasher.finalize().as_bytes()
    }
}

/// Checks what a table's columns are before there are values.
pub(crate) fn check_columns<'a>(
    columns: impl ExactSizeIterator<Item = (&'a str, ColumnType)>,
) -> Result<(), SchemaError> {
    if !(1..=MAX_COLUMNS).contains(&columns.len()) {
        return Err(SchemaError::Columns(columns.len()));
    }
    let mut names = HashSet::new();
    for (name, kind) in columns {
        check_name(name)?;
        if !kind.is_valid() {
            return Err(SchemaError::Type(kind.to_string()));
        }
        if !names.insert(name.to_lowercase()) {
            return Err(SchemaError::Duplicate(name.into()));
        }
    }
    Ok(())
}

pub(crate) fn check_name(name: &str) -> Result<(), SchemaError> {
    let valid = (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.chars().any(char::is_control);
    if valid {
        Ok(())
    } else {
        Err(SchemaError::Name(crate::value_parse::excerpt(name)))
    }
}

fn check_domain(column: &Column, rows: u64) -> Result<(), SchemaError> {
    let valid = match (column.kind.limits(), column.domain) {
        (None, domain) => domain.is_none(),
        (Some(_), None) => column.nullable || rows == 0,
        (Some(limits), Some(domain)) => {
            limits.min <= domain.min && domain.min <= domain.max && domain.max <= limits.max
        }
    };
    let found = || match column.domain {
        Some(domain) => format!("from {} to {}", domain.min, domain.max),
        None => "(none)".into(),
    };
    if valid {
        Ok(())
    } else {
        Err(SchemaError::Domain {
            column: column.name.clone(),
            kind: column.kind,
            found: found(),
        })
    }
}

fn hash_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

fn hash_column(hasher: &mut blake3::Hasher, column: &Column) {
    hash_text(hasher, &column.name);
    let (kind, parameter) = match column.kind {
        ColumnType::Boolean => (0, 0),
        ColumnType::Integer => (1, 0),
        ColumnType::Date => (2, 0),
        ColumnType::Timestamp => (3, 0),
        ColumnType::Decimal { scale } => (4, scale),
        ColumnType::Text { max_bytes } => (5, max_bytes),
    };
    let domain = column
        .domain
        .map_or((0, 0), |domain| (domain.min, domain.max));
    hasher.update(&[kind, parameter]);
    hasher.update(&[u8::from(column.nullable), u8::from(column.domain.is_some())]);
    hasher.update(&domain.0.to_le_bytes());
    hasher.update(&domain.1.to_le_bytes());
}

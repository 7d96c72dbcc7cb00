//! Names of tables and columns.

use omr_errors::Mismatch;
use sqlparser::ast::{Expr, Ident};

use super::super::QueryError;
use super::super::error::{NAMED, cut};
use crate::Schema;

/// The place of the column that an expression names, `None` where it is no name.
///
/// Errors: a name that the table does not have.
pub(super) fn column(expr: &Expr, schema: &Schema) -> Result<Option<usize>, QueryError> {
    match expr {
        Expr::Nested(inner) => column(inner, schema),
        Expr::Identifier(name) => find(name, schema).map(Some),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] => {
                check_table(&table.value, schema)?;
                find(name, schema).map(Some)
            }
            _ => Err(QueryError::unsupported(
                expr,
                "name a column, or table.column",
            )),
        },
        _ => Ok(None),
    }
}

/// Errors: another name than the table's, case aside.
pub(super) fn check_table(found: &str, schema: &Schema) -> Result<(), QueryError> {
    if same(found, &schema.name) {
        return Ok(());
    }
    Err(QueryError::Table(Mismatch::new(
        schema.name.clone(),
        cut(found),
    )))
}

fn find(name: &Ident, schema: &Schema) -> Result<usize, QueryError> {
    let found = schema
        .columns
        .iter()
        .position(|column| same(&column.name, &name.value));
    found.ok_or_else(|| QueryError::Column {
        found: cut(&name.value),
        nearest: nearest(&name.value, schema),
        columns: first_names(schema),
    })
}

fn first_names(schema: &Schema) -> Vec<String> {
    let columns = schema.columns.iter().take(NAMED);
    columns.map(|column| column.name.clone()).collect()
}

fn same(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// The most similar name, if it is similar at all.
fn nearest(name: &str, schema: &Schema) -> Option<String> {
    const SIMILAR: f64 = 0.6;
    let name = name.get(..name.len().min(256))?.to_lowercase();
    let rated = schema.columns.iter().map(|column| {
        (
            strsim::jaro_winkler(&name, &column.name.to_lowercase()),
            &column.name,
        )
    });
    let (rating, best) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (rating >= SIMILAR).then(|| best.clone())
}

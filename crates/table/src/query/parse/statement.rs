//! The statement around the condition.

use sqlparser::ast::{
    Expr, LimitClause, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value,
};
use sqlparser::parser::Parser;

use super::super::QueryError;
use super::{DIALECT, name, syntax};
use crate::Schema;

const FORM: &str = "SELECT * or columns FROM table WHERE condition [LIMIT n] is";

/// What a statement says.
pub(super) struct Statement {
    /// Columns by their places.
    pub(super) select: Vec<usize>,
    /// The condition.
    pub(super) condition: Expr,
    /// The number behind LIMIT.
    pub(super) limit: Option<u64>,
}

/// Takes a statement apart.
///
/// Errors: any clause but SELECT, FROM, WHERE and LIMIT.
pub(super) fn read(query: Query, schema: &Schema) -> Result<Statement, QueryError> {
    name_clauses(&query)?;
    let limit = query
        .limit_clause
        .as_ref()
        .map(limit)
        .transpose()?
        .flatten();
    let select = select_of(&query)?;
    table(&select.from, schema)?;
    let columns = columns(&select.projection, schema)?;
    let Some(condition) = select.selection.clone() else {
        return Err(QueryError::unsupported(
            cut_select(select),
            "a WHERE is expected",
        ));
    };
    no_other_clause(query)?;
    Ok(Statement {
        select: columns,
        condition,
        limit,
    })
}

fn cut_select(select: &Select) -> String {
    format!("SELECT … FROM {}", list(&select.from))
}

fn list<T: ToString>(parts: &[T]) -> String {
    parts
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn select_of(query: &Query) -> Result<&Select, QueryError> {
    match &*query.body {
        SetExpr::Select(select) => Ok(select),
        other => Err(QueryError::unsupported(other, FORM)),
    }
}

/// The clauses that people try, each by its name.
fn name_clauses(query: &Query) -> Result<(), QueryError> {
    if let Some(order) = &query.order_by {
        return Err(QueryError::unsupported(
            order,
            "rows come in the table's order",
        ));
    }
    if let Some(with) = &query.with {
        return Err(QueryError::unsupported(with, FORM));
    }
    let SetExpr::Select(select) = &*query.body else {
        return Ok(());
    };
    if select.distinct.is_some() {
        return Err(QueryError::unsupported("DISTINCT", FORM));
    }
    if let Some(having) = &select.having {
        return Err(QueryError::unsupported(format!("HAVING {having}"), FORM));
    }
    let grouping = select.group_by.to_string();
    if !grouping.is_empty() && grouping != "GROUP BY " {
        return Err(QueryError::unsupported(grouping, FORM));
    }
    Ok(())
}

/// Everything that a statement may have beside what has been read is compared with a statement that has none of it, so that
/// nothing passes unseen.
fn no_other_clause(mut query: Query) -> Result<(), QueryError> {
    let mut plain = template("SELECT a FROM a WHERE a")?;
    query.limit_clause = None;
    if let (SetExpr::Select(found), SetExpr::Select(blank)) = (&mut *query.body, &mut *plain.body) {
        blank.projection.clone_from(&found.projection);
        blank.from.clone_from(&found.from);
        blank.selection.clone_from(&found.selection);
    }
    if query == plain {
        return Ok(());
    }
    Err(QueryError::unsupported(query, FORM))
}

fn template(sql: &str) -> Result<Query, QueryError> {
    let mut parser = Parser::new(&DIALECT).try_with_sql(sql).map_err(syntax)?;
    parser.parse_query().map(|query| *query).map_err(syntax)
}

fn table(from: &[TableWithJoins], schema: &Schema) -> Result<(), QueryError> {
    const ONE: &str = "one table is, without joins and by its own name";
    let [TableWithJoins { relation, joins }] = from else {
        return Err(QueryError::unsupported(format!("FROM {}", list(from)), ONE));
    };
    if let Some(join) = joins.first() {
        return Err(QueryError::unsupported(join.to_string().trim(), ONE));
    }
    let TableFactor::Table { name, .. } = relation else {
        return Err(QueryError::unsupported(relation, ONE));
    };
    let [part] = name.0.as_slice() else {
        return Err(QueryError::unsupported(name, ONE));
    };
    let Some(ident) = part.as_ident() else {
        return Err(QueryError::unsupported(name, ONE));
    };
    // An alias or anything else behind the name shows in what is printed.
    if relation.to_string() != name.to_string() {
        return Err(QueryError::unsupported(relation, ONE));
    }
    name::check_table(&ident.value, schema)
}

fn columns(projection: &[SelectItem], schema: &Schema) -> Result<Vec<usize>, QueryError> {
    const NAMES: &str = "* or names of columns are";
    if let [item @ SelectItem::Wildcard(_)] = projection {
        if item.to_string() != "*" {
            return Err(QueryError::unsupported(item, NAMES));
        }
        return Ok((0..schema.columns.len()).collect());
    }
    let unsupported = |item: &SelectItem| QueryError::unsupported(item, NAMES);
    let column = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => {
            name::column(expr, schema)?.ok_or_else(|| unsupported(item))
        }
        _ => Err(unsupported(item)),
    };
    projection.iter().map(column).collect()
}

/// The number behind LIMIT, `None` for LIMIT ALL.
fn limit(clause: &LimitClause) -> Result<Option<u64>, QueryError> {
    let error =
        || QueryError::unsupported(clause.to_string().trim(), "LIMIT and a whole number is");
    let LimitClause::LimitOffset {
        limit,
        offset: None,
        limit_by,
    } = clause
    else {
        return Err(error());
    };
    match limit {
        _ if !limit_by.is_empty() => Err(error()),
        None => Ok(None),
        Some(Expr::Value(number)) => match &number.value {
            Value::Number(digits, false) => digits.parse().map(Some).map_err(|_| error()),
            _ => Err(error()),
        },
        Some(_) => Err(error()),
    }
}

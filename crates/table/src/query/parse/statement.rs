//! The statement around the condition.

use sqlparser::ast::{
    Expr, GroupByExpr, LimitClause, Query, Select, SelectFlavor, SelectItem, SetExpr, TableFactor,
    TableWithJoins, Value,
};

use super::super::QueryError;
use super::name;
use crate::Schema;

const FORM: &str = "SELECT * or columns FROM table WHERE condition [LIMIT n] is";

/// The parts of a statement.
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
pub(super) fn read(mut query: Query, schema: &Schema) -> Result<Statement, QueryError> {
    name_clauses(&query)?;
    let limit = query.limit_clause.take();
    let limit = limit.as_ref().map(self::limit).transpose()?.flatten();
    let select = select_of(&query)?;
    table(&select.from, schema)?;
    let columns = columns(&select.projection, schema)?;
    if select.selection.is_some() && !(is_plain(&query) && is_plain_select(select)) {
        return Err(QueryError::unsupported(query, FORM));
    }
    let text = cut_select(select);
    let condition = condition(query);
    Ok(Statement {
        select: columns,
        condition: condition.ok_or_else(|| QueryError::unsupported(text, "a WHERE is expected"))?,
        limit,
    })
}

/// Returns the condition behind WHERE. It is moved, since copies and comparisons of whole statements compile to much code.
fn condition(query: Query) -> Option<Expr> {
    match *query.body {
        SetExpr::Select(select) => select.selection,
        _ => None,
    }
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

/// Whether there is nothing around the SELECT. All fields are named, so that none of a later sqlparser passes unseen.
fn is_plain(query: &Query) -> bool {
    let Query {
        with,
        body: _,
        order_by,
        limit_clause: _,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    with.is_none()
        && order_by.is_none()
        && fetch.is_none()
        && locks.is_empty()
        && for_clause.is_none()
        && settings.is_none()
        && format_clause.is_none()
        && pipe_operators.is_empty()
}

/// Returns whether the SELECT inside has no clauses but those that are read.
fn is_plain_select(select: &Select) -> bool {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let is_ungrouped =
        matches!(group_by, GroupByExpr::Expressions(by, with) if by.is_empty() && with.is_empty());
    is_ungrouped
        && select_modifiers.is_none()
        && matches!(flavor, SelectFlavor::Standard)
        && optimizer_hints.is_empty()
        && distinct.is_none()
        && top.is_none()
        && exclude.is_none()
        && into.is_none()
        && lateral_views.is_empty()
        && prewhere.is_none()
        && connect_by.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && having.is_none()
        && named_window.is_empty()
        && qualify.is_none()
        && value_table_mode.is_none()
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

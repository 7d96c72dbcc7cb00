//! From SQL to a [`Query`]: tokens are counted, the text is parsed, the condition is lowered to the normal form.

mod constant;
mod lexer;
mod like;
mod list;
mod literal;
mod lower;
mod name;
mod number;
mod ordinal;
mod statement;
mod truth;

pub use lexer::compares_null;

use sqlparser::ast::Expr;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use self::lower::{Lowering, Wanted};
use super::{Filter, MAX_DEPTH, Query, QueryError, ShapeError};
use crate::Schema;

const DIALECT: GenericDialect = GenericDialect {};

/// Levels of the parser: parentheses and NOTs take some each, [`MAX_DEPTH`] bounds them before.
const PARSER_DEPTH: usize = 4 * MAX_DEPTH;

/// Several times what [`PARSER_DEPTH`] levels take.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 16 << 20;

impl Query {
    /// Parses `SELECT * | a, b, "C" FROM name WHERE condition [LIMIT n]`; the second value is n.
    ///
    /// Names compare without case. Conditions: `= <> != < <= > >=` between a column and a constant, `BETWEEN`, `IN` with a
    /// list, `LIKE` and `ILIKE` with one part between `%`s at most and with `ESCAPE`, `IS NULL | TRUE | FALSE`, columns of
    /// booleans, `AND`, `OR`, `NOT`. Constants: numbers, strings, `TRUE`, `FALSE`, `DATE '2001-01-10'`,
    /// `TIMESTAMP '2001-01-10 12:00:00'`, strings of that form beside a column of dates or moments, and `NULL`, which equals
    /// nothing. A backslash in a pattern is a character like others.
    ///
    /// The query's shape depends on columns, operators, the number of constants, `NULL`s and the places of a
    /// pattern, not on values. A constant that no value of the column can equal, or that stands in a list twice, becomes an ordinal outside the column's
    /// domain, right above it or, where there is no room, right below; ends of intervals are kept within one of the domain.
    ///
    /// Errors: everything else, and more than 64 KiB, [`MAX_LEAVES`](super::MAX_LEAVES) conditions,
    /// [`MAX_CONSTANTS`](super::MAX_CONSTANTS) constants in a list, [`MAX_DEPTH`] parentheses or NOTs inside each other.
    pub fn parse(sql: &str, schema: &Schema) -> Result<(Self, Option<u64>), QueryError> {
        deep(|| statement_query(sql, schema))
    }
}

impl Filter {
    /// Parses a condition alone, what stands behind WHERE. Otherwise as [`Query::parse`].
    pub fn parse(condition: &str, schema: &Schema) -> Result<Self, QueryError> {
        deep(|| bare_condition(condition, schema))
    }
}

/// Runs here: a module for browsers has one thread. Its stack takes what the limits let pass, `web/test/tables.mjs`.
#[cfg(target_family = "wasm")]
fn deep<T>(work: impl FnOnce() -> Result<T, QueryError>) -> Result<T, QueryError> {
    work()
}

/// Runs on a stack of its own: the parser takes up to 20 KB for a parenthesis, more than small threads have for all.
#[cfg(not(target_family = "wasm"))]
fn deep<T: Send>(work: impl FnOnce() -> Result<T, QueryError> + Send) -> Result<T, QueryError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let running = thread
            .spawn_scoped(scope, work)
            .map_err(|_| QueryError::NoStack(STACK))?;
        running
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn statement_query(sql: &str, schema: &Schema) -> Result<(Query, Option<u64>), QueryError> {
    let mut parser = parser(sql)?;
    let parsed = parser.parse_query().map_err(syntax)?;
    finish(&mut parser)?;
    let statement = statement::read(*parsed, schema)?;
    let filter = lower(&statement.condition, schema)?;
    let query = Query::new(statement.select, filter);
    query.shape().check(schema).map_err(|error| match error {
        ShapeError::SelectedTwice(column) => {
            QueryError::SelectedTwice(schema.columns[column].name.clone())
        }
        error => error.into(),
    })?;
    Ok((query, statement.limit))
}

fn bare_condition(condition: &str, schema: &Schema) -> Result<Filter, QueryError> {
    let mut parser = parser(condition)?;
    let parsed = parser.parse_expr().map_err(syntax)?;
    finish(&mut parser)?;
    lower(&parsed, schema)
}

fn parser(sql: &str) -> Result<Parser<'static>, QueryError> {
    let tokens = lexer::tokens(sql)?;
    Ok(Parser::new(&DIALECT)
        .with_recursion_limit(PARSER_DEPTH)
        .with_tokens(tokens))
}

/// Nothing may follow but one semicolon.
fn finish(parser: &mut Parser<'_>) -> Result<(), QueryError> {
    let _ = parser.consume_token(&Token::SemiColon);
    match parser.peek_token().token {
        Token::EOF => Ok(()),
        other => Err(QueryError::unsupported(
            other,
            "the query should end before it",
        )),
    }
}

fn syntax(error: ParserError) -> QueryError {
    let message = match error {
        ParserError::RecursionLimitExceeded => return QueryError::TooDeep(MAX_DEPTH),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    QueryError::Syntax(super::error::cut_message(&message))
}

fn lower(condition: &Expr, schema: &Schema) -> Result<Filter, QueryError> {
    let filter = Lowering::new(schema).filter(condition, Wanted::True)?;
    filter.shape().check(schema)?;
    Ok(filter)
}

//! Conditions to normal form: NOT goes down to the leaves, where SQL's three truth values are settled.

use omr_errors::Mismatch;
use sqlparser::ast::{BinaryOperator, Expr, InTarget, UnaryOperator, Value, ValueWithSpan};

use super::super::{Filter, Leaf, MAX_CONSTANTS, QueryError, ShapeError, Test};
use super::literal::{self, Literal};
use super::number::Exact;
use super::ordinal::{Comparison, Ordinals};
use super::truth::{Truth, opposite};
use super::{constant, like, list, name};
use crate::{Column, ColumnType, Schema};

const CONDITION: &str = "conditions are a column with = <> < <= > >= BETWEEN IN LIKE ILIKE IS NULL, TRUE or FALSE, joined by \
     AND, OR, NOT";

/// The ones of SQL's three truth values for which rows are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    True,
    False,
    /// False or unknown.
    NotTrue,
    /// True or unknown.
    NotFalse,
}

impl Wanted {
    /// Returns the truth values that NOT requires of the condition behind it.
    fn inverted(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::NotTrue => Self::NotFalse,
            Self::NotFalse => Self::NotTrue,
        }
    }

    /// Whether truth is asked for, of a condition that is never unknown.
    fn holds(self) -> bool {
        matches!(self, Self::True | Self::NotFalse)
    }
}

/// Lowers conditions against a schema.
pub(super) struct Lowering<'a> {
    schema: &'a Schema,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(schema: &'a Schema) -> Self {
        Self { schema }
    }

    /// The rows for which the condition has a wanted truth value.
    pub(super) fn filter(&self, expr: &Expr, wanted: Wanted) -> Result<Filter, QueryError> {
        let is = |inner, truth: Wanted, otherwise: Wanted| {
            self.filter(inner, if wanted.holds() { truth } else { otherwise })
        };
        match expr {
            Expr::Nested(inner) => self.filter(inner, wanted),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: inner,
            } => self.filter(inner, wanted.inverted()),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => self.join(left, right, wanted.holds(), wanted),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Or,
                right,
            } => self.join(left, right, !wanted.holds(), wanted),
            Expr::IsTrue(inner) => is(inner, Wanted::True, Wanted::NotTrue),
            Expr::IsNotTrue(inner) => is(inner, Wanted::NotTrue, Wanted::True),
            Expr::IsFalse(inner) => is(inner, Wanted::False, Wanted::NotFalse),
            Expr::IsNotFalse(inner) => is(inner, Wanted::NotFalse, Wanted::False),
            Expr::IsNull(inner) => self.null(inner, expr, wanted.holds()),
            Expr::IsNotNull(inner) => self.null(inner, expr, !wanted.holds()),
            Expr::IsUnknown(inner) => self.null(inner, expr, wanted.holds()),
            Expr::IsNotUnknown(inner) => self.null(inner, expr, !wanted.holds()),
            _ => Ok(self.settle(self.truth(expr)?, wanted)),
        }
    }

    /// Joins both sides; ANDs within an AND and ORs within an OR are laid flat.
    fn join(
        &self,
        left: &Expr,
        right: &Expr,
        all: bool,
        wanted: Wanted,
    ) -> Result<Filter, QueryError> {
        let mut parts = Vec::new();
        for side in [left, right] {
            match (self.filter(side, wanted)?, all) {
                (Filter::And(inner), true) | (Filter::Or(inner), false) => parts.extend(inner),
                (other, _) => parts.push(other),
            }
        }
        Ok(if all {
            Filter::And(parts)
        } else {
            Filter::Or(parts)
        })
    }

    fn null(&self, inner: &Expr, whole: &Expr, absent: bool) -> Result<Filter, QueryError> {
        let column = name::column(inner, self.schema)?
            .ok_or_else(|| QueryError::unsupported(whole, "a column IS NULL is"))?;
        Ok(Filter::Leaf(Leaf {
            negated: !absent,
            ..Leaf::new(column, Test::Null)
        }))
    }

    /// The rows where a condition on one column has a wanted truth value.
    fn settle(&self, truth: Truth, wanted: Wanted) -> Filter {
        let (yes, no) = (truth.when_true, truth.when_false);
        let known = match wanted {
            Wanted::True => return Filter::Leaf(yes),
            Wanted::False => return Filter::Leaf(no),
            Wanted::NotTrue if truth.settled => no,
            Wanted::NotFalse if truth.settled => yes,
            Wanted::NotTrue => opposite(&yes),
            Wanted::NotFalse => opposite(&no),
        };
        let column = known.column;
        if !self.schema.columns[column].nullable {
            return Filter::Leaf(known);
        }
        let absent = Leaf::new(column, Test::Null);
        Filter::Or(vec![Filter::Leaf(known), Filter::Leaf(absent)])
    }

    /// A condition on one column.
    fn truth(&self, expr: &Expr) -> Result<Truth, QueryError> {
        match expr {
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right, expr),
            Expr::Between {
                expr: column,
                negated,
                low,
                high,
            } => self
                .between(column, low, high, expr)
                .map(|truth| negate(truth, *negated)),
            Expr::In {
                expr: column,
                target: InTarget::List(list),
                negated,
                global: false,
            } => self
                .in_list(column, list, expr)
                .map(|truth| negate(truth, *negated)),
            Expr::Like {
                negated,
                any: false,
                expr: column,
                pattern,
                escape_char,
            } => self
                .like(column, pattern, escape_char.as_deref(), false, expr)
                .map(|truth| negate(truth, *negated)),
            Expr::ILike {
                negated,
                any: false,
                expr: column,
                pattern,
                escape_char,
            } => self
                .like(column, pattern, escape_char.as_deref(), true, expr)
                .map(|truth| negate(truth, *negated)),
            _ => self.flag(expr),
        }
    }

    /// A column of booleans alone.
    fn flag(&self, expr: &Expr) -> Result<Truth, QueryError> {
        let Some(place) = name::column(expr, self.schema)? else {
            return Err(QueryError::unsupported(expr, CONDITION));
        };
        let column = &self.schema.columns[place];
        if column.kind != ColumnType::Boolean {
            return Err(QueryError::unsupported(
                expr,
                "only a column of booleans is a condition by itself",
            ));
        }
        Ordinals::new(place, column).compare(Comparison::Equal, Some(Exact::of(1)))
    }

    fn comparison(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        whole: &Expr,
    ) -> Result<Truth, QueryError> {
        let Some(comparison) = Comparison::of(op) else {
            return Err(QueryError::unsupported(whole, CONDITION));
        };
        let (place, comparison, other) = match (
            name::column(left, self.schema)?,
            name::column(right, self.schema)?,
        ) {
            (Some(place), None) => (place, comparison, right),
            (None, Some(place)) => (place, comparison.turned(), left),
            _ => {
                return Err(QueryError::unsupported(
                    whole,
                    "compare a column with a constant",
                ));
            }
        };
        let (column, literal) = (&self.schema.columns[place], literal::read(other)?);
        if !is_text(column) {
            return Ordinals::new(place, column)
                .compare(comparison, constant::ordinal(&literal, column)?);
        }
        let equal = list::one_of(place, &[constant::text(&literal, column)?]);
        match comparison {
            Comparison::Equal => Ok(equal),
            Comparison::Unequal => Ok(equal.negated()),
            _ => Err(QueryError::unsupported(
                whole,
                "texts compare by = <> IN LIKE ILIKE, they have no order",
            )),
        }
    }

    fn between(
        &self,
        column: &Expr,
        low: &Expr,
        high: &Expr,
        whole: &Expr,
    ) -> Result<Truth, QueryError> {
        let (place, column) = self.column(column, whole)?;
        if is_text(column) {
            return Err(QueryError::unsupported(
                whole,
                "texts compare by = <> IN LIKE ILIKE, they have no order",
            ));
        }
        let end = |expr| constant::ordinal(&literal::read(expr)?, column);
        Ordinals::new(place, column).between(end(low)?, end(high)?)
    }

    fn in_list(&self, column: &Expr, list: &[Expr], whole: &Expr) -> Result<Truth, QueryError> {
        let (place, column) = self.column(column, whole)?;
        if list.len() > MAX_CONSTANTS {
            return Err(ShapeError::Constants(Mismatch::new(MAX_CONSTANTS, list.len())).into());
        }
        let literals: Vec<Literal> = list.iter().map(literal::read).collect::<Result<_, _>>()?;
        if is_text(column) {
            let values: Result<Vec<_>, _> = literals
                .iter()
                .map(|literal| constant::text(literal, column))
                .collect();
            return Ok(list::one_of(place, &values?));
        }
        let values: Result<Vec<_>, _> = literals
            .iter()
            .map(|literal| constant::ordinal(literal, column))
            .collect();
        Ordinals::new(place, column).one_of(&values?)
    }

    fn like(
        &self,
        column: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        fold: bool,
        whole: &Expr,
    ) -> Result<Truth, QueryError> {
        let (place, column) = self.column(column, whole)?;
        if !is_text(column) {
            return Err(QueryError::unsupported(
                whole,
                "LIKE is for columns of text",
            ));
        }
        let escape = escape.map(escape_character).transpose()?;
        match constant::text(&literal::read(pattern)?, column)? {
            Some(pattern) => Ok(Truth::of(place, like::read(&pattern, escape, fold)?)),
            None => Ok(list::one_of(place, &[None])),
        }
    }

    fn column(&self, expr: &Expr, whole: &Expr) -> Result<(usize, &'a Column), QueryError> {
        let place = name::column(expr, self.schema)?.ok_or_else(|| {
            QueryError::unsupported(whole, "a column is expected on its left side")
        })?;
        Ok((place, &self.schema.columns[place]))
    }
}

fn negate(truth: Truth, negated: bool) -> Truth {
    if negated { truth.negated() } else { truth }
}

fn is_text(column: &Column) -> bool {
    matches!(column.kind, ColumnType::Text { .. })
}

fn escape_character(expr: &Expr) -> Result<char, QueryError> {
    let error = || QueryError::unsupported(expr, "ESCAPE takes one character");
    let Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(text),
        ..
    }) = expr
    else {
        return Err(error());
    };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(error()),
    }
}

//! Shapes come from strangers: every rule that a shape made from a query keeps by itself.

use omr_errors::Mismatch;
use thiserror::Error;

use super::{
    FilterShape, LeafShape, LikeShape, MAX_CONSTANTS, MAX_DEPTH, MAX_LEAVES, Shape, TestShape,
};
use crate::{Column, ColumnType, Schema};

/// Why a shape is no question to a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Nothing is selected.
    #[error("the query selects no column")]
    NothingSelected,
    /// The column at this place is selected twice.
    #[error("column {0} is selected twice")]
    SelectedTwice(usize),
    /// No such column.
    #[error("column {} does not exist: the table has {}", .0.found, .0.expected)]
    NoColumn(Mismatch<usize>),
    /// An AND or OR has this number of conditions, fewer than two.
    #[error("AND or OR of {0} conditions: at least 2 expected")]
    TooFewParts(usize),
    /// The query has more than this number of leaves.
    #[error("more than {0} conditions")]
    TooManyLeaves(usize),
    /// ANDs and ORs are nested deeper than this number.
    #[error("more than {0} ANDs and ORs inside each other")]
    TooDeep(usize),
    /// A list of no or too many constants.
    #[error("a list of {} constants: 1 to {} expected", .0.found, .0.expected)]
    Constants(Mismatch<usize>),
    /// An interval that is open on both sides.
    #[error("an interval without ends")]
    NoEnds,
    /// A test of text on another column or the other way around.
    #[error("column {column} holds {kind:?}, which this test is not for")]
    WrongType {
        /// The column's place.
        column: usize,
        /// The column's type.
        kind: ColumnType,
    },
    /// A pattern without `%` has a prefix alone.
    #[error("a pattern without % has a part behind %")]
    ExactWithParts,
    /// A pattern that no value of the column can have.
    #[error("a pattern of {} characters: the column holds {} at most", .0.found, .0.expected)]
    PatternTooLong(Mismatch<usize>),
}

impl Shape {
    /// Checks a shape that anyone may have made against the table it asks.
    ///
    /// Errors: columns out of range or selected twice, tests that are not for the column's type, empty lists and joins of
    /// fewer than two, more than [`MAX_LEAVES`] leaves, [`MAX_CONSTANTS`] constants or [`MAX_DEPTH`] levels, patterns longer than the
    /// column's values.
    pub fn check(&self, schema: &Schema) -> Result<(), ShapeError> {
        check_select(&self.select, schema)?;
        self.filter.check(schema)
    }
}

impl FilterShape {
    /// Checks the filter alone: see [`Shape::check`].
    pub fn check(&self, schema: &Schema) -> Result<(), ShapeError> {
        // First the tree's size, so that nothing below recurses deep or gathers much.
        self.count(0, &mut 0)?;
        self.leaves()
            .into_iter()
            .try_for_each(|leaf| leaf.check(schema))
    }

    fn count(&self, depth: usize, leaves: &mut usize) -> Result<(), ShapeError> {
        match self {
            Self::And(parts) | Self::Or(parts) => {
                if depth == MAX_DEPTH {
                    return Err(ShapeError::TooDeep(MAX_DEPTH));
                }
                if parts.len() < 2 {
                    return Err(ShapeError::TooFewParts(parts.len()));
                }
                parts
                    .iter()
                    .try_for_each(|part| part.count(depth + 1, leaves))
            }
            Self::Leaf { .. } => {
                *leaves += 1;
                if *leaves > MAX_LEAVES {
                    return Err(ShapeError::TooManyLeaves(MAX_LEAVES));
                }
                Ok(())
            }
        }
    }
}

fn check_select(select: &[usize], schema: &Schema) -> Result<(), ShapeError> {
    if select.is_empty() {
        return Err(ShapeError::NothingSelected);
    }
    let mut seen = vec![false; schema.columns.len()];
    for &column in select {
        column_at(schema, column)?;
        if std::mem::replace(&mut seen[column], true) {
            return Err(ShapeError::SelectedTwice(column));
        }
    }
    Ok(())
}

fn column_at(schema: &Schema, found: usize) -> Result<&Column, ShapeError> {
    schema
        .columns
        .get(found)
        .ok_or(ShapeError::NoColumn(Mismatch::new(
            schema.columns.len(),
            found,
        )))
}

impl LeafShape<'_> {
    fn check(&self, schema: &Schema) -> Result<(), ShapeError> {
        let kind = column_at(schema, self.column)?.kind;
        let wrong = ShapeError::WrongType {
            column: self.column,
            kind,
        };
        match (self.test, kind) {
            (TestShape::Null, _) => Ok(()),
            (TestShape::Texts(found), ColumnType::Text { .. }) => constants(*found),
            (TestShape::Like(like), ColumnType::Text { max_bytes }) => like.check(max_bytes.into()),
            (_, ColumnType::Text { .. }) => Err(wrong),
            (TestShape::Ordinals(found), _) => constants(*found),
            (
                TestShape::Range {
                    low: false,
                    high: false,
                },
                _,
            ) => Err(ShapeError::NoEnds),
            (TestShape::Range { .. }, _) => Ok(()),
            (TestShape::Texts(_) | TestShape::Like(_), _) => Err(wrong),
        }
    }
}

fn constants(found: usize) -> Result<(), ShapeError> {
    if (1..=MAX_CONSTANTS).contains(&found) {
        return Ok(());
    }
    Err(ShapeError::Constants(Mismatch::new(MAX_CONSTANTS, found)))
}

impl LikeShape {
    fn check(&self, most: usize) -> Result<(), ShapeError> {
        let found = self.min_chars();
        if self.exact && !(self.infix.is_empty() && self.suffix.is_empty()) {
            return Err(ShapeError::ExactWithParts);
        }
        if found > most {
            return Err(ShapeError::PatternTooLong(Mismatch::new(most, found)));
        }
        Ok(())
    }
}

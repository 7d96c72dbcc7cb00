//! Comparisons as tests of ordinals.
//!
//! What the constant is must not show in the test's form: ends that lie outside the column's domain are kept at one
//! beyond it, values that no row can have become ordinals beyond it.

use std::collections::BTreeSet;

use sqlparser::ast::BinaryOperator;

use super::super::{QueryError, Test};
use super::number::Exact;
use super::truth::Truth;
use crate::{Column, ColumnType, Domain};

/// A comparison, with the column on its left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    /// `None` where the operator is none.
    pub(super) fn of(operator: &BinaryOperator) -> Option<Self> {
        match operator {
            BinaryOperator::Eq => Some(Self::Equal),
            BinaryOperator::NotEq => Some(Self::Unequal),
            BinaryOperator::Lt => Some(Self::Below),
            BinaryOperator::LtEq => Some(Self::AtMost),
            BinaryOperator::Gt => Some(Self::Above),
            BinaryOperator::GtEq => Some(Self::AtLeast),
            _ => None,
        }
    }

    /// The comparison with its sides exchanged.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::AtMost => Self::AtLeast,
            Self::Above => Self::Below,
            Self::AtLeast => Self::AtMost,
            Self::Equal | Self::Unequal => self,
        }
    }
}

/// A column whose values are ordinals.
pub(super) struct Ordinals<'a> {
    place: usize,
    column: &'a Column,
    domain: Domain,
}

impl<'a> Ordinals<'a> {
    pub(super) fn new(place: usize, column: &'a Column) -> Self {
        // A column without values has no range: any will do.
        let none = Domain::new(0, 0);
        Self {
            place,
            column,
            domain: column.domain.unwrap_or(none),
        }
    }

    /// A comparison with a constant, `None`: NULL.
    pub(super) fn compare(
        &self,
        comparison: Comparison,
        constant: Option<Exact>,
    ) -> Result<Truth, QueryError> {
        let Some(value) = constant else {
            return self.unknown(comparison);
        };
        let up_to_floor = || {
            Ok(Truth::pair(
                self.place,
                self.up_to(value.floor)?,
                self.from(value.floor + 1)?,
            ))
        };
        let below = || {
            let last = if value.whole {
                value.floor - 1
            } else {
                value.floor
            };
            Ok(Truth::pair(
                self.place,
                self.up_to(last)?,
                self.from(last + 1)?,
            ))
        };
        match comparison {
            Comparison::Equal => self.equal(value),
            Comparison::Unequal => self.equal(value).map(Truth::negated),
            Comparison::AtMost => up_to_floor(),
            Comparison::Above => up_to_floor().map(Truth::negated),
            Comparison::Below => below(),
            Comparison::AtLeast => below().map(Truth::negated),
        }
    }

    fn up_to(&self, last: i128) -> Result<Test, QueryError> {
        Ok(Test::Range {
            low: None,
            high: Some(self.high(last)?),
        })
    }

    fn from(&self, first: i128) -> Result<Test, QueryError> {
        Ok(Test::Range {
            low: Some(self.low(first)?),
            high: None,
        })
    }

    /// A negated equality of booleans is an equality with the other value, and looks like one.
    fn equal(&self, value: Exact) -> Result<Truth, QueryError> {
        let test = |value| self.values(&[Some(value)]).map(Test::Ordinals);
        if self.column.kind != ColumnType::Boolean {
            return Ok(Truth::of(self.place, test(value)?));
        }
        let other = Exact::of(1 - value.floor);
        Ok(Truth::pair(self.place, test(value)?, test(other)?))
    }

    /// `column IN (constants)`.
    pub(super) fn one_of(&self, constants: &[Option<Exact>]) -> Result<Truth, QueryError> {
        let values = self.values(constants)?;
        let mut truth = Truth::of(self.place, Test::Ordinals(values));
        if constants.contains(&None) {
            // Nothing is known to be outside such a list.
            let never = self.values(&vec![None; constants.len()])?;
            truth.when_false = Truth::of(self.place, Test::Ordinals(never)).when_true;
            truth.settled = false;
        }
        Ok(truth)
    }

    /// `column BETWEEN low AND high`.
    pub(super) fn between(
        &self,
        low: Option<Exact>,
        high: Option<Exact>,
    ) -> Result<Truth, QueryError> {
        if let (Some(low), Some(high)) = (low, high) {
            let first = if low.whole { low.floor } else { low.floor + 1 };
            return Ok(Truth::of(self.place, self.range(first, high.floor)?));
        }
        let never = self.range(
            i128::from(self.domain.max) + 1,
            i128::from(self.domain.min) - 1,
        )?;
        let outside = match (low, high) {
            // Below the one end that is known, or above it.
            (Some(low), _) => {
                let last = if low.whole { low.floor - 1 } else { low.floor };
                self.range(self.domain.min.into(), last)?
            }
            (_, Some(high)) => self.range(high.floor + 1, self.domain.max.into())?,
            _ => never.clone(),
        };
        Ok(Truth {
            settled: false,
            ..Truth::pair(self.place, never, outside)
        })
    }

    fn range(&self, first: i128, last: i128) -> Result<Test, QueryError> {
        Ok(Test::Range {
            low: Some(self.low(first)?),
            high: Some(self.high(last)?),
        })
    }

    /// A comparison with NULL: never true, never false.
    fn unknown(&self, comparison: Comparison) -> Result<Truth, QueryError> {
        let test = match comparison {
            Comparison::Equal | Comparison::Unequal => Test::Ordinals(self.values(&[None])?),
            Comparison::Below | Comparison::AtMost => {
                self.up_to(i128::from(self.domain.min) - 1)?
            }
            Comparison::Above | Comparison::AtLeast => {
                self.from(i128::from(self.domain.max) + 1)?
            }
        };
        Ok(Truth {
            settled: false,
            ..Truth::pair(self.place, test.clone(), test)
        })
    }

    /// The upper end of an interval, within the domain or one below it.
    fn high(&self, last: i128) -> Result<i64, QueryError> {
        let kept = last.clamp(i128::from(self.domain.min) - 1, self.domain.max.into());
        i64::try_from(kept).map_err(|_| self.no_room())
    }

    /// The lower end of an interval, within the domain or one above it.
    fn low(&self, first: i128) -> Result<i64, QueryError> {
        let kept = first.clamp(self.domain.min.into(), i128::from(self.domain.max) + 1);
        i64::try_from(kept).map_err(|_| self.no_room())
    }

    /// Distinct ordinals, ascending, as many as there are constants: one that no row can have, or that was there
    /// before, takes an ordinal of its own outside the domain.
    fn values(&self, constants: &[Option<Exact>]) -> Result<Vec<i64>, QueryError> {
        let mut values: BTreeSet<i64> = constants
            .iter()
            .filter_map(|constant| self.within(*constant))
            .collect();
        values.extend(self.outside(constants.len() - values.len())?);
        Ok(values.into_iter().collect())
    }

    fn within(&self, constant: Option<Exact>) -> Option<i64> {
        let value = constant.filter(|exact| exact.whole)?.floor;
        let value = i64::try_from(value).ok()?;
        (self.domain.min..=self.domain.max)
            .contains(&value)
            .then_some(value)
    }

    fn outside(&self, count: usize) -> Result<Vec<i64>, QueryError> {
        let Domain { min, max } = self.domain;
        let count = i64::try_from(count).map_err(|_| self.no_room())?;
        if max.checked_add(count).is_some() {
            return Ok((1..=count).map(|step| max + step).collect());
        }
        if min.checked_sub(count).is_some() {
            return Ok((1..=count).map(|step| min - step).collect());
        }
        Err(self.no_room())
    }

    fn no_room(&self) -> QueryError {
        QueryError::NoRoom(self.column.name.clone())
    }
}

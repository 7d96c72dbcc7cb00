//! Conditions on one column.

use rand_core::Rng;

use super::constant::unit;
use super::draw::Draw;
use super::{Rows, Twin};
use crate::ColumnType;

const COMPARISONS: [&str; 7] = ["=", "<>", "!=", "<", "<=", ">", ">="];

impl<G: Rng, R: Rows> Draw<'_, G, R> {
    /// A condition on a column of any type; `narrow`: one that few rows pass, if the column allows.
    pub(super) fn leaf(&mut self, narrow: bool) -> Twin {
        let column = if narrow {
            self.varied_column()
        } else {
            self.any_column()
        };
        if !narrow && self.chance(8) {
            let not = self.pick(&["", "NOT "]);
            return Twin::same(format!("{} IS {not}NULL", self.name(column)));
        }
        match self.schema.columns[column].kind {
            ColumnType::Text { .. } => self.text_leaf(column, narrow),
            ColumnType::Boolean if self.chance(50) => self.flag(column),
            kind => self.ordinal_leaf(column, kind, narrow),
        }
    }

    fn any_column(&mut self) -> usize {
        self.below(self.schema.columns.len())
    }

    /// Draws a column whose values differ, judged by a few of them.
    fn varied_column(&mut self) -> usize {
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            let column = self.any_column();
            let first = self.value(column);
            if (0..12).all(|_| self.value(column) != first) {
                return column;
            }
        }
        self.any_column()
    }

    fn flag(&mut self, column: usize) -> Twin {
        let suffix = [
            "",
            "",
            " IS TRUE",
            " IS NOT TRUE",
            " IS FALSE",
            " IS NOT FALSE",
        ][self.below(6)];
        Twin::same(format!("{}{suffix}", self.name(column)))
    }

    fn ordinal_leaf(&mut self, column: usize, kind: ColumnType, narrow: bool) -> Twin {
        match self.below(4) {
            0 => self.in_list(column, kind, narrow),
            1 => self.between(column, kind, narrow),
            _ => self.comparison(column, kind, narrow),
        }
    }

    /// The column as both dialects write it, SQLite's in the units of constants.
    fn column(&mut self, column: usize, kind: ColumnType) -> Twin {
        let sql = self.name(column);
        let sqlite = format!("({sql} * {})", unit(kind));
        Twin { sql, sqlite }
    }

    fn constant(&mut self, column: usize, kind: ColumnType) -> Twin {
        let units = self.units(column, kind);
        self.written(units, kind)
    }

    fn comparison(&mut self, column: usize, kind: ColumnType, narrow: bool) -> Twin {
        let operator = if narrow {
            "="
        } else {
            COMPARISONS[self.below(COMPARISONS.len())]
        };
        let (mut left, mut right) = (self.column(column, kind), self.constant(column, kind));
        if self.chance(25) {
            std::mem::swap(&mut left, &mut right);
        }
        both(|side| format!("{} {operator} {}", side(&left), side(&right)))
    }

    fn between(&mut self, column: usize, kind: ColumnType, narrow: bool) -> Twin {
        let low = self.units(column, kind);
        let high = match low {
            Some(low) if narrow || self.chance(40) => {
                Some(low + self.below(30) as i64 * unit(kind))
                    .filter(|_| kind != ColumnType::Boolean)
            }
            _ => self.units(column, kind),
        };
        let (low, high) = (self.written(low, kind), self.written(high, kind));
        let (column, not) = (self.column(column, kind), self.not(narrow));
        both(|side| {
            format!(
                "{} {not}BETWEEN {} AND {}",
                side(&column),
                side(&low),
                side(&high)
            )
        })
    }

    fn in_list(&mut self, column: usize, kind: ColumnType, narrow: bool) -> Twin {
        let constants: Vec<Twin> = (0..=self.below(5))
            .map(|_| self.constant(column, kind))
            .collect();
        let (column, not) = (self.column(column, kind), self.not(narrow));
        both(|side| format!("{} {not}IN ({})", side(&column), list(&constants, side)))
    }

    pub(super) fn not(&mut self, narrow: bool) -> &'static str {
        if !narrow && self.chance(40) {
            "NOT "
        } else {
            ""
        }
    }
}

/// The constants of a list in one dialect.
pub(super) fn list(constants: &[Twin], side: fn(&Twin) -> &str) -> String {
    constants.iter().map(side).collect::<Vec<_>>().join(", ")
}

/// Writes one form in both dialects.
pub(super) fn both(write: impl Fn(fn(&Twin) -> &str) -> String) -> Twin {
    Twin {
        sql: write(|twin| &twin.sql),
        sqlite: write(|twin| &twin.sqlite),
    }
}

//! Constants of columns that are not text.

use chrono::DateTime;
use rand_core::Rng;

use super::draw::Draw;
use super::{Cells, Rows, Twin};
use crate::{ColumnType, Row};

/// A day in seconds.
const DAY: i64 = 86_400;

/// Seconds of 0001-01-01 and 9999-12-31: what dates can be written for.
const WRITABLE: (i64, i64) = (-62_135_596_800, 253_402_214_400);

/// How many units of a constant make one ordinal.
pub(super) fn unit(kind: ColumnType) -> i64 {
    match kind {
        ColumnType::Boolean => 1,
        ColumnType::Date => DAY,
        _ => 10,
    }
}

impl<G: Rng, R: Rows> Draw<'_, G, R> {
    /// A constant in units, near a value of the column. `None`: NULL.
    pub(super) fn units(&mut self, column: usize, kind: ColumnType) -> Option<i64> {
        if self.chance(2) {
            return None;
        }
        let value = Cells(vec![self.value(column)]).ordinal(0).unwrap_or(0);
        if kind == ColumnType::Boolean {
            return Some(if self.chance(20) { 1 - value } else { value });
        }
        let near = match self.below(20) {
            0 => value + 1,
            1 => value - 1,
            2 => value + self.below(50) as i64,
            3 => value - self.below(1000) as i64,
            4 => value.saturating_mul(1000),
            _ => value,
        };
        let between = if self.chance(15) {
            self.below(unit(kind) as usize)
        } else {
            0
        };
        Some(near * unit(kind) + between as i64)
    }

    /// The constant as it is written in both dialects.
    pub(super) fn written(&mut self, units: Option<i64>, kind: ColumnType) -> Twin {
        let Some(units) = units else {
            return Twin::same("NULL");
        };
        let (units, sql) = match kind {
            ColumnType::Boolean => (units, if units == 0 { "FALSE" } else { "TRUE" }.to_owned()),
            ColumnType::Date => self.moment(units, 1),
            ColumnType::Timestamp => self.moment(units, 10),
            ColumnType::Decimal { scale } => (units, self.decimal(units, usize::from(scale) + 1)),
            ColumnType::Integer | ColumnType::Text { .. } => (units, self.decimal(units, 1)),
        };
        let sqlite = units.to_string();
        Twin { sql, sqlite }
    }

    /// Units of `10^-places`, zeros at the end left away or not.
    fn decimal(&mut self, units: i64, places: usize) -> String {
        let digits = format!("{:0width$}", units.unsigned_abs(), width = places + 1);
        let (whole, mut behind) = digits.split_at(digits.len() - places);
        if self.chance(90) {
            behind = behind.trim_end_matches('0');
        }
        let sign = if units < 0 {
            "-"
        } else if self.chance(5) {
            "+"
        } else {
            ""
        };
        let point = if behind.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{behind}")
    }

    /// A moment in parts of a second, kept where it can be written.
    fn moment(&mut self, units: i64, parts: i64) -> (i64, String) {
        let units = units.clamp(WRITABLE.0 * parts, WRITABLE.1 * parts);
        let (seconds, part) = (units.div_euclid(parts), units.rem_euclid(parts));
        let written = DateTime::from_timestamp(seconds, 0)
            .unwrap_or_default()
            .naive_utc();
        let midnight = part == 0 && seconds.rem_euclid(DAY) == 0;
        let sql = match (midnight, self.below(4)) {
            (true, 0) => format!("DATE '{}'", written.date()),
            (true, 1) => format!("'{}'", written.date()),
            (_, 2) => format!("'{}T{}{}'", written.date(), written.time(), fraction(part)),
            _ => format!(
                "TIMESTAMP '{} {}{}'",
                written.date(),
                written.time(),
                fraction(part)
            ),
        };
        (units, sql)
    }
}

fn fraction(tenths: i64) -> String {
    if tenths == 0 {
        String::new()
    } else {
        format!(".{tenths}")
    }
}

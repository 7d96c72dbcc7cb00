//! Truth tables from constants. Which entries are written does not depend on the constants.

use crate::Plan;
use crate::plan::{SourceKind, Table, Truth};
use omr_table::{ColumnType, Fingerprints, Leaf, Query, Schema, Test};

/// A number to compare with; `valid` is 0 for what no row has.
#[derive(Clone, Copy)]
struct Number {
    value: u64,
    valid: u32,
}

/// The constants that a leaf compares with.
struct Constants {
    numbers: Vec<Number>,
    /// First number of the interval and first past it, where it has these ends: `0..=largest + 1`.
    low: u128,
    high: u128,
}

/// All entries of all tables, 0 or 1, in the plan's order.
pub(crate) fn entries(schema: &Schema, query: &Query, plan: &Plan) -> Vec<u32> {
    let leaves = query.leaves();
    let constants: Vec<Constants> = leaves
        .iter()
        .enumerate()
        .map(|(number, leaf)| constants(schema, leaf, largest(plan, number, leaf)))
        .collect();
    let entry = |table: &Table| -> Vec<u32> {
        (0..table.radix as u64)
            .map(|value| truth(table, &constants[table.leaf], value))
            .collect()
    };
    plan.circuit.tables.iter().flat_map(entry).collect()
}

/// The largest number of the leaf's source.
fn largest(plan: &Plan, number: usize, leaf: &Leaf) -> u64 {
    let of_leaf = |kind: &SourceKind| match (kind, &leaf.test) {
        (SourceKind::Like { leaf, .. }, _) => *leaf == number,
        (_, Test::Like(_)) => false,
        _ => true,
    };
    let mut sources = plan.circuit.sources.iter();
    let source = sources.find(|source| source.column == leaf.column && of_leaf(&source.kind));
    source.map_or(0, |source| source.largest)
}

fn constants(schema: &Schema, leaf: &Leaf, largest: u64) -> Constants {
    let column = &schema.columns[leaf.column];
    let min = column.domain.map_or(0, |domain| domain.min);
    let mut out = Constants {
        numbers: Vec::new(),
        low: 0,
        high: 0,
    };
    let fingerprints = Fingerprints::new(&schema.salt);
    let text = |bytes: &[u8]| Number {
        value: fingerprints.of(bytes) & largest,
        valid: 1,
    };
    match &leaf.test {
        Test::Ordinals(ordinals) => {
            let has_domain = column.domain.is_some();
            out.numbers = ordinals
                .iter()
                .map(|&ordinal| number(ordinal, min, largest, has_domain))
                .collect();
        }
        Test::Range { low, high } => {
            let past = u128::from(largest) + 1;
            let place = |ordinal: i128| (ordinal - i128::from(min)).clamp(0, past as i128) as u128;
            out.low = low.map_or(0, |low| place(low.into()));
            out.high = high.map_or(past, |high| place(i128::from(high) + 1));
            // An interval that ends before it begins is empty.
            let empty = u128::from(out.low > out.high);
            let both = u128::from(low.is_some() && high.is_some());
            out.low *= 1 - empty * both;
            out.high *= 1 - empty * both;
        }
        Test::Texts(texts) => out.numbers = texts.iter().map(|one| text(one.as_bytes())).collect(),
        Test::Like(pattern) => out.numbers = vec![text(&pattern.derived())],
        Test::Null => {}
    }
    debug_assert!(
        matches!(column.kind, ColumnType::Text { .. })
            || out.numbers.iter().all(|n| n.value <= largest)
    );
    out
}

fn number(ordinal: i64, min: i64, largest: u64, has_domain: bool) -> Number {
    let distance = i128::from(ordinal) - i128::from(min);
    let inside = distance >= 0 && distance <= i128::from(largest) && has_domain;
    let valid = u32::from(inside);
    Number {
        value: (distance as u64) * u64::from(valid),
        valid,
    }
}

/// One entry of a table.
fn truth(table: &Table, constants: &Constants, value: u64) -> u32 {
    let equal =
        |number: &Number| u32::from(digit(table, number.value.into()) == value) & number.valid;
    let end = |end: u128| {
        let past = u32::from(end > largest_of(table));
        End {
            digit: digit(table, end),
            past,
        }
    };
    match table.truth {
        Truth::Equal(constant) => equal(&constants.numbers[constant]),
        Truth::Set => constants
            .numbers
            .iter()
            .map(equal)
            .fold(0, |any, one| any | one),
        Truth::Interval => {
            let value = u128::from(value);
            u32::from(value >= constants.low) & u32::from(value < constants.high)
        }
        Truth::BelowLow => below(table, value, end(constants.low)),
        Truth::BelowHigh => below(table, value, end(constants.high)),
        Truth::AtLow => at(value, end(constants.low)),
        Truth::AtHigh => at(value, end(constants.high)),
    }
}

/// An end of an interval, as a table sees it.
#[derive(Clone, Copy)]
struct End {
    /// The table's digit of the end.
    digit: u64,
    /// 1 where the end lies past all numbers that the digits hold, else 0.
    past: u32,
}

/// Returns 1 where the digit `value` is below the end's digit. If the end lies past all digits of the table, every value
/// is below it, which the most significant digit alone states.
fn below(table: &Table, value: u64, end: End) -> u32 {
    let most = u32::from(table.digit + 1 == table.digits);
    (u32::from(value < end.digit) & (1 - end.past)) | (end.past & most)
}

/// Returns 1 where the digit `value` equals the end's digit.
fn at(value: u64, end: End) -> u32 {
    u32::from(value == end.digit) & (1 - end.past)
}

/// The largest number that the digits hold.
fn largest_of(table: &Table) -> u128 {
    (table.radix as u128).pow(table.digits as u32) - 1
}

fn digit(table: &Table, number: u128) -> u64 {
    let radix = table.radix as u128;
    (number / radix.pow(table.digit as u32) % radix) as u64
}

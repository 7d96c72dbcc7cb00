//! Equalities and lists of texts.

use super::super::{Leaf, Test};
use super::truth::Truth;
use crate::MAX_TEXT_BYTES;

/// `column IN (constants)`; `None`: NULL. Equality is a list of one.
pub(super) fn one_of(column: usize, constants: &[Option<String>]) -> Truth {
    let mut values: Vec<String> = Vec::with_capacity(constants.len());
    for (index, constant) in constants.iter().enumerate() {
        let value = constant.clone().unwrap_or_else(|| impossible(index));
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let mut truth = Truth::of(column, Test::Texts(values));
    if constants.contains(&None) {
        let never = (0..constants.len()).map(impossible).collect();
        truth.when_false = Leaf {
            column,
            test: Test::Texts(never),
            negated: false,
        };
        truth.settled = false;
    }
    truth
}

/// A text that is too long for any column.
fn impossible(index: usize) -> String {
    format!("{index:0width$}", width = usize::from(MAX_TEXT_BYTES) + 1)
}

//! Equalities and lists of texts.

use super::super::{Leaf, Test};
use super::truth::Truth;
use crate::MAX_TEXT_BYTES;

/// `column IN (constants)`; `None`: NULL. Equality is a list of one. As many texts as constants: one that was there before
/// becomes a text that no row can have.
pub(super) fn one_of(column: usize, constants: &[Option<String>]) -> Truth {
    let mut values: Vec<String> = Vec::with_capacity(constants.len());
    for (index, constant) in constants.iter().enumerate() {
        let new = constant.clone().filter(|text| !values.contains(text));
        values.push(new.unwrap_or_else(|| impossible(index, &values)));
    }
    let mut truth = Truth::of(column, Test::Texts(values));
    if constants.contains(&None) {
        let never = (0..constants.len())
            .map(|index| impossible(index, &[]))
            .collect();
        truth.when_false = Leaf::new(column, Test::Texts(never));
        truth.settled = false;
    }
    truth
}

/// A text that is too long for any column, and none of those there are.
fn impossible(index: usize, taken: &[String]) -> String {
    let width = usize::from(MAX_TEXT_BYTES) + 1;
    let mut number = index;
    loop {
        let text = format!("{number:0width$}");
        if !taken.contains(&text) {
            return text;
        }
        number += 1;
    }
}

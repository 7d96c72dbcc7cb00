//! Random choices.

use rand_core::Rng;

use super::Rows;
use crate::{Schema, Value};

/// Where choices come from.
pub(super) struct Draw<'a, G, R> {
    pub(super) rng: &'a mut G,
    pub(super) schema: &'a Schema,
    pub(super) rows: &'a R,
}

impl<G: Rng, R: Rows> Draw<'_, G, R> {
    /// Below `end`, which is at least 1; its bias does not matter here.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.rng.next_u64() % end.max(1) as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'b, T: ?Sized>(&mut self, of: &[&'b T]) -> &'b T {
        of[self.below(of.len())]
    }

    /// A value that some row has; `Null` where none was found.
    pub(super) fn value(&mut self, column: usize) -> Value {
        const TRIES: usize = 32;
        for _ in 0..TRIES {
            if self.rows.rows() == 0 {
                break;
            }
            let row = self.below(self.rows.rows());
            match self.rows.value(row, column) {
                Value::Null => {}
                found => return found,
            }
        }
        Value::Null
    }

    /// A column's name, now and then in capitals.
    pub(super) fn name(&mut self, column: usize) -> String {
        let name = &self.schema.columns[column].name;
        let plain = quoted(name);
        if plain == *name && self.chance(10) {
            return plain.to_uppercase();
        }
        plain
    }
}

/// A name as SQL reads it back.
pub(super) fn quoted(name: &str) -> String {
    let plain = |character: char| character.is_ascii_lowercase() || character == '_';
    if name.chars().all(plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

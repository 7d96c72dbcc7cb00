//! The rows where a condition on one column is true, and those where it is false; a row is in
//! neither where something is unknown.

use super::super::{Leaf, Test};

/// A condition on one column, both ways.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Truth {
    /// Rows where it is true.
    pub(super) when_true: Leaf,
    /// Rows where it is false.
    pub(super) when_false: Leaf,
    /// Whether one of the two holds wherever the column's value is known, that is, no constant is
    /// NULL.
    pub(super) settled: bool,
}

impl Truth {
    /// A condition whose opposite is the negated test.
    pub(super) fn of(column: usize, test: Test) -> Self {
        let when_true = Leaf::new(column, test);
        Self {
            when_false: opposite(&when_true),
            when_true,
            settled: true,
        }
    }

    /// A condition whose opposite has a test of its own.
    pub(super) fn pair(column: usize, when_true: Test, when_false: Test) -> Self {
        let leaf = |test| Leaf::new(column, test);
        Self {
            when_true: leaf(when_true),
            when_false: leaf(when_false),
            settled: true,
        }
    }

    /// NOT.
    pub(super) fn negated(self) -> Self {
        Self {
            when_true: self.when_false,
            when_false: self.when_true,
            ..self
        }
    }
}

/// The leaf with its test negated.
pub(super) fn opposite(leaf: &Leaf) -> Leaf {
    Leaf {
        negated: !leaf.negated,
        ..leaf.clone()
    }
}

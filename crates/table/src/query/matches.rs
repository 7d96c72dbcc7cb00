//! The meaning of a query, row by row and in the clear: the reference for encrypted answers.
//! Patterns are matched on characters, not through derived values, so that each checks the other.

use super::pattern::fold;
use super::{Filter, Leaf, Pattern, Query, Segment, Test};

/// One row of a table, as far as queries look at it.
pub trait Row {
    /// The ordinal in a column that is not text; `None` where the value is absent, and in columns of text.
    fn ordinal(&self, column: usize) -> Option<i64>;

    /// The text in a column of text; `None` where the value is absent, and in other columns.
    fn text(&self, column: usize) -> Option<&str>;
}

impl Query {
    /// The columns of rows that a condition selects.
    pub const fn new(select: Vec<usize>, filter: Filter) -> Self {
        Self { select, filter }
    }

    /// Whether the row is selected.
    pub fn matches(&self, row: &impl Row) -> bool {
        self.filter.matches(row)
    }
}

impl Filter {
    /// Whether the filter is true of the row. Two values do: absent values make a leaf false, and nothing above the
    /// leaves is negated.
    pub fn matches(&self, row: &impl Row) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.matches(row)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(row)),
            Self::Leaf(leaf) => leaf.matches(row),
        }
    }
}

impl Leaf {
    /// Whether the row passes the test, or fails it where the leaf is negated. An absent value does neither, but for
    /// [`Test::Null`].
    pub fn matches(&self, row: &impl Row) -> bool {
        let (ordinal, text) = (row.ordinal(self.column), row.text(self.column));
        let passes = match &self.test {
            Test::Null => Some(ordinal.is_none() && text.is_none()),
            Test::Ordinals(values) => ordinal.map(|found| values.contains(&found)),
            Test::Range { low, high } => ordinal.map(|found| {
                low.is_none_or(|low| low <= found) && high.is_none_or(|high| found <= high)
            }),
            Test::Texts(values) => text.map(|found| values.iter().any(|value| value == found)),
            Test::Like(pattern) => text.map(|found| pattern.matches(found)),
        };
        passes.is_some_and(|passes| passes != self.negated)
    }
}

impl Pattern {
    /// Whether the whole text has the pattern.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (prefix, suffix) = (self.prefix.0.len(), self.suffix.0.len());
        if text.len() < prefix + suffix || (self.exact && text.len() != prefix) {
            return false;
        }
        let (head, rest) = text.split_at(prefix);
        let (middle, tail) = rest.split_at(rest.len() - suffix);
        self.prefix.is(head, self.fold)
            && self.suffix.is(tail, self.fold)
            && self.holds_infix(middle)
    }

    fn holds_infix(&self, middle: &[char]) -> bool {
        let length = self.infix.0.len();
        length == 0
            || middle
                .windows(length)
                .any(|window| self.infix.is(window, self.fold))
    }
}

impl Segment {
    /// Whether as many characters are those asked for.
    fn is(&self, found: &[char], folded: bool) -> bool {
        let same = |a: char, b: char| a == b || (folded && fold(a) == fold(b));
        self.0.len() == found.len()
            && self
                .0
                .iter()
                .zip(found)
                .all(|(want, &found)| want.is_none_or(|want| same(want, found)))
    }
}

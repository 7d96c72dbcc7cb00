//! What errors of all crates say alike: what was expected, and what was found instead.
#![forbid(unsafe_code)]

use std::fmt;

/// What was expected, and what was found instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mismatch<E, F = E> {
    /// What was expected.
    pub expected: E,
    /// What was found.
    pub found: F,
}

impl<E, F> Mismatch<E, F> {
    /// Both sides.
    pub const fn new(expected: E, found: F) -> Self {
        Self { expected, found }
    }
}

impl<E: fmt::Display, F: fmt::Display> fmt::Display for Mismatch<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_named() {
        let text = Mismatch::new("a key", 7).to_string();
        assert_eq!(text, "expected a key, found 7");
    }
}

//! The pair of an expected and a found value, which the errors of all crates contain.
#![forbid(unsafe_code)]

use std::fmt;

/// The value that was expected and the value that was found instead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mismatch<E, F = E> {
    /// The expected value, or a description of it.
    pub expected: E,
    /// The value that was found.
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

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

/// A file whose format has another version than the one that this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OtherVersion {
    /// The version that this program reads and writes.
    pub expected: u32,
    /// The version of the file; 0 for a file that states none.
    pub found: u32,
}

impl OtherVersion {
    /// Checks the version of a file.
    ///
    /// Errors: the versions, where they differ.
    pub fn check(expected: u32, found: u32) -> Result<(), Self> {
        if found == expected {
            Ok(())
        } else {
            Err(Self { expected, found })
        }
    }
}

impl fmt::Display for OtherVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an earlier development version of omr made it, or a later release: found format version {}, this one reads \
             {}; make it new with this version",
            self.found, self.expected
        )
    }
}

impl std::error::Error for OtherVersion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_with_what_to_do() {
        assert_eq!(OtherVersion::check(1, 1), Ok(()));
        let text = OtherVersion::check(1, 5).unwrap_err().to_string();
        assert!(
            text.ends_with(
                "found format version 5, this one reads 1; make it new with this version"
            )
        );
    }

    #[test]
    fn both_sides_are_named() {
        let text = Mismatch::new("a key", 7).to_string();
        assert_eq!(text, "expected a key, found 7");
    }
}

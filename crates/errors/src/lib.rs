//! The parts that the errors of all crates have in common: expected and found values, bytes in hexadecimal, and the
//! chain of an error's causes.
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

/// Returns bytes in lower-case hexadecimal, two digits each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the text of an error followed by those of its causes, such as `board: not found`. A cause whose text ends the
/// text before it is left out.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error with a cause that its text may repeat.
    #[derive(Debug)]
    struct Caused(&'static str, std::io::Error);

    impl fmt::Display for Caused {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Caused {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.1)
        }
    }

    #[test]
    fn causes_follow_their_error_once() {
        let of = |text| chain(&Caused(text, std::io::Error::other("not found")));
        assert_eq!(of("board"), "board: not found");
        assert_eq!(of("the board is not found"), "the board is not found");
    }

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex(&[0, 0x1f, 0xa0]), "001fa0");
        assert_eq!(hex(&[]), "");
    }

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

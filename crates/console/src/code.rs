//! Error codes: words and exit codes by which programs distinguish errors.

use crate::ConsoleError;

/// The kind of error that ends a command. `omr --help` lists all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Any other error.
    Failure,
    /// A file or board is unusable.
    Input,
    /// A file could not be written.
    Output,
    /// A file would be replaced.
    Exists,
    /// There was no answer.
    Unreachable,
    /// There is no room.
    Busy,
    /// The token is missing or lacks the right.
    Access,
    /// Digests or messages do not have the expected content.
    Damaged,
    /// The program panicked.
    Internal,
    /// The command was used wrongly.
    Usage,
    /// There are more pertinent messages, or rows, than the bound.
    Overflow,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 11] = [
        Self::Failure,
        Self::Input,
        Self::Output,
        Self::Exists,
        Self::Unreachable,
        Self::Busy,
        Self::Access,
        Self::Damaged,
        Self::Internal,
        Self::Usage,
        Self::Overflow,
    ];

    /// Returns the word for the code in the error's JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Input => "input",
            Self::Output => "output",
            Self::Exists => "exists",
            Self::Unreachable => "unreachable",
            Self::Busy => "busy",
            Self::Access => "access",
            Self::Damaged => "damaged",
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Overflow => "overflow",
        }
    }

    /// Returns the exit code.
    pub fn exit(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Overflow => 3,
            _ => 1,
        }
    }
}

impl ConsoleError {
    /// Returns the code of the error.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Read(..) => Code::Input,
            Self::Write(..) | Self::Output(_) => Code::Output,
            Self::Exists(_) | Self::Source(_) => Code::Exists,
            Self::Threads(_) => Code::Failure,
        }
    }
}

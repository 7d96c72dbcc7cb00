//! Words and exit codes by which programs tell errors apart.

use crate::ConsoleError;

/// What kind of error ends a command; `omr --help` lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// None of the others.
    Failure,
    /// A file or board that cannot be used.
    Input,
    /// A file that cannot be written.
    Output,
    /// A file that would be replaced.
    Exists,
    /// No answer.
    Unreachable,
    /// No room.
    Busy,
    /// No token, or one without the right.
    Access,
    /// Digests or messages that do not hold what they should.
    Damaged,
    /// A panic.
    Internal,
    /// Wrong use.
    Usage,
    /// More pertinent messages, or rows, than the bound.
    Overflow,
}

impl Code {
    /// All of them.
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

    /// The word that stands in the error's JSON.
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

    /// The exit code.
    pub fn exit(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Overflow => 3,
            _ => 1,
        }
    }
}

impl ConsoleError {
    /// What kind of error it is.
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

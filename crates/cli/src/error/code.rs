//! Words and exit codes by which programs tell errors apart.

use super::{CliError, InputError, PdqError};
use omr_client::DecodeError;
use omr_lab::measure::BenchError;
use omr_mail::MailError;
use omr_remote::RemoteError;

/// What kind of error ends a command; `omr --help` lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
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
    #[cfg(test)]
    pub(crate) const ALL: [Self; 11] = [
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
    pub(crate) fn word(self) -> &'static str {
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
    pub(crate) fn exit(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Overflow => 3,
            _ => 1,
        }
    }
}

impl CliError {
    /// What kind of error it is.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Overflowed { .. } | Self::Pdq(PdqError::Overflow { .. }) => Code::Overflow,
            Self::Decode(error)
            | Self::Digest { source: error, .. }
            | Self::Bench(BenchError::Decode(error))
            | Self::Mail(MailError::Decode(error)) => of_decode(error),
            Self::Pertinent { .. } | Self::SoakBound { .. } => Code::Usage,
            Self::Input { source, .. } => of_input(source),
            Self::Lock(_)
            | Self::NoPassphrase { .. }
            | Self::Mail(MailError::Locked { .. } | MailError::Unlock { .. }) => Code::Input,
            Self::OtherParams { .. } | Self::OtherDigest { .. } | Self::TwoKeys { .. } => {
                Code::Input
            }
            Self::Write { .. } | Self::Output(_) => Code::Output,
            Self::Exists { .. }
            | Self::Mail(MailError::Exists { .. } | MailError::NotEmpty { .. }) => Code::Exists,
            Self::LeftOut { .. }
            | Self::NotWhole { .. }
            | Self::Damaged { .. }
            | Self::CanariesMissing { .. }
            | Self::Faults { .. } => Code::Damaged,
            Self::Remote(error)
            | Self::Mail(MailError::Remote(error))
            | Self::Retired {
                source: MailError::Remote(error),
                ..
            } => of_remote(error),
            Self::NotServing { .. } => Code::Unreachable,
            _ => Code::Failure,
        }
    }
}

fn of_decode(error: &DecodeError) -> Code {
    match error {
        DecodeError::Overflow { .. } | DecodeError::OverflowAtLeast { .. } => Code::Overflow,
        _ => Code::Damaged,
    }
}

fn of_input(error: &InputError) -> Code {
    match error {
        InputError::Pdq(PdqError::Overflow { .. }) => Code::Overflow,
        InputError::BoardBusy { .. } => Code::Busy,
        InputError::Unsound { .. } | InputError::Unsigned { .. } => Code::Damaged,
        _ => Code::Input,
    }
}

fn of_remote(error: &RemoteError) -> Code {
    match error {
        RemoteError::Unreachable { .. } => Code::Unreachable,
        RemoteError::Exhausted { .. } => Code::Busy,
        RemoteError::Unauthenticated { .. } | RemoteError::Denied { .. } => Code::Access,
        RemoteError::File { .. } => Code::Input,
        _ => Code::Failure,
    }
}

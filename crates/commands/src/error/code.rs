//! The kind of each error, by which programs tell it apart.

use super::{CliError, InputError, PdqError};
use omr_client::DecodeError;
use omr_console::Code;
use omr_mail::MailError;
use omr_remote::RemoteError;

impl CliError {
    /// What kind of error it is.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Overflowed { .. } | Self::Pdq(PdqError::Overflow { .. }) => Code::Overflow,
            Self::Decode(error)
            | Self::Digest { source: error, .. }
            | Self::Mail(MailError::Decode(error)) => of_decode(error),
            Self::Console(error) => error.code(),
            #[cfg(feature = "lab")]
            Self::Lab(error) => error.code(),
            Self::Pertinent { .. } => Code::Usage,
            Self::Input { source, .. } => of_input(source),
            Self::Lock(_)
            | Self::NoPassphrase { .. }
            | Self::Mail(MailError::Locked { .. } | MailError::Unlock { .. }) => Code::Input,
            Self::OtherParams { .. } | Self::OtherDigest { .. } | Self::TwoKeys { .. } => {
                Code::Input
            }
            Self::Write { .. } => Code::Output,
            Self::Mail(MailError::Exists { .. } | MailError::NotEmpty { .. }) => Code::Exists,
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

//! The kind of each error, by which programs tell it apart.

use super::{CliError, InputError};
use omr_client::DecodeError;
use omr_console::Code;

impl CliError {
    /// What kind of error it is.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Decode(error) | Self::Digest(_, error) => of_decode(error),
            Self::Console(error) => error.code(),
            Self::Pertinent(_) | Self::NoLab { .. } => Code::Usage,
            Self::Input(_, source) => of_input(source),
            Self::Lock(_)
            | Self::NoPassphrase { .. }
            | Self::OtherParams { .. }
            | Self::OtherDigest { .. }
            | Self::TwoKeys(_) => Code::Input,
            Self::Write(..) => Code::Output,
            Self::LeftOut { .. } | Self::NotWhole(_) => Code::Damaged,
            #[cfg(feature = "full")]
            error => service::code(error),
            #[cfg(not(feature = "full"))]
            _ => Code::Failure,
        }
    }
}

fn of_decode(error: &DecodeError) -> Code {
    match error {
        DecodeError::Overflow { .. } => Code::Overflow,
        _ => Code::Damaged,
    }
}

fn of_input(error: &InputError) -> Code {
    match error {
        #[cfg(feature = "full")]
        InputError::Pdq(super::PdqError::Overflow { .. }) => Code::Overflow,
        InputError::BoardBusy(_) => Code::Busy,
        InputError::Unsound { .. } | InputError::Unsigned { .. } => Code::Damaged,
        _ => Code::Input,
    }
}

/// Errors of mail, servers and private queries.
#[cfg(feature = "full")]
mod service {
    use super::of_decode;
    use crate::error::{CliError, PdqError};
    use omr_console::Code;
    use omr_mail::MailError;
    use omr_remote::RemoteError;

    pub(super) fn code(error: &CliError) -> Code {
        match error {
            CliError::Overflowed { .. } | CliError::Pdq(PdqError::Overflow { .. }) => {
                Code::Overflow
            }
            CliError::Mail(error) => of_mail(error),
            CliError::Damaged { .. } | CliError::CanariesMissing(_) | CliError::Faults(_) => {
                Code::Damaged
            }
            CliError::Remote(error)
            | CliError::Retired {
                source: MailError::Remote(error),
                ..
            }
            | CliError::LastFetch {
                source: MailError::Remote(error),
                ..
            } => of_remote(error),
            CliError::NotServing(_) => Code::Unreachable,
            CliError::NoJob(_) => Code::Input,
            CliError::Worker(omr_worker::WorkerError::NoRight) => Code::Access,
            _ => Code::Failure,
        }
    }

    fn of_mail(error: &MailError) -> Code {
        match error {
            MailError::Decode(error) => of_decode(error),
            MailError::Locked(_) | MailError::Unlock(..) => Code::Input,
            MailError::Exists(_) | MailError::NotEmpty(_) => Code::Exists,
            MailError::Remote(error) => of_remote(error),
            _ => Code::Failure,
        }
    }

    fn of_remote(error: &RemoteError) -> Code {
        match error {
            RemoteError::Unreachable { .. } | RemoteError::Tls(..) => Code::Unreachable,
            RemoteError::Exhausted(..) => Code::Busy,
            RemoteError::Unauthenticated(..) | RemoteError::Denied(..) => Code::Access,
            RemoteError::File(..) => Code::Input,
            _ => Code::Failure,
        }
    }
}

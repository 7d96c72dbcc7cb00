//! The kind of each error, for programs.

use super::{CliError, InputError};
use omr_client::DecodeError;
use omr_console::Code;

impl CliError {
    /// Returns the kind of the error.
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
            Self::Full(error) => error.code(),
            _ => Code::Failure,
        }
    }
}

pub(crate) fn of_decode(error: &DecodeError) -> Code {
    match error {
        DecodeError::Overflow { .. } => Code::Overflow,
        _ => Code::Damaged,
    }
}

fn of_input(error: &InputError) -> Code {
    match error {
        #[cfg(feature = "full")]
        InputError::Pdq(error) => error.code(),
        InputError::BoardBusy(_) => Code::Busy,
        InputError::Unsound { .. } | InputError::Unsigned { .. } => Code::Damaged,
        _ => Code::Input,
    }
}

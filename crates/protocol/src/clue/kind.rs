//! What binds the clues of a board or an address.

use super::{BoundClue, Clue};
use crate::ClueParams;
use std::fmt;
use std::str::FromStr;

/// Which clues an address, its detection keys and a board take. The number stands first on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ClueKind {
    /// A linear form of the recipient's secret. Some of them reach everybody: no defence against floods.
    Plain = 1,
    /// With an offset bound to payload, board and a one-time key; 32 bytes of key and 64 of signature follow.
    Bound = 2,
}

/// A name that no kind of clues has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected clues that are plain or bound, found {found:?}")]
pub struct ClueKindError {
    /// The name.
    pub found: String,
}

impl ClueKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Bound];

    /// The kind of a number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// The name that people read and write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Bound => "bound",
        }
    }

    /// Bytes of a clue of this kind.
    pub fn bytes(self, params: &ClueParams) -> usize {
        match self {
            Self::Plain => Clue::bytes(params),
            Self::Bound => BoundClue::bytes(params),
        }
    }
}

impl fmt::Display for ClueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ClueKind {
    type Err = ClueKindError;

    fn from_str(name: &str) -> Result<Self, ClueKindError> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| ClueKindError {
            found: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_round_trip() {
        for kind in ClueKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(ClueKind::from_number(kind as u8), Some(kind));
        }
        assert!("Bound".parse::<ClueKind>().is_err());
        assert_eq!(ClueKind::from_number(0), None);
    }
}

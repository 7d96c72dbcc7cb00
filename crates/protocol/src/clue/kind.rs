//! The kinds of clues: plain and bound.

use super::{BoundClue, Clue, HASH_BOUND, PLAIN};
use crate::ClueParams;
use std::fmt;
use std::str::FromStr;

/// The kind of a board's clues. All clues of a board have one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClueKind {
    /// A [`Clue`]. Anybody can make one that is pertinent for every recipient.
    Plain,
    /// A [`BoundClue`], which is bound to its payload, its board and a one-time key.
    Bound,
}

/// A clue kind that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClueKindError {
    /// No kind has this name.
    #[error("expected clues that are plain or bound, found {0:?}")]
    Name(String),
    /// No kind has this number.
    #[error("expected clues of kind 1 or 2, found kind {0}")]
    Tag(u8),
}

impl ClueKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Bound];

    /// Returns the number of the kind in files, which is the first byte of its clues.
    #[must_use]
    pub fn tag(self) -> u8 {
        match self {
            Self::Plain => PLAIN,
            Self::Bound => HASH_BOUND,
        }
    }

    /// Returns the name of the kind in options and files of configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Bound => "bound",
        }
    }

    /// Returns the length in bytes of a clue of this kind.
    #[must_use]
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
        let found = || ClueKindError::Name(name.to_owned());
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(found)
    }
}

impl TryFrom<u8> for ClueKind {
    type Error = ClueKindError;

    fn try_from(tag: u8) -> Result<Self, ClueKindError> {
        let found = ClueKindError::Tag(tag);
        Self::ALL
            .into_iter()
            .find(|kind| kind.tag() == tag)
            .ok_or(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_round_trip() {
        for kind in ClueKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(ClueKind::try_from(kind.tag()), Ok(kind));
        }
        assert_eq!(ClueKind::ALL.map(ClueKind::tag), [1, 2]);
        assert!("Bound".parse::<ClueKind>().is_err());
        assert!(ClueKind::try_from(0).is_err());
    }
}

//! The schemes behind a digest.

use std::fmt;
use std::str::FromStr;

/// How a digest is made, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Scheme {
    /// Payloads, by batches.
    Sophomr = 1,
    /// Indices, by batches.
    Sophomd = 2,
    /// Payloads, message by message.
    Instantomr = 3,
    /// Indices, message by message.
    Instantomd = 4,
    /// Full batches by SophOMR, the rest by InstantOMR: two digests in one file.
    Hybrid = 5,
}

/// No scheme has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected scheme sophomr, sophomd, instantomr, instantomd or hybrid, found {found:?}")]
pub struct SchemeError {
    /// The name.
    pub found: String,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 5] = [
        Self::Sophomr,
        Self::Sophomd,
        Self::Instantomr,
        Self::Instantomd,
        Self::Hybrid,
    ];

    /// The number that stands for it in files.
    #[must_use]
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// The scheme of a number.
    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.tag() == tag)
    }

    /// The name that people write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sophomr => "sophomr",
            Self::Sophomd => "sophomd",
            Self::Instantomr => "instantomr",
            Self::Instantomd => "instantomd",
            Self::Hybrid => "hybrid",
        }
    }

    /// SophOMR with or without payloads.
    #[must_use]
    pub fn bulk(payloads: bool) -> Self {
        if payloads {
            Self::Sophomr
        } else {
            Self::Sophomd
        }
    }

    /// InstantOMR with or without payloads.
    #[must_use]
    pub fn instant(payloads: bool) -> Self {
        if payloads {
            Self::Instantomr
        } else {
            Self::Instantomd
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    fn from_str(name: &str) -> Result<Self, SchemeError> {
        let mut all = Self::ALL.into_iter();
        let unknown = || SchemeError {
            found: name.to_owned(),
        };
        all.find(|scheme| scheme.name() == name).ok_or_else(unknown)
    }
}

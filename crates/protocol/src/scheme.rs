//! The schemes behind a digest.

use crate::DigestError;
use crate::instantomr::Encoding;
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
    /// InstantOMR with buckets and random combinations, as in its paper: a larger digest.
    InstantomrBuckets = 6,
    /// The same for indices.
    InstantomdBuckets = 7,
}

/// No scheme has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected scheme sophomr, sophomd, instantomr, instantomd, hybrid, instantomr-buckets or \
     instantomd-buckets, found {found:?}"
)]
pub struct SchemeError {
    /// The name.
    pub found: String,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 7] = [
        Self::Sophomr,
        Self::Sophomd,
        Self::Instantomr,
        Self::Instantomd,
        Self::Hybrid,
        Self::InstantomrBuckets,
        Self::InstantomdBuckets,
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
            Self::InstantomrBuckets => "instantomr-buckets",
            Self::InstantomdBuckets => "instantomd-buckets",
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
    pub fn instant(encoding: Encoding, payloads: bool) -> Self {
        match (encoding, payloads) {
            (Encoding::Powers, true) => Self::Instantomr,
            (Encoding::Powers, false) => Self::Instantomd,
            (Encoding::Buckets, true) => Self::InstantomrBuckets,
            (Encoding::Buckets, false) => Self::InstantomdBuckets,
        }
    }

    /// Whether SophOMR has a part in it, and InstantOMR: the detection keys that it takes.
    #[must_use]
    pub fn engines(self) -> [bool; 2] {
        match self {
            Self::Sophomr | Self::Sophomd => [true, false],
            Self::Hybrid => [true; 2],
            Self::Instantomr
            | Self::Instantomd
            | Self::InstantomrBuckets
            | Self::InstantomdBuckets => [false, true],
        }
    }

    /// How InstantOMR's sums are made; `None` where it has no part.
    #[must_use]
    pub fn encoding(self) -> Option<Encoding> {
        match self {
            Self::Sophomr | Self::Sophomd => None,
            Self::Instantomr | Self::Instantomd | Self::Hybrid => Some(Encoding::Powers),
            Self::InstantomrBuckets | Self::InstantomdBuckets => Some(Encoding::Buckets),
        }
    }

    /// Whether digests hold indices alone.
    #[must_use]
    pub fn is_for_indices(self) -> bool {
        matches!(
            self,
            Self::Sophomd | Self::Instantomd | Self::InstantomdBuckets
        )
    }

    /// The encoding of an InstantOMR digest or session.
    ///
    /// Errors: `Scheme`.
    pub(crate) fn expect_instant(self) -> Result<Encoding, DigestError> {
        let expected = "instantomr or instantomd";
        let found = self;
        match self {
            Self::Hybrid => Err(DigestError::Scheme { expected, found }),
            _ => self
                .encoding()
                .ok_or(DigestError::Scheme { expected, found }),
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

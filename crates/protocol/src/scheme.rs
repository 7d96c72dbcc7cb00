//! The schemes and the kinds of engines, each with its row of constants.

use crate::DigestError;
use crate::frame::Kind;
use omr_errors::Mismatch;
use std::fmt;
use std::str::FromStr;

/// A kind of engine, which has its own kind of detection keys. Records and calls contain its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EngineKind {
    /// SophOMR, which processes batches of messages.
    Sophomr = 1,
    /// InstantOMR, which processes one message at a time.
    Instantomr = 2,
    /// Retrieval in two rounds, which scans a range and then fetches payloads.
    Rounds = 3,
}

/// The constants of a kind of engine.
struct EngineRow {
    engine: EngineKind,
    title: &'static str,
    key_file: Kind,
    key_name: &'static str,
}

/// The rows by number, from 1. A range is divided between engines in this order.
const ENGINES: [EngineRow; 3] = [
    EngineRow {
        engine: EngineKind::Sophomr,
        title: "SophOMR",
        key_file: Kind::DetectionKey,
        key_name: "detection.key",
    },
    EngineRow {
        engine: EngineKind::Instantomr,
        title: "InstantOMR",
        key_file: Kind::InstantKey,
        key_name: "instant.key",
    },
    EngineRow {
        engine: EngineKind::Rounds,
        title: "two rounds",
        key_file: Kind::RoundsKey,
        key_name: "rounds.key",
    },
];

impl EngineKind {
    /// Every kind, in the order in which engines divide a range.
    pub const ALL: [Self; ENGINES.len()] = {
        let mut all = [Self::Sophomr; ENGINES.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = ENGINES[i].engine;
            assert!(all[i] as usize == i + 1, "rows stand by number");
            i += 1;
        }
        all
    };

    fn row(self) -> &'static EngineRow {
        &ENGINES[self as usize - 1]
    }

    /// Returns the kind's number.
    #[must_use]
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// Returns the kind with this number, if there is one.
    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.tag() == tag)
    }

    /// Returns the name of the kind in messages.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Returns the kind of the engine's key files.
    #[must_use]
    pub fn key_file(self) -> Kind {
        self.row().key_file
    }

    /// Returns the name of the key's file in a recipient's folder.
    #[must_use]
    pub fn key_name(self) -> &'static str {
        self.row().key_name
    }

    /// Returns the engine whose key file has this name in a recipient's folder.
    #[must_use]
    pub fn of_key_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|engine| engine.key_name() == name)
    }

    /// Returns the engine whose key a file of this kind contains; `None` for files that are no detection keys.
    #[must_use]
    pub fn of_key_file(file: Kind) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|engine| engine.key_file() == file)
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// A scheme: the engines that make a digest, and whether it contains payloads or indices. Files contain its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Scheme {
    /// Payloads, by SophOMR in batches.
    Sophomr = 1,
    /// Indices, by SophOMR in batches.
    Sophomd = 2,
    /// Payloads, by InstantOMR message by message.
    Instantomr = 3,
    /// Indices, by InstantOMR message by message.
    Instantomd = 4,
    /// Full batches by SophOMR and the remaining messages by InstantOMR: two digests in one file.
    Hybrid = 5,
    /// Payloads in two rounds: a scan of a range, and a fetch of payloads.
    TwoRounds = 6,
}

/// The contents of a scheme's digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Payloads,
    Indices,
    /// Payloads or indices.
    Either,
}

/// The constants of a scheme.
struct Row {
    scheme: Scheme,
    name: &'static str,
    /// Engines in the order in which they divide a range.
    engines: &'static [EngineKind],
    holds: Holds,
}

/// The rows by number, from 1.
const ROWS: [Row; 6] = {
    use EngineKind::{Instantomr, Rounds, Sophomr};
    use Holds::{Either, Indices, Payloads};
    [
        row(Scheme::Sophomr, "sophomr", &[Sophomr], Payloads),
        row(Scheme::Sophomd, "sophomd", &[Sophomr], Indices),
        row(Scheme::Instantomr, "instantomr", &[Instantomr], Payloads),
        row(Scheme::Instantomd, "instantomd", &[Instantomr], Indices),
        row(Scheme::Hybrid, "hybrid", &[Sophomr, Instantomr], Either),
        row(Scheme::TwoRounds, "two-rounds", &[Rounds], Payloads),
    ]
};

const fn row(
    scheme: Scheme,
    name: &'static str,
    engines: &'static [EngineKind],
    holds: Holds,
) -> Row {
    Row {
        scheme,
        name,
        engines,
        holds,
    }
}

/// An error: no scheme has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected scheme {}, found {found:?}", names())]
pub struct SchemeError {
    /// The name.
    pub found: String,
}

/// Returns the names of all schemes.
fn names() -> String {
    let [first @ .., last] = Scheme::ALL.map(Scheme::name);
    format!("{} or {last}", first.join(", "))
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::Sophomr; ROWS.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = ROWS[i].scheme;
            assert!(all[i] as usize == i + 1, "rows stand by number");
            i += 1;
        }
        all
    };

    fn row(self) -> &'static Row {
        &ROWS[self as usize - 1]
    }

    /// Returns the scheme's number.
    #[must_use]
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// Returns the scheme with this number, if there is one.
    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.tag() == tag)
    }

    /// Returns the scheme's name in options and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the scheme of these engines, in any order, for payloads or indices; `None` if there is none.
    #[must_use]
    pub fn of_engines(engines: &[EngineKind], payloads: bool) -> Option<Self> {
        let same = |row: &&Row| {
            row.engines.len() == engines.len()
                && row.engines.iter().all(|engine| engines.contains(engine))
        };
        let mut rows = ROWS.iter().filter(same);
        rows.find(|row| row.holds(payloads)).map(|row| row.scheme)
    }

    /// Returns the scheme of SophOMR with or without payloads.
    #[must_use]
    pub fn sophomr(payloads: bool) -> Self {
        if payloads {
            Self::Sophomr
        } else {
            Self::Sophomd
        }
    }

    /// Returns the scheme of InstantOMR with or without payloads.
    #[must_use]
    pub fn instantomr(payloads: bool) -> Self {
        if payloads {
            Self::Instantomr
        } else {
            Self::Instantomd
        }
    }

    /// Returns the engines of the scheme, in the order in which they divide a range.
    #[must_use]
    pub fn engines(self) -> &'static [EngineKind] {
        self.row().engines
    }

    /// Returns whether digests contain indices only.
    #[must_use]
    pub fn is_for_indices(self) -> bool {
        self.row().holds == Holds::Indices
    }

    /// Returns whether the file is one digest of payloads, which may contain fingerprints of clues.
    pub(crate) fn may_have_fingerprints(self) -> bool {
        self.row().holds == Holds::Payloads
    }

    /// Checks that a digest or session is of InstantOMR alone.
    ///
    /// Errors: `Scheme`.
    pub(crate) fn expect_instantomr(self) -> Result<(), DigestError> {
        if self.engines() == [EngineKind::Instantomr] {
            return Ok(());
        }
        Err(DigestError::Scheme(Mismatch::new(
            "instantomr or instantomd",
            self,
        )))
    }
}

impl Row {
    fn holds(&self, payloads: bool) -> bool {
        match self.holds {
            Holds::Payloads => payloads,
            Holds::Indices => !payloads,
            Holds::Either => true,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_found_by_its_number_its_name_and_its_engines() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::from_tag(scheme.tag()), Some(scheme));
            assert_eq!(scheme.name().parse(), Ok(scheme));
            let payloads = !scheme.is_for_indices();
            assert_eq!(Scheme::of_engines(scheme.engines(), payloads), Some(scheme));
        }
        assert_eq!((Scheme::from_tag(0), Scheme::from_tag(7)), (None, None));
        let both = [EngineKind::Instantomr, EngineKind::Sophomr];
        assert_eq!(
            [true, false].map(|payloads| Scheme::of_engines(&both, payloads)),
            [Some(Scheme::Hybrid); 2]
        );
        assert_eq!(Scheme::of_engines(&[], true), None);
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let error = "omr".parse::<Scheme>().unwrap_err().to_string();
        let expected = "expected scheme sophomr, sophomd, instantomr, instantomd, hybrid or two-rounds, found \"omr\"";
        assert_eq!(error, expected);
    }

    #[test]
    fn every_engine_has_a_key_file_of_its_own() {
        for engine in EngineKind::ALL {
            assert_eq!(EngineKind::of_key_file(engine.key_file()), Some(engine));
            assert_eq!(EngineKind::of_key_name(engine.key_name()), Some(engine));
            assert_eq!(EngineKind::from_tag(engine.tag()), Some(engine));
        }
        assert_eq!(EngineKind::of_key_file(Kind::Digest), None);
        assert_eq!(EngineKind::of_key_name("secret.key"), None);
        assert_eq!([0, 4].map(EngineKind::from_tag), [None; 2]);
    }
}

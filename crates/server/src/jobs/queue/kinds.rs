//! Sets of engines: those that a job needs, and those that a worker has.

use omr_protocol::EngineKind;

/// A set of kinds of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kinds(u8);

impl Default for Kinds {
    /// Returns the set of all engines.
    fn default() -> Self {
        Self::of(EngineKind::ALL)
    }
}

impl Kinds {
    pub(crate) fn of(kinds: impl IntoIterator<Item = EngineKind>) -> Self {
        let bits = kinds.into_iter().map(|kind| 1 << kind.tag());
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set includes all of `others`.
    pub(crate) fn include(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }
}

//! Sessions that several machines work on.

use super::Session;
use crate::{DetectorError, MessageSource, Progress};
use std::ops::Range;

impl Session {
    /// Adds a session over the messages that follow, made elsewhere with the same seed and plan but
    /// for its own messages: see [`Session::share`].
    ///
    /// Panics: when it does not follow, or is of another seed, plan or key.
    pub fn merge(&mut self, next: &Share) {
        assert_eq!(next.messages.start, self.next(), "messages that follow");
        assert_eq!(next.session.header.seed, self.header.seed, "one seed");
        assert_eq!(next.session.header.key_id, self.header.key_id, "one key");
        self.header.plan = self.header.plan.until(next.messages.end);
        self.log_hash = None;
        assert_eq!(next.session.header.plan, self.header.plan, "one plan");
        self.unusable_clues += next.session.unusable_clues;
        self.open_groups();
        let ring = &self.detector.params.ring;
        for (sums, other) in self.sums.iter_mut().zip(&next.session.sums) {
            sums.merge(ring, other);
        }
    }

    /// An empty session with the seed and the plan of this one that begins at a later message: another
    /// machine's share of the work.
    ///
    /// Panics: when the message lies before the plan's start.
    pub fn share(&self, first: u64) -> Share {
        let mut session = Self::new(self.detector.clone(), self.header.clone());
        session.room = self.room.clone();
        session.header.plan = session.header.plan.until(first);
        session.open_groups();
        Share {
            session,
            messages: first..first,
        }
    }
}

/// A share of a session's messages, looked at elsewhere.
pub struct Share {
    session: Session,
    messages: Range<u64>,
}

impl Share {
    /// Takes the messages up to `end` from a source.
    ///
    /// Errors: the source's.
    pub fn advance(
        &mut self,
        source: &mut dyn MessageSource,
        end: u64,
        progress: &dyn Progress,
    ) -> Result<(), DetectorError> {
        self.session
            .advance(source, end, progress, |_| Ok::<(), DetectorError>(()))?;
        self.messages.end = self.session.next();
        Ok(())
    }
}

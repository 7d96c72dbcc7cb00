//! Sessions that several machines compute together.

use super::Session;
use crate::{DetectorError, MessageSource, Progress};
use std::ops::Range;

impl Session {
    /// Adds a share of the messages that follow, made on another machine with the same seed and plan: see
    /// [`Session::share`].
    ///
    /// Panics: if the share does not begin at the next message, or has another seed, plan or key.
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

    /// Returns an empty share with this session's seed and plan, for another machine. It begins at message `first`.
    ///
    /// Panics: if the message is before the plan's start.
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

/// A share of a session's messages, which another machine scans.
pub struct Share {
    session: Session,
    messages: Range<u64>,
}

impl Share {
    /// Scans the messages of a source up to `end`.
    ///
    /// Errors: those of [`Session::advance`].
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

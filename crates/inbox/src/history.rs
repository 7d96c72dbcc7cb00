//! The histories of a board. The running hash of the board's log shows that a server was restored from a backup, or
//! shows different boards to different people.
//!
//! An inbox keeps marks: lengths of the board, each with the running hash of the log there (`docs/wire.md`, section
//! 11). Every fetch requests the hashes at the lengths of all marks. The messages up to the greatest mark that agrees
//! have not changed; where a later mark does not agree, the fetch goes back to the one that agrees, so that the
//! messages that are now on the board are requested, and the inbox remembers the fork.
//!
//! The lengths follow from those that the board had at earlier fetches: they do not depend on the content of digests.

use crate::call::Board;
use crate::canary;
use crate::job::Job;
use crate::kept;
use crate::requests::{add, remove};
use crate::span;
use crate::storage::{Edit, Look, Storage};
use crate::table::{FORKS, HEADS, JOBS, MARKS, Number, OPEN, SESSION};
use crate::{Inbox, InboxError, received, waiting, withdrawn};
use omr_protocol::Stride;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// The running hash of a log.
pub(crate) type Hash = [u8; 32];

/// The most marks that are kept.
const MARKS_KEPT: usize = 32;
/// The ratio of the distances of the marks that the first fetch asks for, from the first message that it asks for.
const FIRST_STEPS: u64 = 4;

/// A change of a board's history that a fetch found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The fetch went back to this length: the messages before it are the ones seen earlier.
    pub common: u64,
    /// The greatest length at which the board had been seen.
    pub seen: u64,
    /// The board's length when the fork was found.
    pub messages: u64,
    /// True where the board is shorter than it was, or has another hash. False where the server does not show the hash at
    /// a length that the board has.
    pub differs: bool,
    /// Whether [`Inbox::new_forks`] returned it.
    reported: bool,
}

impl Display for Fork {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            common,
            seen,
            messages,
            ..
        } = self;
        if self.differs {
            write!(
                f,
                "the board has another history than the one that was fetched before"
            )?
        } else {
            write!(
                f,
                "the server does not show that the board is the one that was fetched before"
            )?
        }
        write!(
            f,
            " ({seen} messages had been seen, it has {messages}): messages from {common} on are fetched again. A server \
             that was restored from an older backup does this, and one that shows different boards to different people. \
             Letters that came before stay; who wrote one lately may have to send it again"
        )
    }
}

/// A length of a board that an inbox has seen, and the running hash of the log there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The length.
    pub length: u64,
    /// The running hash.
    pub hash: Hash,
}

impl<S: Storage> Inbox<S> {
    /// Returns the marks, shortest length first: two inboxes of one board compare them.
    ///
    /// Errors: those of the storage.
    pub fn marks(&self) -> Result<Vec<Mark>, S::Error> {
        let all = self.store.read(|tx| HEADS.all(tx))?.into_iter();
        Ok(all.map(|(length, hash)| Mark { length, hash }).collect())
    }

    /// Returns all forks that fetches found, oldest first.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn forks(&self) -> Result<Vec<Fork>, S::Error> {
        let all = self.store.read(|tx| FORKS.all(tx))?;
        Ok(all.into_iter().map(|(_, fork)| fork).collect())
    }

    /// Returns the forks that this function did not return before.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn new_forks(&self) -> Result<Vec<Fork>, S::Error> {
        let known = self.store.read(|tx| FORKS.all(tx))?;
        if known.iter().all(|(_, fork)| fork.reported) {
            return Ok(Vec::new());
        }
        self.store.write(|tx| {
            let mut new = Vec::new();
            for (number, fork) in FORKS.all(tx)? {
                if !fork.reported {
                    let reported = Fork {
                        reported: true,
                        ..fork.clone()
                    };
                    FORKS.put(tx, &number, &reported)?;
                    new.push(fork);
                }
            }
            Ok(new)
        })
    }
}

/// Returns the lengths at which a fetch requests running hashes.
pub(crate) fn lengths<T: Look>(tx: &T) -> Result<Vec<u64>, T::Error> {
    let mut lengths: Vec<u64> = HEADS.all(tx)?.into_iter().map(|(at, _)| at).collect();
    if lengths.len() < 2 {
        // Before the first fetch: marks before the first requested message show later where a fork is.
        let cursor = Number::Cursor.get(tx)?;
        lengths.extend([0, cursor]);
        let mut step = 1u64;
        while step < cursor {
            lengths.push(cursor - step);
            step = step.saturating_mul(FIRST_STEPS);
        }
        lengths.sort_unstable();
        lengths.dedup();
    }
    Ok(lengths)
}

/// Compares the marks with the hashes that a server shows, goes back to the last mark that agrees where one does not,
/// and marks the board's length. `board` is the answer to a request with [`lengths`].
pub(crate) fn meet<T: Edit>(tx: &mut T, board: &Board) -> Result<(), T::Error> {
    let (first, end) = (board.messages.start, board.messages.end);
    let marks = HEADS.all(tx)?;
    // No server can show the hashes before the first message that is kept. If no other mark agrees, the messages before
    // it may be of another history, too: they count as missed.
    let shown = marks.iter().filter(|(length, _)| *length >= first);
    let mut common = 0;
    let mut forked = None;
    for (length, hash) in shown {
        let now = board.hash_at(*length);
        if now != Some(*hash) {
            forked = Some(*length > end || now.is_some());
            // This mark may lie at the first message, where going back keeps it, and would be found again at every
            // fetch.
            HEADS.remove(tx, length)?;
            break;
        }
        common = *length;
    }
    let seen = marks.last().map_or(0, |(length, _)| *length);
    let cursor = Number::Cursor.get(tx)?;
    if forked.is_none() && cursor > end {
        forked = Some(true);
    }
    if let Some(differs) = forked {
        let common = common.min(end);
        go_back(tx, common)?;
        let fork = Fork {
            common,
            seen: seen.max(cursor),
            messages: end,
            differs,
            reported: false,
        };
        let number = FORKS.next_number(tx)?;
        FORKS.put(tx, &number, &fork)?;
    }
    // A restore may have brought expired messages back.
    Number::First.set(tx, first)?;
    for (length, hash) in &board.log.hashes {
        HEADS.put(tx, length, hash)?;
    }
    HEADS.put(tx, &end, &board.log.hash)?;
    thin(tx)
}

/// Marks the end of a digest with the running hash that the server stated for it.
pub(crate) fn mark<T: Edit>(tx: &mut T, length: u64, hash: &Hash) -> Result<(), T::Error> {
    HEADS.put(tx, &length, hash)?;
    thin(tx)
}

/// Removes marks until at most [`MARKS_KEPT`] are left. They are closer together near the last one: a new fork then
/// costs few messages, and old forks are still found.
fn thin<T: Edit>(tx: &mut T) -> Result<(), T::Error> {
    let mut lengths: Vec<u64> = HEADS.all(tx)?.into_iter().map(|(at, _)| at).collect();
    while lengths.len() > MARKS_KEPT {
        let end = lengths[lengths.len() - 1];
        // The gap that removing a mark leaves, relative to its distance from the end.
        let gap = |at: &usize| {
            let gap = (lengths[at + 1] - lengths[at - 1]) as f64;
            gap / (end - lengths[*at]) as f64
        };
        let inner = 1..lengths.len() - 1;
        let least = inner.min_by(|one, other| gap(one).total_cmp(&gap(other)));
        let Some(at) = least else { break };
        HEADS.remove(tx, &lengths.remove(at))?;
    }
    Ok(())
}

/// Has all messages from `common` on requested again, and removes the notes about them. Received letters stay.
fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    for number in [Number::Cursor, Number::Length] {
        let at = number.get(tx)?;
        number.set(tx, at.min(common))?;
    }
    HEADS.clear(tx, common + 1..=u64::MAX)?;
    received::go_back(tx)?;
    for (turn, length) in MARKS.all(tx)? {
        MARKS.put(tx, &turn, &length.min(common))?;
    }
    for (at, job) in JOBS.all(tx)? {
        if job.end > common {
            cut_short(tx, at, job, common)?;
        }
    }
    span::go_back(tx, common)?;
    waiting::retain(tx, |index| index < common)?;
    kept::go_back(tx, common)?;
    canary::go_back(tx, common)?;
    withdrawn::go_back(tx, common)?;
    if let Some(session) = SESSION.get(tx, &OPEN)?
        && session.next > common
    {
        SESSION.put(tx, &OPEN, &session.ended())?;
    }
    Ok(())
}

/// Shortens a request that covers messages beyond a fork. If its digest was received, its letters are taken in, but
/// only its messages before the fork count as covered; if not, it requests only those.
fn cut_short<T: Edit>(tx: &mut T, at: u64, job: Job, common: u64) -> Result<(), T::Error> {
    if job.fetched {
        let fork = Some(job.fork.unwrap_or(common).min(common));
        return JOBS.put(tx, &at, &Job { fork, ..job });
    }
    remove(tx, at, &job)?;
    if let Some(rest) = before(&job.stride(), common) {
        add(tx, &job.rest(rest))?;
    }
    Ok(())
}

/// Returns the messages of a stride before `end`.
pub(crate) fn before(of: &Stride, end: u64) -> Option<Stride> {
    let range = of.start..of.end.min(end);
    (!range.is_empty()).then(|| Stride::new(range, of.step()))
}

/// Returns whether a digest with this running hash at `end` has the history of the mark there; true where one of them
/// is unknown.
pub(crate) fn agrees<T: Look>(tx: &T, end: u64, hash: Option<&Hash>) -> Result<bool, T::Error> {
    let mark = HEADS.get(tx, &end)?;
    Ok(mark
        .as_ref()
        .zip(hash)
        .is_none_or(|(mark, hash)| mark == hash))
}

/// Returns the error for a digest that has another history than the board for which it was requested.
pub(crate) fn other_history(call: &'static str, end: u64) -> InboxError {
    let expected = format!("a digest of the board as it was described, up to message {end}");
    InboxError::answer(call, expected, "one of another history of the board")
}

#[cfg(test)]
mod tests {
    use crate::{Inbox, InboxError, Memory};

    #[test]
    fn a_mark_at_the_first_message_that_is_not_shown_is_reported_once() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let requests = inbox.requests();
        requests.meet(&crate::model::board(0..7), 3).unwrap();
        let mut board = crate::model::board(7..9);
        board.log.hashes.clear();
        for forks in [1, 0, 0] {
            requests.meet(&board, 3).unwrap();
            let new = inbox.new_forks().unwrap();
            assert_eq!(new.len(), forks, "{new:?}");
        }
        let all = inbox.forks().unwrap();
        let [fork] = &all[..] else {
            panic!("{all:?}");
        };
        assert_eq!((fork.common, fork.seen, fork.messages), (0, 7, 9));
        assert!(!fork.differs);
    }
}

//! The network half's view of an inbox: requests. Nothing here can name a message.

use crate::call::Board;
use crate::expired;
use crate::history::{self, Hash};
use crate::job::{Form, Job, Kind, Session, random_id};
use crate::kept::{self, Kept};
use crate::received;
use crate::schedule::{self, Spare};
use crate::span;
use crate::storage::{Edit, Storage};
use crate::table::{DIGESTS, JOBS, MARKS, Number, OPEN, ORDERS, QUERIES, SEED, SESSION};
use omr_protocol::Stride;
use std::ops::Range;

/// The number of failures after which a spare request or a fetch is given up: this alone loses no message.
const TRIES: u32 = 3;

/// The state of requests: ranges, ids and undecoded digests.
pub struct Requests<'a, S> {
    store: &'a S,
}

impl<S> Clone for Requests<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Requests<'_, S> {}

impl<'a, S: Storage> Requests<'a, S> {
    pub(crate) fn new(store: &'a S) -> Self {
        Self { store }
    }

    /// Returns the first message that was never requested.
    ///
    /// Errors: those of the storage.
    pub fn cursor(&self) -> Result<u64, S::Error> {
        self.store.read(|tx| Number::Cursor.get(tx))
    }

    /// Returns the lengths at which the next description of the board should have running hashes of the log.
    pub(crate) fn lengths(&self) -> Result<Vec<u64>, S::Error> {
        self.store.read(|tx| history::lengths(tx))
    }

    /// Compares the board with its earlier states, then records requests for all messages from the cursor to its end
    /// and the spare request or the fetches whose turn it is, and moves the cursor to the end. This depends only on the board, on its
    /// states at earlier calls and on their number. Returns the ranges that expired before they were fetched.
    pub(crate) fn plan(&self, board: &Board, form: &Form) -> Result<Vec<Range<u64>>, S::Error> {
        let messages = board.messages.end;
        self.store.write(|tx| {
            history::meet(tx, board)?;
            let missed = expired::begin_at(tx, board.messages.start, form.bound)?;
            received::note(tx, board)?;
            let (cursor, turn) = (Number::Cursor.get(tx)?, Number::Turn.get(tx)?);
            let whole = form.batches.map(|batches| batches.whole(messages));
            let messages = whole.unwrap_or(messages).max(cursor);
            let mut jobs = form.pieces(cursor..messages);
            for job in &mut jobs {
                job.turn = Some(turn);
                add(tx, job)?;
            }
            Number::Cursor.set(tx, messages)?;
            if let Some(sizes) = &form.rounds {
                span::plan(tx, messages, &jobs, sizes)?;
            }
            plan_spare(tx, messages, form)?;
            Ok(missed)
        })
    }

    /// Returns the random seed of the ids of the inbox's orders, which is made once.
    pub(crate) fn order_seed(&self) -> Result<[u8; 16], S::Error> {
        self.store.write(|tx| {
            if let Some(seed) = ORDERS.get(tx, &SEED)? {
                return Ok(seed);
            }
            let seed = random_id();
            ORDERS.put(tx, &SEED, &seed)?;
            Ok(seed)
        })
    }

    /// Compares the board with its earlier states, and records where it begins. Returns the ranges that expired before
    /// they were fetched.
    pub(crate) fn meet(&self, board: &Board, bound: u32) -> Result<Vec<Range<u64>>, S::Error> {
        self.store.write(|tx| {
            history::meet(tx, board)?;
            received::note(tx, board)?;
            expired::begin_at(tx, board.messages.start, bound)
        })
    }

    /// Returns whether the digest of a request has the history of the board that was described.
    pub(crate) fn agrees(&self, job: &Job, hash: Option<&Hash>) -> Result<bool, S::Error> {
        self.store.read(|tx| history::agrees(tx, job.end, hash))
    }

    /// Returns the requests without a digest, scan or answer, oldest first; fetches come after all others.
    pub(crate) fn open(&self) -> Result<Vec<(u64, Job)>, S::Error> {
        let mut jobs = self.store.read(|tx| JOBS.all(tx))?;
        jobs.retain(|(_, job)| !job.fetched);
        jobs.sort_by_key(|(_, job)| job.kind == Kind::Fetch);
        Ok(jobs)
    }

    /// Returns the file of the query of a fetch, once it was made.
    pub(crate) fn query(&self, number: u64) -> Result<Option<Vec<u8>>, S::Error> {
        self.store.read(|tx| QUERIES.get(tx, &number))
    }

    /// Returns whether there is a request of this number.
    pub(crate) fn has(&self, number: u64) -> Result<bool, S::Error> {
        self.store.read(|tx| JOBS.has(tx, &number))
    }

    /// Keeps a digest as it was received, unless its request was removed meanwhile.
    pub(crate) fn keep(&self, number: u64, digest: &Vec<u8>) -> Result<(), S::Error> {
        self.store
            .write(|tx| match change(tx, number, |job| job.fetched = true)? {
                Some(_) => DIGESTS.put(tx, &number, digest),
                None => Ok(()),
            })
    }

    /// Gives a request that the server no longer knows another id, and a fetch another query.
    pub(crate) fn renew(&self, number: u64) -> Result<(), S::Error> {
        self.store.write(|tx| renew(tx, number, 0).map(drop))
    }

    /// Handles a request that the server gave up: it is repeated with another id, and a fetch with another query; a spare
    /// request or a fetch is removed after [`TRIES`] failures.
    pub(crate) fn failed(&self, number: u64) -> Result<(), S::Error> {
        self.store.write(|tx| match renew(tx, number, 1)? {
            Some(job) if job.is_spare() && job.failures >= TRIES => give_up(tx, number, &job),
            _ => Ok(()),
        })
    }

    /// Removes a request that the server refused for good, and keeps its range unless it is a fetch.
    pub(crate) fn refused(&self, number: u64, reason: &str) -> Result<(), S::Error> {
        self.store.write(|tx| {
            let Some(job) = JOBS.get(tx, &number)? else {
                return Ok(());
            };
            if job.kind == Kind::Fetch {
                return give_up(tx, number, &job);
            }
            JOBS.remove(tx, &number)?;
            kept::refused(tx, number, &job, reason)
        })
    }

    /// Forgets the open session because another copy of this inbox uses it, without a call to the server.
    ///
    /// Errors: those of the storage.
    pub fn forget_session(&self) -> Result<(), S::Error> {
        self.set_session(None)
    }

    pub(crate) fn session(&self) -> Result<Option<Session>, S::Error> {
        self.store.read(|tx| SESSION.get(tx, &OPEN))
    }

    pub(crate) fn set_session(&self, session: Option<&Session>) -> Result<(), S::Error> {
        self.store.write(|tx| match session {
            Some(session) => SESSION.put(tx, &OPEN, session),
            None => SESSION.remove(tx, &OPEN),
        })
    }

    /// Keeps a digest of a session as the answer to a request that needs no call, marks its end with the running hash
    /// that the server stated, and records the spare request whose turn it is.
    pub(crate) fn keep_cut(
        &self,
        session: &Session,
        range: Range<u64>,
        form: &Form,
        digest: &Vec<u8>,
        log_hash: Option<&Hash>,
    ) -> Result<(), S::Error> {
        self.store.write(|tx| {
            if let Some(hash) = log_hash {
                history::mark(tx, range.end, hash)?;
            }
            let (cursor, turn) = (Number::Cursor.get(tx)?, Number::Turn.get(tx)?);
            let end = cursor.max(range.end);
            if !range.is_empty() {
                let mut job = Job::new(Stride::new(range, 1), form.bound);
                (job.fetched, job.turn) = (true, Some(turn));
                let number = add(tx, &job)?;
                DIGESTS.put(tx, &number, digest)?;
                Number::Cursor.set(tx, end)?;
            }
            SESSION.put(tx, &OPEN, session)?;
            plan_spare(tx, end, form)
        })
    }
}

/// Records the spare request of this fetch, which covers the board up to `messages`, and that it was made.
fn plan_spare<T: Edit>(tx: &mut T, messages: u64, form: &Form) -> Result<(), T::Error> {
    let turn = Number::Turn.get(tx)?;
    let (length, kept_from) = (Number::Length.get(tx)?, Number::First.get(tx)?);
    MARKS.put(tx, &turn, &length)?;
    if let Some(older) = (turn + 1).checked_sub(schedule::fetches(schedule::MAX_LEVELS) + 1) {
        MARKS.clear(tx, 0..=older)?;
    }
    let spare = Spare::new(turn, form.levels);
    let from = spare.map(|spare| (turn + 1).saturating_sub(spare.fetches));
    // Covers all fetches where there were fewer.
    let marks = MARKS.range(tx, from.unwrap_or(turn)..=turn)?;
    let first = marks.first().map(|(_, length)| *length.max(&kept_from));
    if let Some((spare, first)) = spare.zip(first)
        && first < messages
    {
        for of in spare.of(first..messages).pieces(form.most) {
            let mut job = Job::new(of, form.bound);
            (job.spare, job.turn) = (true, Some(turn));
            add(tx, &job)?;
        }
    }
    Number::Turn.set(tx, turn + 1)?;
    Number::Length.set(tx, messages.max(length))?;
    Number::Levels.set(tx, u64::from(form.levels))
}

/// Removes a request without an answer, and the query of a fetch.
pub(crate) fn remove<T: Edit>(tx: &mut T, number: u64, job: &Job) -> Result<(), T::Error> {
    if job.kind == Kind::Fetch {
        QUERIES.remove(tx, &number)?;
    }
    JOBS.remove(tx, &number)
}

/// Removes a request whose messages other requests bring.
fn give_up<T: Edit>(tx: &mut T, number: u64, job: &Job) -> Result<(), T::Error> {
    remove(tx, number, job)?;
    match job.again {
        Some(place) => kept::given_up(tx, place),
        None => Ok(()),
    }
}

/// Gives a request another id, so that a fetch needs another query, and adds to its number of failures. Returns the
/// changed request.
fn renew<T: Edit>(tx: &mut T, number: u64, failures: u32) -> Result<Option<Job>, T::Error> {
    let id = random_id();
    let renewed = change(tx, number, |job| {
        job.request_id = id;
        job.failures += failures;
    })?;
    if renewed.as_ref().is_some_and(|job| job.kind == Kind::Fetch) {
        QUERIES.remove(tx, &number)?;
    }
    Ok(renewed)
}

/// Changes a request, if there is one of this number. Returns the changed request.
fn change<T: Edit>(
    tx: &mut T,
    number: u64,
    change: impl FnOnce(&mut Job),
) -> Result<Option<Job>, T::Error> {
    let Some(mut job) = JOBS.get(tx, &number)? else {
        return Ok(None);
    };
    change(&mut job);
    JOBS.put(tx, &number, &job)?;
    Ok(Some(job))
}

/// Returns a number that no request and no kept range ever had.
pub(crate) fn fresh<T: Edit>(tx: &mut T) -> Result<u64, T::Error> {
    let next = Number::NextJob.get(tx)?.max(1);
    Number::NextJob.set(tx, next + 1)?;
    Ok(next)
}

/// Adds a request. Returns its number.
pub(crate) fn add<T: Edit>(tx: &mut T, job: &Job) -> Result<u64, T::Error> {
    let number = fresh(tx)?;
    JOBS.put(tx, &number, job)?;
    Ok(number)
}

/// Requests a kept range again, unless an answer is awaited. Returns whether it did.
pub(crate) fn ask_again<T: Edit>(
    tx: &mut T,
    number: u64,
    kept: &mut Kept,
    bound: u32,
) -> Result<bool, T::Error> {
    if kept.asked_again {
        return Ok(false);
    }
    kept.asked_again = true;
    add_again(tx, Stride::new(kept.range(), 1), bound, Some(number))?;
    Ok(true)
}

/// Requests messages again, in the rounds of the last fetch. `again` is the number of the kept range that has them.
pub(crate) fn add_again<T: Edit>(
    tx: &mut T,
    of: Stride,
    bound: u32,
    again: Option<u64>,
) -> Result<(), T::Error> {
    let short = Number::Short.get(tx)?;
    if short == 0 {
        let digest = Job::new(of, bound);
        return add(tx, &Job { again, ..digest }).map(drop);
    }
    let scan = Job::of_kind(Kind::Scan, of);
    add(tx, &Job { again, ..scan })?;
    let range = of.start..of.end;
    if span::is_long(&range, short) {
        span::extend(tx, &range)?;
        let most = Number::Most.get(tx)?.max(1);
        for piece in of.pieces(most) {
            let fetch = Job::of_kind(Kind::Fetch, piece);
            add(tx, &Job { again, ..fetch })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Content, Decoded, Received};
    use crate::{Inbox, InboxError, Memory};

    const FORM: Form = Form {
        bound: 3,
        most: 100,
        levels: 0,
        batches: None,
        rounds: None,
    };

    fn damaged(received: &Received) -> Content {
        let damaged = Decoded::damaged(received.job.stride(), "damaged".to_owned());
        Content::Digest(damaged)
    }

    #[test]
    fn a_digest_that_is_not_wanted_any_more_holds_up_no_other() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let requests = inbox.requests();
        let next = |length| {
            requests
                .plan(&crate::model::board(0..length), &FORM)
                .unwrap();
            requests.open().unwrap()[0].0
        };
        let dropped = next(5);
        assert_eq!(inbox.drop_range(0..5).unwrap(), (0, 1));
        requests.keep(dropped, &vec![1]).unwrap();
        requests.keep(next(9), &vec![2]).unwrap();
        let mut seen = Vec::new();
        let take = |received: &Received| {
            let job = &received.job;
            seen.push((job.start, job.end, received.file.clone()));
            damaged(received)
        };
        assert!(inbox.take_unsigned(take).unwrap().is_some());
        assert_eq!(seen, [(5, 9, vec![2])]);
        assert_eq!(inbox.pending().unwrap(), 0);
    }

    #[test]
    fn a_digest_that_is_taken_in_or_dropped_while_it_is_decoded_counts_once() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let requests = inbox.requests();
        requests.plan(&crate::model::board(0..5), &FORM).unwrap();
        requests
            .keep(requests.open().unwrap()[0].0, &vec![1])
            .unwrap();
        let twice = inbox.take_unsigned(|received| {
            let other = inbox.take_unsigned(damaged).unwrap();
            assert_eq!(other.unwrap().len(), 1);
            damaged(received)
        });
        assert_eq!(twice.unwrap(), Some(Vec::new()));
        assert_eq!(inbox.kept().unwrap().len(), 1);
        requests.plan(&crate::model::board(0..9), &FORM).unwrap();
        requests
            .keep(requests.open().unwrap()[0].0, &vec![2])
            .unwrap();
        let dropped = inbox.take_unsigned(|received| {
            assert_eq!(inbox.drop_range(5..9).unwrap(), (0, 1));
            damaged(received)
        });
        assert_eq!(dropped.unwrap(), Some(Vec::new()));
        assert_eq!(inbox.kept().unwrap().len(), 1);
        assert_eq!(
            inbox.take_unsigned(|_| panic!("none is here")).unwrap(),
            None
        );
    }
}

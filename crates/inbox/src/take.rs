//! Takes in collected digests, scans and answers: decodes them, opens the payloads, puts letters together and adds them to
//! the list, without a connection.

use crate::Inbox;
use crate::canary;
use crate::decode::{Answered, Content, Decoded, Found, Reader, Received};
use crate::delete::next_number;
use crate::header::Heading;
use crate::history::before;
use crate::job::{Job, Kind};
use crate::kept::{self, Kept};
use crate::mute::is_muted;
use crate::requests;
use crate::storage::{Edit, Look, Storage};
use crate::table::{BODIES, COPIES, DIGESTS, JOBS, MESSAGES, PIECES, QUERIES, SEEN, UNOPENED};
use crate::view::Record;
use crate::{waiting, withdrawn};
use omr_client::fragment::{FragmentError, Reassembler, Whole};
use omr_client::header::Addressee;
use omr_client::letter::Piece;
use omr_protocol::Stride;
use std::collections::BTreeSet;
use std::ops::Range;

/// The result of decoding one digest, scan or answer, or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The messages that it covers.
    pub range: Range<u64>,
    /// The outcome.
    pub outcome: Outcome,
}

impl Taken {
    /// Removes the numbers of letters that are reported to nobody.
    pub fn leave_out(&mut self, letters: &BTreeSet<u64>) {
        if let Outcome::Delivered { messages, .. } = &mut self.outcome {
            messages.retain(|number| !letters.contains(number));
        }
    }
}

/// The outcome of decoding a digest, a scan or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was decoded. A scan without payloads has no messages here: they wait ([`Inbox::waiting`]).
    Delivered {
        /// The numbers of the messages that are new and complete, without those of muted senders.
        messages: Vec<u64>,
        /// The number of payloads that could not be opened.
        unopened: usize,
    },
    /// The range is kept: it contains more messages for the recipient than the bound, was damaged, or has messages that
    /// waited until no fetch covered them any more. Parts of a hybrid digest may be kept. The range of a spare request is
    /// never kept: no message depends on it alone.
    Kept(Kept),
    /// The answer to a query, or a part of it, cannot be read, for this reason. No message is lost: those that it should
    /// have contained wait for the next fetch.
    Unanswered(String),
}

/// The circumstances in which messages are taken in.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    /// The recipient for whom signatures must be.
    pub(crate) to: &'a Addressee,
    /// The time in seconds since 1970.
    pub(crate) now: u64,
}

impl<S: Storage> Inbox<S> {
    /// Decodes every received digest, scan and answer, oldest first; each in one transaction, so that a message is
    /// delivered once however often this is interrupted. Then keeps the ranges of waiting messages that no fetch covers
    /// any more. `now` is the time in seconds since 1970.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn take_in(&self, reader: &Reader, now: u64) -> Result<Vec<Taken>, S::Error> {
        let mut taken = Vec::new();
        while let Some(outcomes) = self.take_one(reader, now)? {
            taken.extend(outcomes);
        }
        Ok(taken)
    }

    /// Decodes the oldest received digest, scan or answer, or keeps the ranges of waiting messages that no fetch covers any
    /// more; returns `None` where there is nothing to do.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn take_one(&self, reader: &Reader, now: u64) -> Result<Option<Vec<Taken>>, S::Error> {
        reader.at(now);
        let to = reader.addressee();
        self.take_next(|received| reader.decode(received), Arrival { to, now })
    }

    pub(crate) fn take_next(
        &self,
        decode: impl FnOnce(&Received) -> Content,
        arrival: Arrival<'_>,
    ) -> Result<Option<Vec<Taken>>, S::Error> {
        let Some((number, received)) = self.store.read(|tx| first_received(tx))? else {
            return self.leave();
        };
        let content = decode(&received);
        let outcomes = self.store.write(|tx| {
            // Another process may have taken the digest in meanwhile, or removed it: its content then counts no more.
            if DIGESTS.get(tx, &number)?.as_ref() != Some(&received.file) {
                return Ok(Vec::new());
            }
            let job = &received.job;
            requests::remove(tx, number, job)?;
            DIGESTS.remove(tx, &number)?;
            match content {
                Content::Digest(decoded) => take(tx, number, job, decoded, arrival),
                Content::Scan(indices) => take_scan(tx, number, job, indices),
                Content::Answer(answered) => take_answer(tx, job, answered, arrival),
            }
        })?;
        Ok(Some(outcomes))
    }

    /// Keeps the ranges of the waiting messages that no fetch covers any more; returns `None` if there are none.
    fn leave(&self) -> Result<Option<Vec<Taken>>, S::Error> {
        if self.store.read(|tx| waiting::left(tx))?.is_empty() {
            return Ok(None);
        }
        let ranges = self.store.write(|tx| waiting::leave(tx))?.into_iter();
        let taken = ranges.map(|kept| Taken {
            range: kept.range(),
            outcome: Outcome::Kept(kept),
        });
        Ok(Some(taken.collect()))
    }
}

/// Returns the oldest digest, scan or answer that was received, with the number of its request.
fn first_received<T: Look>(tx: &T) -> Result<Option<(u64, Received)>, T::Error> {
    let Some((number, file)) = DIGESTS.first(tx)? else {
        return Ok(None);
    };
    let Some(job) = JOBS.get(tx, &number)? else {
        return Ok(None);
    };
    let (mut query, mut waiting) = (Vec::new(), Vec::new());
    if job.kind == Kind::Fetch {
        query = QUERIES.get(tx, &number)?.unwrap_or_default();
        waiting = waiting::within(tx, &(job.start..job.end))?;
    }
    let received = Received {
        job,
        file,
        query,
        waiting,
    };
    Ok(Some((number, received)))
}

/// Takes in a scan without payloads: its messages wait for fetches.
fn take_scan<T: Edit>(
    tx: &mut T,
    number: u64,
    job: &Job,
    indices: Vec<u64>,
) -> Result<Vec<Taken>, T::Error> {
    let fork = job.fork.unwrap_or(u64::MAX);
    let Some(of) = before(&job.stride(), fork) else {
        return Ok(Vec::new());
    };
    let found: BTreeSet<u64> = indices.iter().copied().collect();
    canary::assess(tx, &[of], &found)?;
    waiting::begin(tx, number, job, indices)?;
    // The messages count as received when an answer contains them.
    kept::note_read(tx, number, job, &of, &[])?;
    let outcome = Outcome::Delivered {
        messages: Vec::new(),
        unopened: 0,
    };
    let range = of.start..of.end;
    Ok(vec![Taken { range, outcome }])
}

/// Takes in the answer to a query. Messages that it does not contain go on waiting.
fn take_answer<T: Edit>(
    tx: &mut T,
    job: &Job,
    answered: Answered,
    arrival: Arrival<'_>,
) -> Result<Vec<Taken>, T::Error> {
    let range = job.start..job.end;
    let mut taken = Vec::new();
    // Messages of a history that the server no longer shows do not count for the messages that are there now.
    let fork = job.fork.unwrap_or(u64::MAX);
    let mut arrived = answered.arrived;
    let is_empty = arrived.is_empty();
    arrived.retain(|index| *index < fork);
    let single = |index: &u64| Stride::new(*index..index + 1, 1);
    let covered: Vec<Stride> = arrived.iter().map(single).collect();
    let outcome = deliver(tx, &covered, answered.found, fork, arrival)?;
    waiting::retain(tx, |index| !arrived.contains(&index))?;
    kept::note_arrived(tx, &arrived)?;
    if !is_empty || answered.damage.is_none() {
        let range = range.clone();
        taken.push(Taken { range, outcome });
    }
    if let Some(reason) = answered.damage {
        let outcome = Outcome::Unanswered(reason);
        taken.push(Taken { range, outcome });
    }
    Ok(taken)
}

/// Takes in the content of a digest, and keeps the ranges that did not decode.
fn take<T: Edit>(
    tx: &mut T,
    number: u64,
    job: &Job,
    decoded: Decoded,
    arrival: Arrival<'_>,
) -> Result<Vec<Taken>, T::Error> {
    let mut taken = Vec::new();
    // Messages of a history that the server no longer shows do not count for the messages that are there now.
    let fork = job.fork.unwrap_or(u64::MAX);
    let counts = |of: &Stride| before(of, fork);
    if !decoded.read.is_empty() {
        let covered: Vec<Stride> = decoded
            .read
            .iter()
            .filter_map(|(of, _)| counts(of))
            .collect();
        let outcome = deliver(tx, &covered, decoded.found, fork, arrival)?;
        let start = covered.iter().map(|of| of.start).min();
        let end = covered.iter().map(|of| of.end).max();
        let range = start.unwrap_or(job.start)..end.unwrap_or(job.end);
        taken.push(Taken { range, outcome });
    }
    for (of, found) in &decoded.read {
        let Some(of) = counts(of) else { continue };
        let before_fork: Vec<u64> = found
            .iter()
            .copied()
            .filter(|index| *index < fork)
            .collect();
        // A scan of other messages, which was requested with them, may have found some of them too.
        waiting::retain(tx, |index| !before_fork.contains(&index))?;
        kept::note_read(tx, number, job, &of, &before_fork)?;
    }
    for mut failure in decoded.failed {
        let Some(of) = counts(&failure.of) else {
            continue;
        };
        failure.exact &= of == failure.of;
        failure.of = of;
        let range = failure.of.start..failure.of.end;
        if let Some(kept) = kept::keep(tx, number, job, failure)? {
            let outcome = Outcome::Kept(kept);
            taken.push(Taken { range, outcome });
        }
    }
    Ok(taken)
}

/// Takes in payloads. The board no longer has those from `fork` on.
fn deliver<T: Edit>(
    tx: &mut T,
    covered: &[Stride],
    found: Vec<Found>,
    fork: u64,
    arrival: Arrival<'_>,
) -> Result<Outcome, T::Error> {
    let (mut added, mut unopened) = (Vec::new(), 0);
    let mut canaries = BTreeSet::new();
    let mut files = BTreeSet::new();
    for found in found {
        let is_new = is_new(tx, &found, fork)?;
        let Found { index, piece, .. } = found;
        if let Ok(Piece::Whole(whole)) = &piece
            && canary::returned(tx, &whole.bytes, index)?
        {
            canaries.insert(index);
            continue;
        }
        if !is_new {
            continue;
        }
        match piece {
            Ok(Piece::Whole(whole)) => added.push(add_message(tx, &[index], whole, arrival)?),
            Ok(Piece::PartOf(id, part)) => {
                let id = u64::from_le_bytes(id);
                PIECES.put(tx, &(id, index), &part)?;
                files.insert(id);
            }
            Err(reason) => {
                unopened += 1;
                UNOPENED.put(tx, &index, &reason.into_bytes())?;
            }
        }
    }
    for id in files {
        added.extend(put_together(tx, id, arrival)?);
    }
    canary::assess(tx, covered, &canaries)?;
    withdrawn::mark(tx, &added, fork)?;
    let mut messages = Vec::new();
    for number in added {
        // Those of muted senders are not reported.
        if MESSAGES
            .get(tx, &number)?
            .is_some_and(|record| !record.read)
        {
            messages.push(number);
        }
    }
    Ok(Outcome::Delivered { messages, unopened })
}

/// Returns whether this payload was not received before: neither from its place nor, if it is sealed, from another. It
/// counts as received from now on.
fn is_new<T: Edit>(tx: &mut T, found: &Found, fork: u64) -> Result<bool, T::Error> {
    let Found { index, hash, .. } = found;
    let mut seen = SEEN.get(tx, index)?.unwrap_or_default();
    let is_on_board = *index < fork;
    if seen.contains(hash) {
        if is_on_board {
            withdrawn::came_back(tx, hash, *index, *index)?;
        }
        return Ok(false);
    }
    seen.push(*hash);
    SEEN.put(tx, index, &seen)?;
    if !found.sealed {
        return Ok(true);
    }
    let key = hash.to_vec();
    let before = COPIES.get(tx, &key)?;
    COPIES.put(tx, &key, index)?;
    if let Some(before) = before.filter(|_| is_on_board) {
        withdrawn::came_back(tx, hash, before, *index)?;
    }
    Ok(before.is_none())
}

/// Adds a message whose payloads are at these places, at least one; as read, if its sender is muted. Returns its number.
fn add_message<T: Edit>(
    tx: &mut T,
    places: &[u64],
    whole: Whole,
    arrival: Arrival<'_>,
) -> Result<u64, T::Error> {
    let header = Heading::of(&whole, arrival.to);
    let muted = is_muted(tx, header.as_ref())?;
    let Whole { name, bytes, .. } = whole;
    let (&index, further) = places.split_first().unwrap_or((&0, &[]));
    let number = next_number(tx)?;
    let record = Record {
        index,
        fetched: arrival.now,
        bytes: bytes.len() as u64,
        read: muted,
        shared: false,
        name,
        retired: None,
        further: further.to_vec(),
        header,
    };
    MESSAGES.put(tx, &number, &record)?;
    BODIES.put(tx, &number, &bytes)?;
    Ok(number)
}

/// Adds the file of these parts as a message, if all were received. Returns the message's number.
fn put_together<T: Edit>(
    tx: &mut T,
    id: u64,
    arrival: Arrival<'_>,
) -> Result<Option<u64>, T::Error> {
    let (mut parts, mut indices, mut failed) = (Reassembler::new(), Vec::new(), None);
    for ((_, index), part) in PIECES.range(tx, (id, 0)..=(id, u64::MAX))? {
        match parts.push(&part) {
            // A part that contradicts others is left out; the parts before it stand.
            Ok(()) => indices.push(index),
            Err(error @ (FragmentError::Hash(_) | FragmentError::Fields)) => {
                indices.push(index);
                failed = Some(match error {
                    FragmentError::Fields => "what stands before the content cannot be read",
                    _ => "the parts do not make up the file that was sent",
                });
            }
            Err(_) => {}
        }
    }
    let whole = parts.finish().0.pop();
    if whole.is_none() && failed.is_none() {
        return Ok(None);
    }
    PIECES.clear(tx, (id, 0)..=(id, u64::MAX))?;
    let first = indices.first().copied().unwrap_or(0);
    match whole {
        Some(whole) => add_message(tx, &indices, whole, arrival).map(Some),
        None => {
            UNOPENED.put(tx, &first, &failed.unwrap_or_default().as_bytes().to_vec())?;
            Ok(None)
        }
    }
}

#[cfg(test)]
impl<S: Storage> Inbox<S> {
    /// Takes in what was received, where no letter is signed and the time does not matter.
    pub(crate) fn take_unsigned(
        &self,
        decode: impl FnOnce(&Received) -> Content,
    ) -> Result<Option<Vec<Taken>>, S::Error> {
        let to = &Addressee::new(&[0; 16], "", &[]);
        self.take_next(decode, Arrival { to, now: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Form;
    use crate::rounds::Sizes;
    use crate::{CANARY_BYTES, CanaryState, InboxError, Memory};
    use omr_client::fragment::split;
    use omr_client::os_rng;

    #[test]
    fn the_places_of_all_parts_stay_with_a_letter() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let parts = split(&[5; 300], 100, &mut os_rng()).unwrap();
        assert!(parts.len() > 2);
        let places: Vec<u64> = (0..parts.len() as u64).map(|i| 7 + 3 * i).collect();
        // The first digest brings all parts but one.
        let found = places.iter().zip(parts).map(|(&index, part)| Found {
            index,
            hash: [index as u8; 32],
            sealed: false,
            piece: Ok(Piece::PartOf([9; 8], part.into())),
        });
        let mut found: Vec<Found> = found.collect();
        let last = found.remove(1);
        for found in [found, vec![last]] {
            let to = &Addressee::new(&[0; 16], "", &[]);
            let arrival = Arrival { to, now: 0 };
            let all = u64::MAX;
            inbox
                .store
                .write(|tx| deliver(tx, &[], found, all, arrival))
                .unwrap();
        }
        let letters = inbox.list(true).unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].index, places[0]);
        assert_eq!(letters[0].further, places[1..]);
    }

    /// An inbox in which a scan of messages 0 to 19 was received.
    fn scanned() -> Inbox<Memory<InboxError>> {
        let inbox = Inbox::open(Memory::new()).unwrap();
        let sizes = Sizes {
            short: 4,
            room: 3,
            window: 40,
            most: 40,
            fetch: 40,
        };
        let form = Form {
            bound: 0,
            most: sizes.most,
            levels: 0,
            batches: None,
            rounds: Some(sizes),
        };
        let requests = inbox.requests();
        let board = crate::model::board(0..20);
        requests.plan(&board, &form).unwrap();
        receive(&inbox, Kind::Scan);
        inbox
    }

    fn receive(inbox: &Inbox<Memory<InboxError>>, kind: Kind) {
        let requests = inbox.requests();
        let open = requests.open().unwrap();
        let of_kind = open.iter().find(|(_, job)| job.kind == kind);
        let (number, _) = of_kind.expect("a request of this kind is open");
        requests.keep(*number, &vec![1]).unwrap();
    }

    fn canary(content: [u8; CANARY_BYTES], index: u64) -> Found {
        Found {
            index,
            hash: [index as u8; 32],
            sealed: true,
            piece: Ok(Piece::Whole(Whole {
                bytes: content.to_vec(),
                ..Whole::default()
            })),
        }
    }

    #[test]
    fn a_canary_that_waits_is_not_missing() {
        let inbox = scanned();
        let contents = [1, 2, 3].map(|number| [number; CANARY_BYTES]);
        for (content, index) in contents.iter().zip([5, 6, 7]) {
            inbox.note_canary(*content, None, 0).unwrap();
            inbox.canary_posted(content, index).unwrap();
        }
        let states = |expected: [usize; 3]| {
            let audit = inbox.audit().unwrap();
            let states = [
                CanaryState::Posted,
                CanaryState::Missing,
                CanaryState::Returned,
            ];
            assert_eq!(states.map(|state| audit.count(state)), expected);
        };
        // The scan leaves canary 5 out.
        let taken = inbox.take_unsigned(|_| Content::Scan(vec![6, 7, 9]));
        assert_eq!(taken.unwrap().unwrap()[0].range, 0..20);
        states([2, 1, 0]);
        assert_eq!(inbox.waiting().unwrap().messages, 3);
        // The answer has another payload at the place of canary 7.
        receive(&inbox, Kind::Fetch);
        let answered = |received: &Received| {
            assert_eq!(received.waiting, [6, 7, 9]);
            Content::Answer(Answered {
                found: vec![canary(contents[1], 6), canary([9; CANARY_BYTES], 7)],
                arrived: vec![6, 7],
                damage: None,
            })
        };
        let taken = inbox.take_unsigned(answered).unwrap().unwrap();
        assert!(
            matches!(&taken[..], [Taken { outcome: Outcome::Delivered { messages, .. }, .. }] if messages.len() == 1)
        );
        states([0, 2, 1]);
        assert_eq!(inbox.waiting().unwrap().messages, 1);
    }

    #[test]
    fn messages_that_wait_at_a_retired_address_come_there() {
        let (inbox, retired) = (Inbox::open(Memory::new()).unwrap(), scanned());
        let adopt = || inbox.adopt("old", [7; 16], &retired).unwrap().len();
        retired.take_unsigned(|_| Content::Scan(vec![6])).unwrap();
        assert_eq!((adopt(), retired.waiting().unwrap().messages), (0, 1));
        receive(&retired, Kind::Fetch);
        let answered = |_: &Received| {
            Content::Answer(Answered {
                found: vec![canary([9; CANARY_BYTES], 6)],
                arrived: vec![6],
                damage: None,
            })
        };
        retired.take_unsigned(answered).unwrap();
        assert_eq!((adopt(), adopt()), (1, 0));
        assert_eq!(inbox.waiting().unwrap(), Default::default());
    }
}

//! Taking in what was collected: decoded, opened, put together, delivered. Without a connection.

use super::kept::{self, Failure, Kept};
use super::requests::{Job, stored};
use super::{
    BODIES, CANARIES, COPIES, DIGESTS, Inbox, JOBS, MESSAGES, PIECES, SEEN, UNOPENED, encode,
    next_number,
};
use crate::canary;
use crate::inbox::view::Record;
use crate::{Identity, MailError, check_sealing, unix_now};
use omr_client::fragment::{FragmentError, Reassembler, Whole};
use omr_client::letter::{self, Piece, Place};
use omr_client::{DecodeError, Retrieved, SecretKey};
use omr_protocol::{ParamSet, Response, Sealing, Stride};
use redb::{ReadableTable, WriteTransaction};
use std::collections::BTreeSet;
use std::ops::Range;

/// The secrets that decoding needs. A reader has no connection, so it cannot reveal what it
/// decodes.
pub struct Reader {
    set: ParamSet,
    secret: SecretKey,
    board_id: [u8; 16],
    /// How letters to her are sealed, see [`check_sealing`].
    sealing: Option<Sealing>,
}

/// The result of decoding one digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The messages that it covers.
    pub range: Range<u64>,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of decoding a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was decoded.
    Delivered {
        /// Numbers of the messages that are new and whole.
        messages: Vec<u64>,
        /// Payloads that did not open.
        unopened: usize,
    },
    /// The range is kept: it contains more messages for her than the bound, or was damaged. A
    /// hybrid digest may be kept in part. A spare one is never kept: nothing is lost by it.
    Kept(Kept),
}

/// What a digest holds.
#[derive(Default)]
struct Decoded {
    found: Vec<Found>,
    /// The messages of parts that decoded, and the places of hers, honestly made or not.
    read: Vec<(Stride, Vec<u64>)>,
    /// The parts that did not.
    failed: Vec<Failure>,
}

/// A payload that was found.
struct Found {
    index: u64,
    hash: Option<[u8; 32]>,
    piece: Result<Piece, String>,
}

impl Reader {
    /// Reads her secret.
    ///
    /// Errors: `NotRegistered`, `NoIdentity`, `File`, `Params`, `Secret`.
    pub fn new(identity: &Identity) -> Result<Self, MailError> {
        let set = identity.set()?;
        let board_id = identity.profile.board_id;
        Ok(Self {
            secret: identity.secret(&set)?,
            set,
            board_id: board_id.ok_or(MailError::NotRegistered)?,
            sealing: identity.profile.sealing,
        })
    }

    /// What a digest holds, opened. The parts of a hybrid one stand for themselves.
    fn decode(&self, job: &Job, digest: &[u8]) -> Decoded {
        let of = job.stride();
        let response = match Response::from_bytes(&self.set, digest) {
            Ok(response) => response,
            Err(error) => return Decoded::damaged(of, error.to_string()),
        };
        let request = response.request();
        let expected = (self.board_id, of.range(), job.bound as usize);
        let asked = (response.board_id(), request.range, request.bound) == expected;
        let Some(payload_bytes) = request.payload_bytes.filter(|_| asked) else {
            return Decoded::damaged(of, "the digest answers another request".into());
        };
        // The header is the server's word: were it believed, nothing would have to be sealed, and anybody's clue taken.
        if let Err(error) = check_sealing(self.sealing, response.sealing()) {
            return Decoded::damaged(of, error.to_string());
        }
        let place = Place {
            board_id: self.board_id,
            params: self.set.name().to_owned(),
            sealing: response.sealing(),
            payload_bytes,
        };
        let places = response.places();
        // All parts are decoded before the outcome of any is looked at.
        let parts: Vec<_> = parts(response)
            .into_iter()
            .map(|part| {
                let retrieved = omr_client::decode(&self.set, &self.secret, &part);
                (of.part(part.request().range), retrieved)
            })
            .collect();
        let mut decoded = Decoded::default();
        let mut all = Vec::new();
        for (of, retrieved) in parts {
            match retrieved {
                Ok(retrieved) => {
                    let index = |found: &Retrieved| of.index(found.index);
                    let found = retrieved.iter().map(index).collect();
                    decoded.read.push((of, found));
                    all.extend(retrieved);
                }
                Err(error) => decoded.failed.push(failure(of, &error)),
            }
        }
        decoded.found = self.opened(&of, &all, &place, places);
        decoded
    }

    /// The payloads of a digest's messages, opened.
    fn opened(
        &self,
        of: &Stride,
        retrieved: &[Retrieved],
        place: &Place,
        places: usize,
    ) -> Vec<Found> {
        let reader = letter::Reader::new(self.set.clue(), &self.secret, place);
        let opened = reader.open(retrieved, places);
        // Sealing is random, so equal payloads are copies; without it, two people may write the same.
        let sealed = place.sealing != Sealing::None;
        let hash = |counted: u64| {
            let at = retrieved.binary_search_by_key(&counted, |found| found.index);
            let payload = retrieved[at.ok()?].payload.as_ref()?;
            sealed.then(|| *blake3::hash(payload).as_bytes())
        };
        let found = opened.into_iter().map(|(counted, piece)| Found {
            index: of.index(counted),
            hash: hash(counted),
            piece: piece.map_err(|error| error.to_string()),
        });
        found.collect()
    }
}

impl Decoded {
    fn damaged(of: Stride, reason: String) -> Self {
        let failure = Failure {
            of,
            overflowed: None,
            exact: false,
            may_overflow: false,
            reason,
        };
        Self {
            failed: vec![failure],
            ..Self::default()
        }
    }
}

/// The digests of a response.
fn parts(response: Response) -> Vec<Response> {
    match response {
        Response::Hybrid(bulk, rest) => vec![Response::Sophomr(bulk), Response::Instantomr(rest)],
        one => vec![one],
    }
}

fn failure(of: Stride, error: &DecodeError) -> Failure {
    let (overflowed, exact) = match error {
        DecodeError::Overflow {
            start, end, count, ..
        } => (Some(*count as u64), (*start..*end) == of.range()),
        DecodeError::OverflowAtLeast { count, .. } => (Some(*count as u64), false),
        _ => (None, false),
    };
    Failure {
        of,
        overflowed,
        exact,
        may_overflow: matches!(error, DecodeError::InstantInconsistent { .. }),
        reason: error.to_string(),
    }
}

impl Inbox {
    /// Decodes every digest that is here, oldest first; each in one transaction, so that a message is
    /// delivered once however often this is interrupted.
    ///
    /// Errors: `Database`, `Record`.
    pub fn take_in(&self, reader: &Reader) -> Result<Vec<Taken>, MailError> {
        let mut taken = Vec::new();
        while let Some((number, job, digest)) = self.next_digest()? {
            let decoded = reader.decode(&job, &digest);
            let outcomes = self.write(|tx| {
                tx.open_table(JOBS)?.remove(number)?;
                tx.open_table(DIGESTS)?.remove(number)?;
                take(tx, number, &job, decoded)
            })?;
            taken.extend(outcomes);
        }
        Ok(taken)
    }

    fn next_digest(&self) -> Result<Option<(u64, Job, Vec<u8>)>, MailError> {
        self.read(|tx| {
            let (digests, jobs) = (tx.open_table(DIGESTS)?, tx.open_table(JOBS)?);
            let Some((number, digest)) = digests.first()? else {
                return Ok(None);
            };
            let number = number.value();
            let job = stored(&jobs, number)?;
            Ok(job.map(|job| (number, job, digest.value().to_vec())))
        })
    }
}

/// Takes in what a digest holds, and keeps what of its messages gave none.
fn take(
    tx: &WriteTransaction,
    number: u64,
    job: &Job,
    decoded: Decoded,
) -> Result<Vec<Taken>, MailError> {
    let mut taken = Vec::new();
    if !decoded.read.is_empty() {
        let covered: Vec<Stride> = decoded.read.iter().map(|(of, _)| *of).collect();
        let outcome = deliver(tx, &covered, decoded.found)?;
        let start = covered.iter().map(|of| of.start).min();
        let end = covered.iter().map(|of| of.end).max();
        let range = start.unwrap_or(job.start)..end.unwrap_or(job.end);
        taken.push(Taken { range, outcome });
    }
    for (of, found) in &decoded.read {
        kept::note_read(tx, number, job, of, found)?;
    }
    for failure in decoded.failed {
        let range = failure.of.start..failure.of.end;
        let kept = kept::keep(tx, number, job, failure)?;
        let outcome = kept.map(Outcome::Kept);
        taken.extend(outcome.map(|outcome| Taken { range, outcome }));
    }
    Ok(taken)
}

fn deliver(
    tx: &WriteTransaction,
    covered: &[Stride],
    found: Vec<Found>,
) -> Result<Outcome, MailError> {
    let (mut messages, mut unopened) = (Vec::new(), 0);
    let mut canaries = BTreeSet::new();
    let mut files = BTreeSet::new();
    for Found { index, hash, piece } in found {
        if let Ok(Piece::Whole(whole)) = &piece
            && canary::returned(&mut tx.open_table(CANARIES)?, &whole.bytes, index)?
        {
            canaries.insert(index);
            tx.open_table(SEEN)?.insert(index, ())?;
            continue;
        }
        if !is_new(tx, index, hash.as_ref())? {
            continue;
        }
        match piece {
            Ok(Piece::Whole(whole)) => messages.push(add_message(tx, index, whole)?),
            Ok(Piece::PartOf(id, part)) => {
                let id = u64::from_le_bytes(id);
                tx.open_table(PIECES)?.insert((id, index), &part[..])?;
                files.insert(id);
            }
            Err(reason) => {
                unopened += 1;
                tx.open_table(UNOPENED)?.insert(index, &reason[..])?;
            }
        }
    }
    for id in files {
        messages.extend(put_together(tx, id)?);
    }
    for of in covered {
        canary::assess(&mut tx.open_table(CANARIES)?, of, &canaries)?;
    }
    Ok(Outcome::Delivered { messages, unopened })
}

/// Whether nothing from this place, and no copy of it, came before; from now on it did.
fn is_new(tx: &WriteTransaction, index: u64, hash: Option<&[u8; 32]>) -> Result<bool, MailError> {
    let mut seen = tx.open_table(SEEN)?;
    if seen.insert(index, ())?.is_some() {
        return Ok(false);
    }
    let Some(hash) = hash else {
        return Ok(true);
    };
    let mut copies = tx.open_table(COPIES)?;
    let is_copy = copies.insert(&hash[..], index)?.is_some();
    Ok(!is_copy)
}

fn add_message(tx: &WriteTransaction, index: u64, whole: Whole) -> Result<u64, MailError> {
    let Whole { name, bytes } = whole;
    let mut messages = tx.open_table(MESSAGES)?;
    let number = next_number(&messages)?;
    let record = Record {
        index,
        fetched: unix_now(),
        bytes: bytes.len() as u64,
        read: false,
        name,
        retired: None,
    };
    messages.insert(number, &encode(&record)?[..])?;
    tx.open_table(BODIES)?.insert(number, &bytes[..])?;
    Ok(number)
}

/// The file of these parts as a message, if all are here.
fn put_together(tx: &WriteTransaction, id: u64) -> Result<Option<u64>, MailError> {
    let mut pieces = tx.open_table(PIECES)?;
    let (mut parts, mut indices, mut failed) = (Reassembler::new(), Vec::new(), None);
    for entry in pieces.range((id, 0)..=(id, u64::MAX))? {
        let (key, part) = entry?;
        match parts.push(part.value()) {
            // A part that contradicts others is left out; those before it stand.
            Ok(()) => indices.push(key.value().1),
            Err(error @ (FragmentError::Hash(_) | FragmentError::Fields)) => {
                indices.push(key.value().1);
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
    pieces.retain_in((id, 0)..=(id, u64::MAX), |_, _| false)?;
    let first = indices.first().copied().unwrap_or(0);
    match whole {
        Some(whole) => Ok(Some(add_message(tx, first, whole)?)),
        None => {
            let mut unopened = tx.open_table(UNOPENED)?;
            unopened.insert(first, failed.unwrap_or_default())?;
            Ok(None)
        }
    }
}

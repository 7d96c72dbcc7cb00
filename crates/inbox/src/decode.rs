//! Decodes digests, scans and answers with the recipient's secret, without a connection and without records.

mod rounds;

use crate::job::{Job, Kind};
use crate::kept::Failure;
use crate::sealing::check_sealing;
use omr_client::header::Addressee;
use omr_client::letter::{self, Piece, Place};
use omr_client::periods::{PeriodSecrets, last_period};
use omr_client::rounds::RoundsRecipient;
use omr_client::{DecodeError, Decoder, Retrieved, SecretKey};
use omr_protocol::{ParamSet, Response, Sealing, Stride};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The secrets for decoding. A reader has no connection, so it cannot reveal the content of a digest.
pub struct Reader {
    set: ParamSet,
    secret: SecretKey,
    board_id: [u8; 16],
    /// The recipient for whom the signatures of letters must be.
    addressee: Addressee,
    /// The agreed sealing of letters, see [`check_sealing`].
    sealing: Option<Sealing>,
    /// Precomputed values of the secret, and of the last digest's place.
    decoder: Decoder,
    letters: Mutex<Option<(Place, Arc<letter::Reader>)>>,
    periods: Mutex<Periods>,
    /// The secret prepared for two rounds, once it was used.
    rounds: OnceLock<RoundsRecipient>,
    /// The number of places of digests without a message whose time has not been spent yet, if that is done later.
    owed: Option<AtomicUsize>,
}

/// The keys of periods to which letters may be sealed.
#[derive(Default)]
struct Periods {
    secrets: Option<PeriodSecrets>,
    /// The last period whose key a sender may have used.
    last: u32,
}

/// A digest, scan or answer that was received for a request, with everything that is needed to decode it.
pub(crate) struct Received {
    pub(crate) job: Job,
    /// The digest, scan or answer, as it was sent.
    pub(crate) file: Vec<u8>,
    /// The file of the query that it answers; empty for digests and scans.
    pub(crate) query: Vec<u8>,
    /// The messages that wait in the range of the query; none for digests and scans.
    pub(crate) waiting: Vec<u64>,
}

/// The decoded content of a digest, scan or answer.
pub(crate) enum Content {
    /// A digest, a scan with all payloads, or a file that cannot be read as what was requested.
    Digest(Decoded),
    /// The indices of the recipient's messages in a scan without payloads, in the order of the board.
    Scan(Vec<u64>),
    /// The answer to a query.
    Answer(Answered),
}

/// The content of the answer to a query.
#[derive(Default)]
pub(crate) struct Answered {
    pub(crate) found: Vec<Found>,
    /// The waiting messages whose payloads it contains, whether they could be opened or not, in the order of the board.
    pub(crate) arrived: Vec<u64>,
    /// The reason why it, or a part of it, cannot be read.
    pub(crate) damage: Option<String>,
}

/// The content of a digest.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) found: Vec<Found>,
    /// The messages of parts that decoded, and the places of the recipient's messages, honestly made or not.
    pub(crate) read: Vec<(Stride, Vec<u64>)>,
    /// The parts that did not decode.
    pub(crate) failed: Vec<Failure>,
}

/// A payload that was found.
pub(crate) struct Found {
    pub(crate) index: u64,
    /// The hash of the payload as it is on the board.
    pub(crate) hash: [u8; 32],
    /// Whether it is sealed: sealing is random, so equal sealed payloads are copies; two people may write the same
    /// unsealed one.
    pub(crate) sealed: bool,
    pub(crate) piece: Result<Piece, String>,
}

impl Reader {
    /// Returns a reader with the recipient's secret, for digests of a board whose letters are sealed as agreed.
    #[must_use]
    pub fn new(
        set: ParamSet,
        secret: SecretKey,
        board_id: [u8; 16],
        sealing: Option<Sealing>,
    ) -> Self {
        Self {
            addressee: Addressee::of(&secret, &board_id, set.name()),
            set,
            secret,
            board_id,
            sealing,
            decoder: Decoder::default(),
            letters: Mutex::default(),
            periods: Mutex::default(),
            rounds: OnceLock::new(),
            owed: None,
        }
    }

    /// Returns a reader that returns letters sooner: the time of places without a message is spent later by
    /// [`Self::settle`], which must be called before anything that others can see.
    #[must_use]
    pub fn owing(self) -> Self {
        Self {
            owed: Some(AtomicUsize::new(0)),
            ..self
        }
    }

    /// Spends the time of at most `most` of the places that are left. Returns the number of places that are still left.
    pub fn settle(&self, most: usize) -> usize {
        let Some(owed) = &self.owed else { return 0 };
        let places = owed.load(Ordering::Relaxed).min(most);
        let last = unpoisoned(&self.letters);
        if let Some((_, letters)) = last.as_ref() {
            letters.pad(places);
        }
        owed.fetch_sub(places, Ordering::Relaxed) - places
    }

    /// Opens letters that are sealed to keys of periods, too. `now` is the time in seconds since 1970.
    #[must_use]
    pub fn with_periods(self, secrets: PeriodSecrets, now: u64) -> Self {
        let periods = Periods {
            secrets: Some(secrets),
            last: last_period(now),
        };
        Self {
            periods: Mutex::new(periods),
            ..self
        }
    }

    /// Returns the secrets of periods; `None` if there are none.
    #[must_use]
    pub fn periods(&self) -> Option<PeriodSecrets> {
        unpoisoned(&self.periods).secrets.clone()
    }

    /// Deletes the secrets of the periods before `period`.
    pub fn forget_periods(&self, period: u32) {
        let mut periods = unpoisoned(&self.periods);
        let forgets = periods.secrets.as_mut();
        if forgets.is_some_and(|secrets| secrets.forget_before(period)) {
            *unpoisoned(&self.letters) = None;
        }
    }

    /// Opens letters that are sealed to the key of any period that has begun by `now`, or that begins within a day.
    pub(crate) fn at(&self, now: u64) {
        let last = last_period(now);
        let mut periods = unpoisoned(&self.periods);
        if periods.last != last {
            periods.last = last;
            *unpoisoned(&self.letters) = None;
        }
    }

    /// Returns the recipient for whom the signatures of letters must be.
    pub(crate) fn addressee(&self) -> &Addressee {
        &self.addressee
    }

    /// Returns the opened content of a digest, scan or answer.
    pub(crate) fn decode(&self, received: &Received) -> Content {
        let Received { job, file, .. } = received;
        match job.kind {
            Kind::Digest => Content::Digest(self.digest(job, file)),
            Kind::Scan => self.scan(job, file),
            Kind::Fetch => Content::Answer(self.answer(received)),
        }
    }

    /// Returns the opened content of a digest. Each part of a hybrid digest is handled separately.
    fn digest(&self, job: &Job, digest: &[u8]) -> Decoded {
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
        // The header is the server's statement: without this check it could pass off unsealed messages as letters.
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
                let retrieved = self.decoder.decode(&self.set, &self.secret, &part);
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

    /// Returns the reader of letters of a place.
    fn letters(&self, place: &Place) -> Arc<letter::Reader> {
        let periods = unpoisoned(&self.periods);
        let mut kept = unpoisoned(&self.letters);
        match kept.as_ref() {
            Some((of, letters)) if of == place => letters.clone(),
            _ => {
                let mut letters = letter::Reader::new(self.set.clue(), &self.secret, place);
                if let Some(secrets) = &periods.secrets {
                    letters = letters.with_periods(secrets, periods.last);
                }
                let (_, letters) = kept.insert((place.clone(), Arc::new(letters)));
                letters.clone()
            }
        }
    }

    /// Opens the payloads of a digest's messages.
    fn opened(
        &self,
        of: &Stride,
        retrieved: &[Retrieved],
        place: &Place,
        places: usize,
    ) -> Vec<Found> {
        let now = match &self.owed {
            None => places,
            Some(owed) => {
                owed.fetch_add(places.saturating_sub(retrieved.len()), Ordering::Relaxed);
                0
            }
        };
        let opened = self.letters(place).open(retrieved, now);
        let sealed = place.sealing != Sealing::None;
        let hash = |counted: u64| {
            let at = retrieved.binary_search_by_key(&counted, |found| found.index);
            let payload = at.ok().and_then(|at| retrieved[at].payload.as_deref());
            *blake3::hash(payload.unwrap_or_default()).as_bytes()
        };
        let found = opened.into_iter().map(|(counted, piece)| Found {
            index: of.index(counted),
            hash: hash(counted),
            sealed,
            piece: piece.map_err(|error| error.to_string()),
        });
        found.collect()
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Decoded {
    pub(crate) fn damaged(of: Stride, reason: String) -> Self {
        Self {
            failed: vec![Failure::damaged(of, reason)],
            ..Self::default()
        }
    }
}

/// Returns the digests of a response.
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
        _ => (None, false),
    };
    Failure {
        of,
        overflowed,
        exact,
        reason: error.to_string(),
    }
}

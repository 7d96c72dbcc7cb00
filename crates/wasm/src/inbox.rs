//! An inbox for JavaScript, which returns the next call to make and receives its results.

use crate::Identity;
use crate::address::{fingerprint, short_form};
use crate::error::{WasmError, fixed};
use crate::identity::known_scheme;
use js_sys::Uint8Array;
use omr_client::letter::Place;
use omr_client::os_rng;
use omr_inbox::{
    Agreed, Answer, Board, Call, Collected, Exchange, Failed, Failure, Fetch, InboxError, Limits,
    Log, MAX_LEVELS, Mark, Memory, Outcome, Reader, Recipient, RecordKey, SealedRecord, Sender,
    Step, Table,
};
use omr_protocol::{Mismatch, Scheme, Sealing, from_hex};
use std::collections::BTreeMap;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// The description of a failed call from JavaScript.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Said(String);

/// An error of an inbox.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Call(#[from] Said),
}

/// A stored record: encrypted with a key that follows from the recipient's secret.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Stored {
    /// The name of the record's table.
    pub table: String,
    /// The name of the record, 32 bytes.
    pub name: Vec<u8>,
    /// The record's encrypted content; undefined if the record is to be deleted.
    pub content: Option<Vec<u8>>,
}

#[wasm_bindgen]
impl Stored {
    /// Makes a record from its stored values.
    #[wasm_bindgen(constructor)]
    pub fn new(table: String, name: Vec<u8>, content: Vec<u8>) -> Self {
        Self {
            table,
            name,
            content: Some(content),
        }
    }
}

/// The next call to make: `board`, `limits`, `seeds`, `job`, `watch` or `digest`.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Default)]
pub struct NextCall {
    /// The kind of the call.
    pub kind: String,
    /// The id of a job, or of the request for a job to be created.
    pub id: Vec<u8>,
    /// The first message of a job, or of the range whose seeds are requested.
    pub start: f64,
    /// The index after the last message of the job or the range.
    pub end: f64,
    /// The bound of a job.
    pub bound: u32,
    /// The tag of a job's scheme.
    pub scheme: u8,
    /// The step of a job.
    pub step: f64,
    /// The file of a job's query; empty in requests for digests and scans.
    pub query: Vec<u8>,
    /// For the board: the lengths at which the server must return running hashes.
    pub lengths: Vec<f64>,
}

/// A letter in the inbox's list.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Listed {
    /// The number of the letter in this inbox.
    pub number: f64,
    /// Index of the letter's first message on the board.
    pub index: f64,
    /// Indices of the letter's further messages, if they are known.
    pub further: Vec<f64>,
    /// The time of receipt, in seconds since 1970.
    pub fetched: f64,
    /// Length of the letter in bytes.
    pub bytes: f64,
    /// Whether the letter was read.
    pub read: bool,
    /// The name that the sender gave the file.
    pub name: Option<String>,
    /// The first line, if the letter is text.
    #[wasm_bindgen(js_name = firstLine)]
    pub first_line: Option<String>,
    /// The short address of the sender, if the letter names one and the signature matches.
    pub sender: Option<String>,
    /// Whether the letter names a sender whose signature does not match.
    pub forged: bool,
    /// The conversation: 32 hexadecimal digits, which its letters have in common.
    pub thread: Option<String>,
    /// The subject.
    pub subject: Option<String>,
    /// The media type of the content.
    #[wasm_bindgen(js_name = mediaType)]
    pub media_type: Option<String>,
    /// The time in seconds since 1970, by the sender's clock.
    pub written: Option<f64>,
    /// The reason why sender, conversation, subject, media type and time could not be read.
    pub unreadable: Option<String>,
}

/// A range whose digest contained no messages, see [`omr_inbox::Kept`].
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct KeptRange {
    /// The first message of the range.
    pub start: f64,
    /// The index after the last message of the range.
    pub end: f64,
    /// Least number of messages for the recipient in the range, if there are more than the bound.
    pub overflowed: Option<f64>,
    /// Number of messages for the recipient in the range that arrived since.
    pub read: f64,
    /// Number of fetches that will include the range again.
    #[wasm_bindgen(js_name = fetchesLeft)]
    pub fetches_left: f64,
    /// Number of these fetches after which the rest is expected, unless many other messages for the recipient arrive
    /// meanwhile.
    #[wasm_bindgen(js_name = fetchesExpected)]
    pub fetches_expected: f64,
    /// Whether the next fetch requests it again.
    #[wasm_bindgen(js_name = askedAgain)]
    pub asked_again: bool,
    /// Whether the board has forgotten the range.
    pub expired: bool,
    /// The error of the decoder or of the server.
    pub reason: String,
}

/// Messages that were found and that later fetches bring, see [`omr_inbox::Waiting`].
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub struct Waiting {
    /// The number of messages.
    pub messages: f64,
    /// The number of further fetches that bring them, unless others are found before them.
    pub fetches: f64,
}

/// The fixed part of a recipient's requests.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Form {
    /// The board.
    #[wasm_bindgen(js_name = boardId)]
    pub board_id: Vec<u8>,
    /// Tag of the agreed sealing.
    pub sealing: u8,
    /// Tag of the scheme of every request; 0 for that of the keys.
    pub scheme: u8,
    /// The bound of every request for a digest.
    pub bound: u32,
    /// The first message that can be for the recipient: the length of the board when the recipient's keys were made.
    pub begins: f64,
    /// The running hash of the board's log at that length.
    #[wasm_bindgen(js_name = logHash)]
    pub log_hash: Vec<u8>,
}

#[wasm_bindgen]
impl Form {
    /// Makes the fixed part of requests.
    #[wasm_bindgen(constructor)]
    pub fn new(
        board_id: Vec<u8>,
        sealing: u8,
        scheme: u8,
        bound: u32,
        begins: f64,
        log_hash: Vec<u8>,
    ) -> Self {
        Self {
            board_id,
            sealing,
            scheme,
            bound,
            begins,
            log_hash,
        }
    }
}

/// A recipient's letters and the state of requests, in memory. The caller must store [`Inbox::changes`] before it makes
/// a call and before it shows letters.
#[wasm_bindgen]
pub struct Inbox {
    inbox: omr_inbox::Inbox<Memory<Fault>>,
    /// Encrypts stored records.
    key: RecordKey,
    reader: Reader,
    recipient: Recipient,
    scheme: Scheme,
    /// The place of the letters, once the board is known.
    place: Option<Place>,
    fetch: Option<Fetch<Said>>,
    /// The reasons why answers to queries could not be read, until they are returned.
    damage: Vec<String>,
}

#[wasm_bindgen]
impl Inbox {
    /// Makes the inbox of these records; an empty one if there are none.
    #[wasm_bindgen(constructor)]
    pub fn new(identity: &Identity, form: &Form, records: Vec<Stored>) -> Result<Inbox, JsError> {
        let board_id = fixed("a board's id", &form.board_id)?;
        let sealing = Some(Sealing::try_from(form.sealing)?);
        let (set, secret) = identity.copy()?;
        let spec = set.spec();
        let scheme = match known_scheme(form.scheme)? {
            None => spec.scheme(true)?,
            Some(scheme) => scheme,
        };
        let recipient = Recipient {
            agreed: Agreed {
                params: set.name().to_owned(),
                board_id: Some(board_id),
                sealing,
            },
            keys: Vec::new(),
            instant: None,
            scheme: form.scheme,
            bound: form.bound,
            largest_bound: spec.largest_bound(scheme)?.try_into()?,
            spares: if scheme == Scheme::TwoRounds {
                0
            } else {
                MAX_LEVELS
            },
            begins: form.begins as u64,
            batch: None,
        };
        let key = RecordKey::new(&secret.storage_key());
        let inbox = omr_inbox::Inbox::open(Memory::restore(known(&key, records)?))?;
        let start = Mark {
            length: recipient.begins,
            hash: fixed("a running hash", &form.log_hash)?,
        };
        inbox.begin_at(start.length, Some(&start))?;
        Ok(Self {
            inbox,
            key,
            reader: Reader::new(set, secret, board_id, sealing).owing(),
            recipient,
            scheme,
            place: None,
            fetch: None,
            damage: Vec::new(),
        })
    }

    /// Prepares the secret for the scans to come, which takes time once. It can be called while a server works.
    pub fn prepare(&self) -> Result<(), JsError> {
        match &self.place {
            Some(place) if self.scheme == Scheme::TwoRounds => Ok(self.reader.prepare(place)?),
            _ => Ok(()),
        }
    }

    /// Returns the changes since the last call, to be stored in one transaction.
    pub fn changes(&self) -> Vec<Stored> {
        let changes = self.inbox.store().take_changes().into_iter();
        let mut rng = os_rng();
        let stored = changes.map(|change| {
            let SealedRecord {
                table,
                name,
                content,
            } = self.key.seal(&change, &mut rng);
            Stored {
                table: table.name().to_owned(),
                name,
                content,
            }
        });
        stored.collect()
    }

    /// Returns the first call of a fetch with these registered keys; undefined if no call is to be made.
    pub fn fetch(&mut self, keys: Vec<Uint8Array>) -> Result<Option<NextCall>, JsError> {
        let hashes: Result<Vec<[u8; 32]>, WasmError> = keys
            .iter()
            .map(|hash| fixed("a key's hash", &hash.to_vec()))
            .collect();
        let mut fetch = Fetch::new(Recipient {
            keys: hashes?,
            ..self.recipient.clone()
        });
        let step = fetch.begin(self.inbox.requests())?;
        self.fetch = Some(fetch);
        self.call(step)
    }

    /// Returns the call after the board's description, with the running hashes of its log: at its end, and one for each
    /// length in the call, empty if the server does not know it.
    #[wasm_bindgen(js_name = answerBoard)]
    #[expect(
        clippy::too_many_arguments,
        reason = "JavaScript has no structures of ours"
    )]
    pub fn answer_board(
        &mut self,
        board_id: &[u8],
        params: String,
        sealing: &str,
        payload_bytes: usize,
        first: f64,
        end: f64,
        log_hash: &[u8],
        history_id: &[u8],
        lengths: Vec<f64>,
        hashes: Vec<Uint8Array>,
    ) -> Result<Option<NextCall>, JsError> {
        if lengths.len() != hashes.len() {
            return Err(WasmError::Hashes(Mismatch::new(lengths.len(), hashes.len())).into());
        }
        let mut known = BTreeMap::new();
        for (length, hash) in lengths.into_iter().zip(hashes) {
            if let Some(hash) = known_hash(&hash.to_vec())? {
                known.insert(length as u64, hash);
            }
        }
        let log = Log {
            hash: fixed("a running hash", log_hash)?,
            history: fixed("a history's id", history_id)?,
            hashes: known,
        };
        let place = Place {
            board_id: fixed("a board's id", board_id)?,
            params,
            sealing: sealing.parse()?,
            payload_bytes,
        };
        self.place = Some(place.clone());
        let board = Board::new(place, first as u64, end as u64, log)?;
        self.answer(Ok(Answer::Board(board)))
    }

    /// Returns the call after the server's limits; 0 stands for no limit.
    #[wasm_bindgen(js_name = answerLimits)]
    pub fn answer_limits(
        &mut self,
        digest_messages: f64,
        bound: u32,
        step: f64,
        orders: u32,
        fetch_messages: f64,
    ) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Limits(Limits {
            digest_messages: digest_messages as u64,
            bound,
            step: step as u64,
            orders,
            fetch_messages: fetch_messages as u64,
        })))
    }

    /// Returns the call after the seeds of pages.
    ///
    /// Errors: `Length` if a seed has another length than 32 bytes.
    #[wasm_bindgen(js_name = answerSeeds)]
    pub fn answer_seeds(&mut self, seeds: Vec<Uint8Array>) -> Result<Option<NextCall>, JsError> {
        let seeds: Result<Vec<[u8; 32]>, WasmError> = seeds
            .iter()
            .map(|seed| fixed("a seed of a page", &seed.to_vec()))
            .collect();
        self.answer(Ok(Answer::Seeds(seeds?)))
    }

    /// Returns the call after a job has got an id. The running hash of the log at the job's end is empty if the server
    /// does not know it.
    #[wasm_bindgen(js_name = answerJob)]
    pub fn answer_job(
        &mut self,
        id: Vec<u8>,
        log_hash: &[u8],
    ) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Job {
            id,
            log_hash: known_hash(log_hash)?,
        }))
    }

    /// Returns the call after a job is done.
    #[wasm_bindgen(js_name = answerWatched)]
    pub fn answer_watched(&mut self) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Watched))
    }

    /// Returns the call after a digest has arrived.
    #[wasm_bindgen(js_name = answerDigest)]
    pub fn answer_digest(&mut self, digest: Vec<u8>) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Digest(digest)))
    }

    /// Returns the call after one that failed, with the kind of failure: `range`, `final`, `refused`, `exists`,
    /// `missing`, `failed` or `cancelled`; any other kind stands for a server that is busy or unreachable.
    #[wasm_bindgen(js_name = answerFailed)]
    pub fn answer_failed(&mut self, kind: &str, said: String) -> Result<Option<NextCall>, JsError> {
        let kind = match kind {
            "range" => Failure::OutOfRange,
            "final" => Failure::Final,
            "refused" => Failure::Refused,
            "exists" => Failure::Exists,
            "missing" => Failure::NotFound,
            "failed" => Failure::JobFailed,
            "cancelled" => Failure::JobCancelled,
            _ => Failure::Other,
        };
        let error = Said(said);
        self.answer(Err(Failed { kind, error }))
    }

    fn answer(
        &mut self,
        answer: Result<Answer, Failed<Said>>,
    ) -> Result<Option<NextCall>, JsError> {
        let fetch = self.fetch.as_mut().ok_or(WasmError::NoFetch)?;
        let step = fetch.answer(self.inbox.requests(), answer)?;
        self.call(step)
    }

    /// Returns the call of a step. Makes the queries of steps before it, so that JavaScript sees calls alone.
    fn call(&mut self, first: Step<Collected>) -> Result<Option<NextCall>, JsError> {
        let mut step = first;
        loop {
            let asking = match step {
                Step::Done(_) => return Ok(None),
                Step::Call(call) => return Ok(Some(next(call)?)),
                Step::Ask(asking) => asking,
            };
            self.inbox.ask(&self.reader, &asking, &mut os_rng())?;
            let fetch = self.fetch.as_mut().ok_or(WasmError::NoFetch)?;
            step = fetch.answer(self.inbox.requests(), Ok(Answer::Asked))?;
        }
    }

    /// Decodes the oldest stored digest, scan or answer and returns whether there was one. `now` is in seconds since
    /// 1970.
    #[wasm_bindgen(js_name = takeOne)]
    pub fn take_one(&mut self, now: f64) -> Result<bool, JsError> {
        let Some(taken) = self.inbox.take_one(&self.reader, now as u64)? else {
            return Ok(false);
        };
        for one in taken {
            if let Outcome::Unanswered(reason) = one.outcome {
                self.damage.push(reason);
            }
        }
        Ok(true)
    }

    /// Returns the reasons why answers to queries could not be read since the last call. Their messages wait.
    #[wasm_bindgen(js_name = newDamage)]
    pub fn new_damage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.damage)
    }

    /// Returns how many messages were found and wait for later fetches.
    pub fn waiting(&self) -> Result<Waiting, JsError> {
        let waiting = self.inbox.waiting()?;
        Ok(Waiting {
            messages: waiting.messages as f64,
            fetches: waiting.syncs as f64,
        })
    }

    /// Takes the time of at most `most` places of digests that contained no letter, and returns the number of places
    /// left. It must be called until none is left, before any action that others can see.
    pub fn settle(&self, most: usize) -> usize {
        self.reader.settle(most)
    }

    /// Returns all letters.
    pub fn list(&self) -> Result<Vec<Listed>, JsError> {
        let listed = self.inbox.list(true)?.into_iter().map(|one| {
            let header = one.header.unwrap_or_default();
            let forged = header.sender.as_ref().is_some_and(|sender| !sender.genuine);
            Listed {
                number: one.number as f64,
                index: one.index as f64,
                further: one.further.into_iter().map(|index| index as f64).collect(),
                fetched: one.fetched as f64,
                bytes: one.bytes as f64,
                read: one.read,
                name: one.name,
                first_line: one.first_line,
                sender: header.sender.and_then(short).filter(|_| !forged),
                forged,
                thread: header.thread,
                subject: header.subject,
                media_type: header.media_type,
                written: header.time.map(|time| time as f64),
                unreadable: header.unreadable,
            }
        });
        Ok(listed.collect())
    }

    /// Returns the ranges whose digests contained no messages that arrived since.
    pub fn kept(&self) -> Result<Vec<KeptRange>, JsError> {
        let ranges = self.inbox.kept()?.into_iter().map(|kept| KeptRange {
            start: kept.start as f64,
            end: kept.end as f64,
            overflowed: kept.overflowed.map(|least| least as f64),
            read: kept.read as f64,
            fetches_left: kept.fetches_left as f64,
            fetches_expected: kept.fetches_expected as f64,
            asked_again: kept.asked_again,
            expired: kept.expired,
            reason: kept.reason,
        });
        Ok(ranges.collect())
    }

    /// **A person's act.** Has the next fetch request every damaged range again, see
    /// [`omr_inbox::Inbox::retry_damaged`]. Returns the number of ranges.
    #[wasm_bindgen(js_name = retryDamaged)]
    pub fn retry_damaged(&self) -> Result<usize, JsError> {
        Ok(self.inbox.retry_damaged()?)
    }

    /// Returns descriptions of changes of the board's history that it has not returned before.
    #[wasm_bindgen(js_name = newForks)]
    pub fn new_forks(&self) -> Result<Vec<String>, JsError> {
        let forks = self.inbox.new_forks()?;
        Ok(forks.iter().map(ToString::to_string).collect())
    }

    /// Returns the content of a letter.
    pub fn body(&self, number: f64) -> Result<Vec<u8>, JsError> {
        Ok(self.inbox.body(number as u64)?)
    }

    /// Notes that a letter was read.
    #[wasm_bindgen(js_name = markRead)]
    pub fn mark_read(&self, number: f64) -> Result<(), JsError> {
        Ok(self.inbox.mark_read(&[number as u64])?)
    }

    /// Removes a letter, see [`omr_inbox::Inbox::delete`].
    pub fn delete(&self, number: f64) -> Result<(), JsError> {
        Ok(self.inbox.delete(&[number as u64])?)
    }

    /// Mutes the sender with this short address, see [`omr_inbox::Inbox::mute`].
    pub fn mute(&self, sender: &str) -> Result<(), JsError> {
        Ok(self.inbox.mute(&fingerprint(sender)?)?)
    }

    /// Ends the muting of a sender. Returns whether the sender was muted.
    pub fn unmute(&self, sender: &str) -> Result<bool, JsError> {
        Ok(self.inbox.unmute(&fingerprint(sender)?)?)
    }

    /// Returns the short addresses of all muted senders, without servers.
    pub fn muted(&self) -> Result<Vec<String>, JsError> {
        let muted = self.inbox.muted()?.into_iter();
        let short = |fingerprint: String| Some(short_form(&from_hex(&fingerprint)?, ""));
        Ok(muted.filter_map(short).collect())
    }
}

/// Returns the short address of a sender.
fn short(sender: Sender) -> Option<String> {
    let server = sender.server.unwrap_or_default();
    Some(short_form(&from_hex(&sender.fingerprint)?, &server))
}

/// Returns a call for JavaScript.
///
/// Errors: `NoCall` for calls of orders and sessions, which these fetches do not make.
fn next(call: Call) -> Result<NextCall, WasmError> {
    let plain = |kind: &str, id: Vec<u8>| NextCall {
        kind: kind.to_owned(),
        id,
        ..NextCall::default()
    };
    Ok(match call {
        Call::Board(lengths) => NextCall {
            lengths: lengths.into_iter().map(|length| length as f64).collect(),
            ..plain("board", Vec::new())
        },
        Call::Limits => plain("limits", Vec::new()),
        Call::Seeds(range) => NextCall {
            start: range.start as f64,
            end: range.end as f64,
            ..plain("seeds", Vec::new())
        },
        Call::WatchJob(id) => plain("watch", id),
        Call::FetchDigest(id) => plain("digest", id),
        Call::CreateJob(job) => NextCall {
            start: job.start as f64,
            end: job.end as f64,
            bound: job.bound,
            scheme: job.scheme,
            step: job.step as f64,
            query: job.query,
            ..plain("job", job.request_id.to_vec())
        },
        other => return Err(WasmError::NoCall(format!("{other:?}"))),
    })
}

/// Returns a running hash, or `None` for no bytes.
///
/// Errors: `Length`.
fn known_hash(bytes: &[u8]) -> Result<Option<[u8; 32]>, WasmError> {
    match bytes {
        [] => Ok(None),
        bytes => Ok(Some(fixed("a running hash", bytes)?)),
    }
}

/// A table, a key and a value.
type Row = (Table, Vec<u8>, Vec<u8>);

/// Returns decrypted records with their tables.
///
/// Errors: `Table`; `Sealed` for a record that was changed, or that another recipient stored.
fn known(records_key: &RecordKey, records: Vec<Stored>) -> Result<Vec<Row>, JsError> {
    records
        .into_iter()
        .map(|record| {
            let table = Table::ALL
                .into_iter()
                .find(|known| known.name() == record.table)
                .ok_or(WasmError::Table(record.table))?;
            let content = record.content.unwrap_or_default();
            let (key, value) = records_key.open(table, &record.name, &content)?;
            Ok((table, key, value))
        })
        .collect()
}

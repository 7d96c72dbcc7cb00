//! An inbox for JavaScript: which call comes next, and what came of it.

use crate::Identity;
use crate::error::{WasmError, fixed};
use js_sys::Uint8Array;
use omr_client::letter::Place;
use omr_inbox::{
    Agreed, Answer, Board, Call, Exchange, Failed, Failure, Fetch, InboxError, Limits, Log,
    MAX_LEVELS, Mark, Memory, Reader, Recipient, Step, Table,
};
use omr_protocol::{Mismatch, Sealing};
use std::collections::BTreeMap;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// What JavaScript says of a call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Said(String);

/// Why an inbox cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Call(#[from] Said),
}

/// A record that is kept.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Stored {
    /// Its table's name.
    pub table: String,
    /// Its key.
    pub key: Vec<u8>,
    /// What stands there; nothing where it goes.
    pub value: Option<Vec<u8>>,
}

#[wasm_bindgen]
impl Stored {
    /// As it was kept.
    #[wasm_bindgen(constructor)]
    pub fn new(table: String, key: Vec<u8>, value: Vec<u8>) -> Self {
        let value = Some(value);
        Self { table, key, value }
    }
}

/// A call to make now: `board`, `limits`, `job`, `watch` or `digest`.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Default)]
pub struct NextCall {
    /// Which.
    pub kind: String,
    /// Of a job: its request's id; else the job's.
    pub id: Vec<u8>,
    /// First message of a job.
    pub start: f64,
    /// The one after its last.
    pub end: f64,
    /// Its bound.
    pub bound: u32,
    /// Its scheme's tag.
    pub scheme: u8,
    /// Its step.
    pub step: f64,
    /// Of the board: the lengths at which it is to show running hashes.
    pub lengths: Vec<f64>,
}

/// A letter as it is listed.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Listed {
    /// Its number in this inbox.
    pub number: f64,
    /// Index of its first message on the board.
    pub index: f64,
    /// Those of its further messages, where they were noted.
    pub further: Vec<f64>,
    /// When it was taken in, in seconds since 1970.
    pub fetched: f64,
    /// Its length.
    pub bytes: f64,
    /// Whether it was read.
    pub read: bool,
    /// The name that its sender gave it.
    pub name: Option<String>,
    /// Its first line, if it is text.
    #[wasm_bindgen(js_name = firstLine)]
    pub first_line: Option<String>,
}

/// A range whose digest gave no messages, see [`omr_inbox::Kept`].
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct KeptRange {
    /// First message.
    pub start: f64,
    /// The one after its last.
    pub end: f64,
    /// Messages for her in it at least, where there are more than the bound.
    pub overflowed: Option<f64>,
    /// Messages for her in it that came since.
    pub read: f64,
    /// Fetches that will look at it once more.
    #[wasm_bindgen(js_name = fetchesLeft)]
    pub fetches_left: f64,
    /// Those of them with which the rest comes, unless many other messages for her come meanwhile.
    #[wasm_bindgen(js_name = fetchesExpected)]
    pub fetches_expected: f64,
    /// Whether the board has forgotten it.
    pub expired: bool,
    /// The decoder's words, or the server's.
    pub reason: String,
}

/// What is fixed of a recipient's requests.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Form {
    /// The board.
    #[wasm_bindgen(js_name = boardId)]
    pub board_id: Vec<u8>,
    /// Tag of the sealing that was agreed on.
    pub sealing: u8,
    /// The bound of every request.
    pub bound: u32,
    /// The first message that can be hers: the board's length when she was made.
    pub begins: f64,
    /// The running hash of the board's log at that length.
    #[wasm_bindgen(js_name = logHash)]
    pub log_hash: Vec<u8>,
}

#[wasm_bindgen]
impl Form {
    /// All of it.
    #[wasm_bindgen(constructor)]
    pub fn new(board_id: Vec<u8>, sealing: u8, bound: u32, begins: f64, log_hash: Vec<u8>) -> Self {
        Self {
            board_id,
            sealing,
            bound,
            begins,
            log_hash,
        }
    }
}

/// A recipient's letters and the state of her requests, in memory: [`Inbox::changes`] are to be kept before a call is
/// made and before letters are shown.
#[wasm_bindgen]
pub struct Inbox {
    inbox: omr_inbox::Inbox<Memory<Fault>>,
    reader: Reader,
    recipient: Recipient,
    fetch: Option<Fetch<Said>>,
}

#[wasm_bindgen]
impl Inbox {
    /// The inbox of these records; an empty one where there are none.
    #[wasm_bindgen(constructor)]
    pub fn new(identity: &Identity, form: &Form, records: Vec<Stored>) -> Result<Inbox, JsError> {
        let board_id = fixed("a board's id", &form.board_id)?;
        let sealing = Some(Sealing::try_from(form.sealing)?);
        let (set, secret) = identity.copy()?;
        let spec = set.spec();
        let recipient = Recipient {
            agreed: Agreed {
                params: set.name().to_owned(),
                board_id: Some(board_id),
                sealing,
            },
            keys: Vec::new(),
            instant: None,
            scheme: 0,
            bound: form.bound,
            largest_bound: spec.largest_bound(spec.scheme(true)?)?.try_into()?,
            spares: MAX_LEVELS,
            begins: form.begins as u64,
            batch: None,
        };
        let inbox = omr_inbox::Inbox::open(Memory::restore(known(records)?))?;
        let start = Mark {
            length: recipient.begins,
            hash: fixed("a running hash", &form.log_hash)?,
        };
        inbox.begin_at(start.length, Some(&start))?;
        Ok(Self {
            inbox,
            reader: Reader::new(set, secret, board_id, sealing).owing(),
            recipient,
            fetch: None,
        })
    }

    /// What changed since this was called last, to be kept in one transaction.
    pub fn changes(&self) -> Vec<Stored> {
        let changes = self.inbox.store().take_changes().into_iter();
        let stored = changes.map(|change| Stored {
            table: change.table.name().to_owned(),
            key: change.key,
            value: change.value,
        });
        stored.collect()
    }

    /// The first call of a fetch with these registered keys; nothing where no call is to be made.
    pub fn fetch(&mut self, keys: Vec<Uint8Array>) -> Result<Option<NextCall>, JsError> {
        let hash = |hash: &Uint8Array| fixed("a key's hash", &hash.to_vec());
        let keys: Result<Vec<[u8; 32]>, WasmError> = keys.iter().map(hash).collect();
        let mut fetch = Fetch::new(Recipient {
            keys: keys?,
            ..self.recipient.clone()
        });
        let step = fetch.begin(self.inbox.requests())?;
        self.fetch = Some(fetch);
        next(step)
    }

    /// The call after the board's description, with the running hashes of its log: at its end, and one for each length of
    /// the call, empty where the server does not know it.
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
        let board = Board::new(place, first as u64, end as u64, log)?;
        self.answer(Ok(Answer::Board(board)))
    }

    /// The call after the server's limits; 0: it names none.
    #[wasm_bindgen(js_name = answerLimits)]
    pub fn answer_limits(
        &mut self,
        digest_messages: f64,
        bound: u32,
        step: f64,
        orders: u32,
    ) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Limits(Limits {
            digest_messages: digest_messages as u64,
            bound,
            step: step as u64,
            orders,
        })))
    }

    /// The call after a job is known under an id. The running hash of the log at its end is empty where the server does not
    /// know it.
    #[wasm_bindgen(js_name = answerJob)]
    pub fn answer_job(
        &mut self,
        id: Vec<u8>,
        log_hash: &[u8],
    ) -> Result<Option<NextCall>, JsError> {
        let log_hash = known_hash(log_hash)?;
        self.answer(Ok(Answer::Job { id, log_hash }))
    }

    /// The call after a job is done.
    #[wasm_bindgen(js_name = answerWatched)]
    pub fn answer_watched(&mut self) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Watched))
    }

    /// The call after a digest came.
    #[wasm_bindgen(js_name = answerDigest)]
    pub fn answer_digest(&mut self, digest: Vec<u8>) -> Result<Option<NextCall>, JsError> {
        self.answer(Ok(Answer::Digest(digest)))
    }

    /// The call after one that failed: `range`, `final`, `refused`, `exists`, `missing`, `failed`, `cancelled`, else the
    /// server is busy or away.
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
        next(fetch.answer(self.inbox.requests(), answer)?)
    }

    /// Decodes the oldest digest that is here; whether there was one. `now`: seconds since 1970.
    #[wasm_bindgen(js_name = takeOne)]
    pub fn take_one(&self, now: f64) -> Result<bool, JsError> {
        Ok(self.inbox.take_one(&self.reader, now as u64)?.is_some())
    }

    /// Takes the time of at most so many places of digests that held no letter; how many are left. To be called until
    /// none is before anything that others see.
    pub fn settle(&self, most: usize) -> usize {
        self.reader.settle(most)
    }

    /// All letters.
    pub fn list(&self) -> Result<Vec<Listed>, JsError> {
        let listed = self.inbox.list(true)?.into_iter().map(|one| Listed {
            number: one.number as f64,
            index: one.index as f64,
            further: one.further.into_iter().map(|index| index as f64).collect(),
            fetched: one.fetched as f64,
            bytes: one.bytes as f64,
            read: one.read,
            name: one.name,
            first_line: one.first_line,
        });
        Ok(listed.collect())
    }

    /// Ranges whose digests gave no messages and that did not come since.
    pub fn kept(&self) -> Result<Vec<KeptRange>, JsError> {
        let kept = self.inbox.kept()?.into_iter().map(|kept| KeptRange {
            start: kept.start as f64,
            end: kept.end as f64,
            overflowed: kept.overflowed.map(|least| least as f64),
            read: kept.read as f64,
            fetches_left: kept.fetches_left as f64,
            fetches_expected: kept.fetches_expected as f64,
            expired: kept.expired,
            reason: kept.reason,
        });
        Ok(kept.collect())
    }

    /// Changes of the board's history that this function did not return before, in words.
    #[wasm_bindgen(js_name = newForks)]
    pub fn new_forks(&self) -> Result<Vec<String>, JsError> {
        let forks = self.inbox.new_forks()?;
        Ok(forks.iter().map(ToString::to_string).collect())
    }

    /// What a letter holds.
    pub fn body(&self, number: f64) -> Result<Vec<u8>, JsError> {
        Ok(self.inbox.body(number as u64)?)
    }

    /// Notes that a letter was read.
    #[wasm_bindgen(js_name = markRead)]
    pub fn mark_read(&self, number: f64) -> Result<(), JsError> {
        Ok(self.inbox.mark_read(&[number as u64])?)
    }
}

/// Errors: `NoCall` for calls of orders and sessions, which no fetch of ours makes.
fn next<T>(step: Step<T>) -> Result<Option<NextCall>, JsError> {
    let call = match step {
        Step::Done(_) => return Ok(None),
        Step::Call(call) => call,
    };
    let plain = |kind: &str, id: Vec<u8>| NextCall {
        kind: kind.to_owned(),
        id,
        ..NextCall::default()
    };
    Ok(Some(match call {
        Call::Board(lengths) => NextCall {
            lengths: lengths.into_iter().map(|length| length as f64).collect(),
            ..plain("board", Vec::new())
        },
        Call::Limits => plain("limits", Vec::new()),
        Call::WatchJob(id) => plain("watch", id),
        Call::FetchDigest(id) => plain("digest", id),
        Call::CreateJob(job) => NextCall {
            start: job.start as f64,
            end: job.end as f64,
            bound: job.bound,
            scheme: job.scheme,
            step: job.step as f64,
            ..plain("job", job.request_id.to_vec())
        },
        other => return Err(WasmError::NoCall(format!("{other:?}")).into()),
    }))
}

/// A running hash, if there is one.
///
/// Errors: `Length`.
fn known_hash(bytes: &[u8]) -> Result<Option<[u8; 32]>, WasmError> {
    match bytes {
        [] => Ok(None),
        bytes => Ok(Some(fixed("a running hash", bytes)?)),
    }
}

/// A table, a key, a value.
type Row = (Table, Vec<u8>, Vec<u8>);

/// Records by their tables.
///
/// Errors: `Table`.
fn known(records: Vec<Stored>) -> Result<Vec<Row>, WasmError> {
    let known = |Stored { table, key, value }: Stored| {
        let found = Table::ALL.into_iter().find(|known| known.name() == table);
        let table = found.ok_or(WasmError::Table(table))?;
        Ok((table, key, value.unwrap_or_default()))
    };
    records.into_iter().map(known).collect()
}

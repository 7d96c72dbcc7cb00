//! Scripts of calls in a wrong order.

use crate::trials::hostile::seeds::{BOARD, DETECTION, KEYS, Known};
use bytes::Bytes;
use chacha20::ChaCha20Rng;
use omr_remote::v1;
use prost::Message;
use rand_core::Rng;

/// The bytes of a file whose upload is begun, and of its first chunk.
const FILE: usize = 50_000;
const FIRST: usize = 20_000;

/// The expected result of a call.
pub(super) enum Expected {
    Accepted,
    Refused,
    /// This code.
    Code(tonic::Code),
}

impl Expected {
    /// Returns whether an answer's code is the expected one.
    pub(super) fn takes(&self, code: i32) -> bool {
        match self {
            Self::Accepted => code == 0,
            Self::Refused => code != 0,
            // A busy or slow server may return these codes instead.
            Self::Code(expected) => code == *expected as i32 || PASSING.contains(&code),
        }
    }
}

/// The codes DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED.
const PASSING: [i32; 2] = [4, 8];

/// A call and its expected result.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) path: String,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) expected: Expected,
}

/// Calls of one service.
struct Script {
    service: &'static str,
    lines: Vec<Line>,
}

impl Script {
    fn new(service: &'static str) -> Self {
        let lines = Vec::new();
        Self { service, lines }
    }

    fn say(
        &mut self,
        what: &'static str,
        method: &str,
        message: Option<Vec<u8>>,
        expected: Expected,
    ) {
        self.lines.push(Line {
            what,
            path: format!("{}{method}", self.service),
            messages: message.into_iter().collect(),
            expected,
        });
    }

    fn refuse(&mut self, what: &'static str, method: &str, message: &impl Message) {
        self.say(
            what,
            method,
            Some(message.encode_to_vec()),
            Expected::Refused,
        );
    }

    fn accept(&mut self, what: &'static str, method: &str, message: &impl Message) {
        self.say(
            what,
            method,
            Some(message.encode_to_vec()),
            Expected::Accepted,
        );
    }
}

/// Returns all calls.
pub(super) fn all(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let mut lines = uploads(rng);
    lines.extend(jobs(known, rng));
    lines.extend(digests(known, rng));
    lines.extend(sessions(known, rng));
    lines.extend(reads());
    lines.extend(posts(known, rng));
    lines.extend(clues(known, rng));
    lines
}

fn bytes(rng: &mut ChaCha20Rng, count: usize) -> Bytes {
    let mut out = vec![0; count];
    rng.fill_bytes(&mut out);
    out.into()
}

fn chunk(key_hash: &Bytes, offset: usize, data: &[u8]) -> v1::UploadChunksRequest {
    v1::UploadChunksRequest {
        key_hash: key_hash.clone(),
        offset: offset as u64,
        data: data.to_vec().into(),
        crc32c: crc32c::crc32c(data),
    }
}

fn uploads(rng: &mut ChaCha20Rng) -> Vec<Line> {
    let (file, other, nobody) = (bytes(rng, FILE), bytes(rng, FILE), bytes(rng, 32));
    let hash: Bytes = blake3::hash(&file).as_bytes().to_vec().into();
    let begin = |total_bytes| v1::BeginUploadRequest {
        key_hash: hash.clone(),
        total_bytes,
    };
    let (send, start, total) = ("UploadChunks", "BeginUpload", FILE as u64);
    let half = chunk(&hash, 0, &file[..FIRST]);
    let far = v1::UploadChunksRequest {
        offset: u64::MAX,
        ..half.clone()
    };
    let garbled = v1::UploadChunksRequest {
        crc32c: 1,
        ..chunk(&hash, FIRST, &file[FIRST..])
    };
    let key_hash = hash.clone();
    let register = v1::RegisterKeyRequest { key_hash };
    let key_hash = hash.clone();
    let revoke = v1::RevokeKeyRequest { key_hash };
    let mut s = Script::new(KEYS);
    s.refuse("a chunk before its upload", send, &half);
    s.say("no chunk", send, None, Expected::Refused);
    s.refuse("an upload of nothing", start, &begin(0));
    s.refuse("a giant upload", start, &begin(u64::MAX));
    s.accept("an upload", start, &begin(total));
    s.refuse("an upload of another size", start, &begin(total + 1));
    s.refuse("a chunk beyond", send, &chunk(&hash, 9, &file[9..50]));
    s.refuse("a chunk at the end of numbers", send, &far);
    s.accept("a chunk", send, &half);
    s.accept(
        "the same chunk again",
        send,
        &chunk(&hash, 0, &other[..FIRST]),
    );
    s.accept(
        "an overlapping chunk",
        send,
        &chunk(&hash, 10_000, &file[..9]),
    );
    s.refuse(
        "a chunk of no file",
        send,
        &chunk(&nobody, FIRST, &file[..9]),
    );
    s.refuse("a garbled chunk", send, &garbled);
    s.refuse("an empty chunk", send, &chunk(&hash, FIRST, &[]));
    s.refuse("a chunk past the end", send, &chunk(&hash, FIRST, &other));
    let giant = vec![7; omr_api::CHUNK_BYTES + 1];
    s.refuse("a giant chunk", send, &chunk(&hash, FIRST, &giant));
    s.refuse("half a key", "RegisterKey", &register);
    s.refuse("another rest", send, &chunk(&hash, FIRST, &other[FIRST..]));
    s.refuse("a key that is none", "RegisterKey", &register);
    s.refuse("revoking nobody's key", "RevokeKey", &revoke);
    s.lines
}

fn jobs(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let key: Bytes = known.bulk.to_vec().into();
    let instant: Bytes = known.instant.to_vec().into();
    let right = v1::CreateJobRequest {
        request_id: bytes(rng, 16),
        key_hashes: vec![key.clone()],
        start: 0,
        end: 20,
        bound: 10,
        ..Default::default()
    };
    let (fresh, unknown) = (bytes(rng, 16), bytes(rng, 32));
    let with = |change: &dyn Fn(&mut v1::CreateJobRequest)| {
        let mut request = right.clone();
        request.request_id = fresh.clone();
        change(&mut request);
        request
    };
    let mut other = right.clone();
    other.end += 1;
    let mut s = Script::new(DETECTION);
    s.accept("a job", "CreateJob", &right);
    s.accept("the same job", "CreateJob", &right);
    s.refuse("another job of the same id", "CreateJob", &other);
    let mut no = |what, change: &dyn Fn(&mut v1::CreateJobRequest)| {
        s.refuse(what, "CreateJob", &with(change));
    };
    no("a range backwards", &|r| r.start = 30);
    no("an endless range", &|r| r.end = u64::MAX);
    no("a range at the end of numbers", &|r| {
        (r.start, r.end) = (u64::MAX - 1, u64::MAX)
    });
    no("no bound", &|r| r.bound = 0);
    no("a giant bound", &|r| r.bound = u32::MAX);
    no("an unknown scheme", &|r| r.scheme = -1);
    no("a scheme without its key", &|r| r.scheme = 5);
    no("no key", &|r| r.key_hashes.clear());
    no("the same key twice", &|r| r.key_hashes.push(key.clone()));
    no("a few keys too many", &|r| {
        r.key_hashes = vec![instant.clone(); 1000]
    });
    no("a crowd of keys", &|r| {
        r.key_hashes = vec![instant.clone(); 100_000]
    });
    no("an unknown key", &|r| r.key_hashes[0] = unknown.clone());
    no("a short key hash", &|r| {
        r.key_hashes[0] = vec![1; 31].into()
    });
    no("a short request id", &|r| r.request_id = vec![1; 15].into());
    s.lines
}

fn digests(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let job = |job_id: Bytes| v1::GetJobRequest { job_id };
    let fetch = |job_id: Bytes, offset| v1::FetchDigestRequest { job_id, offset };
    let nobody = bytes(rng, 16);
    let mut s = Script::new(DETECTION);
    s.refuse("nobody's digest", "FetchDigest", &fetch(nobody.clone(), 0));
    let beyond = fetch(known.job.clone(), u64::MAX);
    s.refuse("a digest beyond its end", "FetchDigest", &beyond);
    s.refuse("a job of no id", "GetJob", &job(Bytes::new()));
    s.refuse("a job of a longer id", "GetJob", &job(vec![7; 17].into()));
    s.refuse(
        "a job of a long id",
        "GetJob",
        &job(vec![7; 1 << 20].into()),
    );
    s.refuse("nobody's job", "GetJob", &job(nobody.clone()));
    s.refuse("watching nobody's job", "WatchJob", &job(nobody.clone()));
    s.refuse("cancelling nobody's job", "CancelJob", &job(nobody));
    s.lines
}

fn sessions(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let cut = |number| v1::CutSessionRequest {
        session_id: known.session.clone(),
        number,
    };
    let open = |key: &[u8], start, bound| v1::OpenSessionRequest {
        request_id: vec![9; 16].into(),
        key_hash: key.to_vec().into(),
        start,
        bound,
        indices_only: false,
        room: 0,
    };
    let session_id = bytes(rng, 16);
    let close = v1::CloseSessionRequest { session_id };
    let (key, opens) = (&known.instant, "OpenSession");
    let mut s = Script::new(DETECTION);
    s.refuse("a cut of a later number", "CutSession", &cut(1 << 40));
    s.refuse("a cut at the end of numbers", "CutSession", &cut(u64::MAX));
    s.refuse(
        "a session at the end of numbers",
        opens,
        &open(key, u64::MAX, 9),
    );
    s.refuse("a session of no bound", opens, &open(key, 0, 0));
    s.refuse("a session of a giant bound", opens, &open(key, 0, u32::MAX));
    s.refuse(
        "a session with another key",
        opens,
        &open(&known.bulk, 0, 9),
    );
    s.refuse("closing nobody's session", "CloseSession", &close);
    s.lines
}

fn reads() -> Vec<Line> {
    let read = |start, end, part| v1::ReadMessagesRequest { start, end, part };
    let follow = v1::SubscribeRequest {
        start: u64::MAX,
        part: 0,
    };
    let mut s = Script::new(BOARD);
    s.refuse("an endless reading", "ReadMessages", &read(0, u64::MAX, 0));
    s.refuse("a reading backwards", "ReadMessages", &read(9, 3, 0));
    let last = read(u64::MAX, u64::MAX, 0);
    s.refuse("a reading at the end of numbers", "ReadMessages", &last);
    s.refuse("a reading of no part", "ReadMessages", &read(0, 3, -7));
    s.refuse("following the end of numbers", "Subscribe", &follow);
    s.lines
}

fn posts(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let post_id = bytes(rng, 16);
    let mut s = Script::new(BOARD);
    let mut no = |what, change: &dyn Fn(&mut v1::PostMessagesRequest)| {
        let mut post = known.post.clone();
        post.post_id = post_id.clone();
        change(&mut post);
        s.refuse(what, "PostMessages", &post);
    };
    let empty = v1::Message::default();
    no("a post of nothing", &|p| p.messages.clear());
    no("a post of empty messages", &|p| {
        p.messages = vec![empty.clone(); 9]
    });
    no("a post of too many", &|p| {
        p.messages = vec![p.messages[0].clone(); 1001]
    });
    no("a post of millions", &|p| {
        p.messages = vec![empty.clone(); 4_000_000]
    });
    no("a clue that is none", &|p| {
        p.messages[1].clue = vec![0xff; p.messages[1].clue.len()].into();
    });
    no("a payload too long", &|p| {
        p.messages[1].payload = vec![0; 1000].into()
    });
    no("a post without id", &|p| p.post_id = Bytes::new());
    let nothing = v1::StreamPostsRequest { post: None };
    s.refuse("a stream without posts in it", "StreamPosts", &nothing);
    s.lines
}

/// Returns calls with clues that must not be made of others' messages, or of one's own.
fn clues(known: &Known, rng: &mut ChaCha20Rng) -> Vec<Line> {
    let fresh = |board: &v1::Board, rng: &mut ChaCha20Rng| {
        let senders = known.people.senders(board).unwrap_or_default();
        known.people.messages(&senders, &[7; 16], 1, rng).remove(0)
    };
    let mut elsewhere = known.board.clone();
    elsewhere.board_id = bytes(rng, 16);
    let (own, copied) = (fresh(&known.board, rng), fresh(&elsewhere, rng));
    let mut unsigned = own.clone();
    unsigned.clue = changed(&own.clue, own.clue.len() - 1);
    let mut other_key = own.clone();
    other_key.clue = changed(&own.clue, own.clue.len() - 96);
    let mut other_payload = own.clone();
    other_payload.payload = changed(&own.payload, 0);
    let mut s = Script::new(BOARD);
    let mut post = |what, messages: Vec<v1::Message>, expected| {
        let post = v1::PostMessagesRequest {
            post_id: bytes(rng, 16),
            messages,
            work: 0,
        };
        s.say(what, "PostMessages", Some(post.encode_to_vec()), expected);
    };
    let (bad, used) = (tonic::Code::InvalidArgument, tonic::Code::AlreadyExists);
    for (what, message) in [
        ("a bad signature", unsigned),
        ("a clue under another key", other_key),
        ("another payload under a clue", other_payload),
        ("a post copied from another board", copied),
    ] {
        post(what, vec![message], Expected::Code(bad));
    }
    let replay = vec![known.used.clone()];
    post("a replay", replay, Expected::Code(used));
    let twice = vec![own.clone(); 2];
    post("a key twice in a post", twice, Expected::Code(used));
    // The first use of the key of all calls above.
    post("a first use", vec![own.clone()], Expected::Accepted);
    post("a replay of one's own", vec![own], Expected::Code(used));
    s.lines
}

/// Returns the bytes with one bit of a byte changed.
fn changed(of: &Bytes, at: usize) -> Bytes {
    let mut out = of.to_vec();
    out[at] ^= 1;
    out.into()
}

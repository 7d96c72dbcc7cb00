//! Right messages in a wrong order, with wrong numbers, about things that are not there.

use super::seeds::{BOARD, DETECTION, KEYS, Known};
use super::tally::Tally;
use super::wire::{Answer, Call, Wire};
use bytes::Bytes;
use omr_remote::v1;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use std::sync::Arc;

/// Bytes of a file that is begun to be uploaded.
const FILE: usize = 50_000;

/// Whether a call must be refused.
#[derive(Clone, Copy, PartialEq)]
enum Must {
    Refuse,
    Accept,
}

/// What is said to the server, one after another.
type Script = Vec<(&'static str, String, Vec<Vec<u8>>, Must)>;

/// Plays scripts until the trial ends.
pub(super) async fn run(tally: Arc<Tally>, known: Arc<Known>, mut rng: ChaCha20Rng) {
    while !tally.is_over() {
        let Some(mut wire) = Wire::open(tally.address).await else {
            continue;
        };
        let mut script = uploads(&mut rng);
        script.extend(jobs(&known, &mut rng));
        script.extend(sessions(&known, &mut rng));
        script.extend(board(&known, &mut rng));
        for (what, path, messages, must) in script {
            if tally.is_over() {
                return;
            }
            tally.count(&format!("order: {what}"));
            let answer = wire.call(Call::polite(&path, &messages)).await;
            let accepted = matches!(answer, Answer::Grpc(0, _));
            let decided = matches!(answer, Answer::Grpc(..));
            if decided && accepted != (must == Must::Accept) {
                tally.fault(format!("{what} at {path}: {answer:?}"));
            }
            if tally.answer(&format!("{what} to {path}"), answer) {
                break;
            }
        }
    }
}

fn bytes(rng: &mut ChaCha20Rng, count: usize) -> Bytes {
    let mut out = vec![0; count];
    rng.fill_bytes(&mut out);
    out.into()
}

fn uploads(rng: &mut ChaCha20Rng) -> Script {
    let (file, other) = (bytes(rng, FILE), bytes(rng, 32));
    let hash: Bytes = blake3::hash(&file).as_bytes().to_vec().into();
    let chunk = |key_hash: &Bytes, offset: usize, data: &[u8]| v1::UploadChunksRequest {
        key_hash: key_hash.clone(),
        offset: offset as u64,
        data: data.to_vec().into(),
        crc32c: crc32c::crc32c(data),
    };
    let begin = |key_hash: &Bytes, total_bytes| {
        let key_hash = key_hash.clone();
        vec![
            v1::BeginUploadRequest {
                key_hash,
                total_bytes,
            }
            .encode_to_vec(),
        ]
    };
    let chunks =
        |list: &[v1::UploadChunksRequest]| list.iter().map(Message::encode_to_vec).collect();
    let register = v1::RegisterKeyRequest {
        key_hash: hash.clone(),
    }
    .encode_to_vec();
    let revoke = v1::RevokeKeyRequest {
        key_hash: hash.clone(),
    }
    .encode_to_vec();
    let garbled = v1::UploadChunksRequest {
        crc32c: 1,
        ..chunk(&hash, 20_000, &file[20_000..30_000])
    };
    let past = bytes(rng, FILE);
    let (send, start) = (format!("{KEYS}UploadChunks"), format!("{KEYS}BeginUpload"));
    let total = FILE as u64;
    let (whole, half) = (chunk(&hash, 0, &file), chunk(&hash, 0, &file[..20_000]));
    let (registers, revokes) = (format!("{KEYS}RegisterKey"), format!("{KEYS}RevokeKey"));
    use Must::{Accept, Refuse};
    vec![
        (
            "a chunk before its upload",
            send.clone(),
            chunks(&[whole]),
            Refuse,
        ),
        ("no chunk", send.clone(), Vec::new(), Refuse),
        (
            "an upload of nothing",
            start.clone(),
            begin(&hash, 0),
            Refuse,
        ),
        (
            "a giant upload",
            start.clone(),
            begin(&hash, u64::MAX),
            Refuse,
        ),
        ("an upload", start.clone(), begin(&hash, total), Accept),
        (
            "an upload of another size",
            start,
            begin(&hash, total + 1),
            Refuse,
        ),
        (
            "a chunk beyond",
            send.clone(),
            chunks(&[chunk(&hash, 9, &file[9..50])]),
            Refuse,
        ),
        (
            "a chunk at the end of numbers",
            send.clone(),
            chunks(&[v1::UploadChunksRequest {
                offset: u64::MAX,
                ..half.clone()
            }]),
            Refuse,
        ),
        (
            "a chunk",
            send.clone(),
            chunks(std::slice::from_ref(&half)),
            Accept,
        ),
        (
            "the same chunk again",
            send.clone(),
            chunks(&[chunk(&hash, 0, &past[..20_000])]),
            Refuse,
        ),
        (
            "an overlapping chunk",
            send.clone(),
            chunks(&[chunk(&hash, 10_000, &file[..9])]),
            Refuse,
        ),
        (
            "a chunk of another file",
            send.clone(),
            chunks(&[chunk(&other, 20_000, &file[..9])]),
            Refuse,
        ),
        ("a garbled chunk", send.clone(), chunks(&[garbled]), Refuse),
        (
            "an empty chunk",
            send.clone(),
            chunks(&[chunk(&hash, 20_000, &[])]),
            Refuse,
        ),
        (
            "a chunk past the end",
            send.clone(),
            chunks(&[chunk(&hash, 20_000, &past)]),
            Refuse,
        ),
        (
            "a giant chunk",
            send.clone(),
            chunks(&[chunk(&hash, 20_000, &vec![7; (1 << 20) + 1])]),
            Refuse,
        ),
        (
            "half a key",
            registers.clone(),
            vec![register.clone()],
            Refuse,
        ),
        (
            "a rest of another content",
            send,
            chunks(&[chunk(&hash, 20_000, &past[20_000..])]),
            Refuse,
        ),
        ("a key that is none", registers, vec![register], Refuse),
        (
            "revoking what is not registered",
            revokes,
            vec![revoke],
            Refuse,
        ),
    ]
}

fn jobs(known: &Known, rng: &mut ChaCha20Rng) -> Script {
    use Must::{Accept, Refuse};
    let key: Bytes = known.bulk.to_vec().into();
    let right = v1::CreateJobRequest {
        request_id: bytes(rng, 16),
        key_hashes: vec![key.clone()],
        start: 0,
        end: 20,
        bound: 10,
        ..Default::default()
    };
    let other = v1::CreateJobRequest {
        end: 21,
        ..right.clone()
    };
    let fresh = v1::CreateJobRequest {
        request_id: bytes(rng, 16),
        ..right.clone()
    };
    let with = |change: &dyn Fn(&mut v1::CreateJobRequest)| {
        let mut request = fresh.clone();
        change(&mut request);
        vec![request.encode_to_vec()]
    };
    let unknown = bytes(rng, 32);
    let instant: Bytes = known.instant.to_vec().into();
    let create = format!("{DETECTION}CreateJob");
    let fetch = |job_id: &Bytes, offset| {
        vec![
            v1::FetchDigestRequest {
                job_id: job_id.clone(),
                offset,
            }
            .encode_to_vec(),
        ]
    };
    let (path, get) = (
        format!("{DETECTION}FetchDigest"),
        format!("{DETECTION}GetJob"),
    );
    let id = |count: usize| {
        vec![
            v1::GetJobRequest {
                job_id: vec![7; count].into(),
            }
            .encode_to_vec(),
        ]
    };
    let nowhere = bytes(rng, 16);
    vec![
        ("a job", create.clone(), vec![right.encode_to_vec()], Accept),
        (
            "the same job",
            create.clone(),
            vec![right.encode_to_vec()],
            Accept,
        ),
        (
            "another job of the same id",
            create.clone(),
            vec![other.encode_to_vec()],
            Refuse,
        ),
        (
            "a range that ends before it begins",
            create.clone(),
            with(&|r| r.start = 30),
            Refuse,
        ),
        (
            "an endless range",
            create.clone(),
            with(&|r| r.end = u64::MAX),
            Refuse,
        ),
        (
            "a range at the end of numbers",
            create.clone(),
            with(&|r| (r.start, r.end) = (u64::MAX - 1, u64::MAX)),
            Refuse,
        ),
        ("no bound", create.clone(), with(&|r| r.bound = 0), Refuse),
        (
            "a giant bound",
            create.clone(),
            with(&|r| r.bound = u32::MAX),
            Refuse,
        ),
        (
            "an unknown scheme",
            create.clone(),
            with(&|r| r.scheme = -1),
            Refuse,
        ),
        (
            "a scheme without its key",
            create.clone(),
            with(&|r| r.scheme = 5),
            Refuse,
        ),
        (
            "no key",
            create.clone(),
            with(&|r| r.key_hashes.clear()),
            Refuse,
        ),
        (
            "the same key twice",
            create.clone(),
            with(&|r| r.key_hashes.push(key.clone())),
            Refuse,
        ),
        (
            "a crowd of keys",
            create.clone(),
            with(&|r| r.key_hashes = vec![instant.clone(); 100_000]),
            Refuse,
        ),
        (
            "an unknown key",
            create.clone(),
            with(&|r| r.key_hashes[0] = unknown.clone()),
            Refuse,
        ),
        (
            "a short key hash",
            create.clone(),
            with(&|r| r.key_hashes[0] = vec![1; 31].into()),
            Refuse,
        ),
        (
            "a short request id",
            create,
            with(&|r| r.request_id = vec![1; 15].into()),
            Refuse,
        ),
        ("no job's digest", path.clone(), fetch(&nowhere, 0), Refuse),
        (
            "a digest beyond its end",
            path,
            fetch(&known.job, u64::MAX),
            Refuse,
        ),
        ("a job of no id", get.clone(), id(0), Refuse),
        ("a job of a long id", get.clone(), id(1 << 20), Refuse),
        (
            "nobody's job",
            get,
            vec![v1::GetJobRequest { job_id: nowhere }.encode_to_vec()],
            Refuse,
        ),
    ]
}

fn sessions(known: &Known, rng: &mut ChaCha20Rng) -> Script {
    use Must::Refuse;
    let cut = |number| {
        let session_id = known.session.clone();
        vec![v1::CutSessionRequest { session_id, number }.encode_to_vec()]
    };
    let open = |key: &[u8], start, bound| {
        let request = v1::OpenSessionRequest {
            request_id: vec![9; 16].into(),
            key_hash: key.to_vec().into(),
            start,
            bound,
            indices_only: false,
        };
        vec![request.encode_to_vec()]
    };
    let (opens, cuts) = (
        format!("{DETECTION}OpenSession"),
        format!("{DETECTION}CutSession"),
    );
    let session_id = bytes(rng, 16);
    let close = v1::CloseSessionRequest { session_id }.encode_to_vec();
    vec![
        (
            "a cut of a later number",
            cuts.clone(),
            cut(1 << 40),
            Refuse,
        ),
        ("a cut at the end of numbers", cuts, cut(u64::MAX), Refuse),
        (
            "a session from the end of numbers",
            opens.clone(),
            open(&known.instant, u64::MAX, 9),
            Refuse,
        ),
        (
            "a session of no bound",
            opens.clone(),
            open(&known.instant, 0, 0),
            Refuse,
        ),
        (
            "a session of a giant bound",
            opens.clone(),
            open(&known.instant, 0, u32::MAX),
            Refuse,
        ),
        (
            "a session with another key",
            opens,
            open(&known.bulk, 0, 9),
            Refuse,
        ),
        (
            "closing nobody's session",
            format!("{DETECTION}CloseSession"),
            vec![close],
            Refuse,
        ),
    ]
}

fn board(known: &Known, rng: &mut ChaCha20Rng) -> Script {
    use Must::Refuse;
    let read =
        |start, end, part| vec![v1::ReadMessagesRequest { start, end, part }.encode_to_vec()];
    let post_id = bytes(rng, 16);
    let with = |change: &dyn Fn(&mut v1::PostMessagesRequest)| {
        let mut post = known.post.clone();
        post.post_id = post_id.clone();
        change(&mut post);
        vec![post.encode_to_vec()]
    };
    let (reads, posts) = (
        format!("{BOARD}ReadMessages"),
        format!("{BOARD}PostMessages"),
    );
    let follow = v1::SubscribeRequest {
        start: u64::MAX,
        part: 0,
    }
    .encode_to_vec();
    let nothing = v1::StreamPostsRequest { post: None }.encode_to_vec();
    let empty = v1::Message::default();
    vec![
        (
            "an endless reading",
            reads.clone(),
            read(0, u64::MAX, 0),
            Refuse,
        ),
        ("a reading backwards", reads.clone(), read(9, 3, 0), Refuse),
        (
            "a reading at the end of numbers",
            reads.clone(),
            read(u64::MAX, u64::MAX, 0),
            Refuse,
        ),
        ("a reading of no part", reads, read(0, 3, -7), Refuse),
        (
            "following the end of numbers",
            format!("{BOARD}Subscribe"),
            vec![follow],
            Refuse,
        ),
        (
            "a post of nothing",
            posts.clone(),
            with(&|p| p.messages.clear()),
            Refuse,
        ),
        (
            "a post of empty messages",
            posts.clone(),
            with(&|p| p.messages = vec![empty.clone(); 9]),
            Refuse,
        ),
        (
            "a post of too many",
            posts.clone(),
            with(&|p| p.messages = vec![p.messages[0].clone(); 1001]),
            Refuse,
        ),
        (
            "a post of millions",
            posts.clone(),
            with(&|p| p.messages = vec![empty.clone(); 4_000_000]),
            Refuse,
        ),
        (
            "a clue that is none",
            posts.clone(),
            with(&|p| p.messages[1].clue = vec![0xff; p.messages[1].clue.len()].into()),
            Refuse,
        ),
        (
            "a post without id",
            posts,
            with(&|p| p.post_id = Bytes::new()),
            Refuse,
        ),
        (
            "a stream without posts in it",
            format!("{BOARD}StreamPosts"),
            vec![nothing],
            Refuse,
        ),
    ]
}

//! One valid request for every method of the service, from which fuzzing starts.

use crate::trials::TrialError;
use crate::trials::chaos::people::People;
use crate::trials::chaos::work::client;
use bytes::Bytes;
use chacha20::ChaCha20Rng;
use omr_remote::{Client, v1};
use prost::Message;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::Duration;

/// The number of messages on the board before the hostile clients start.
const MESSAGES: usize = 200;

/// A method and a valid request for it.
#[derive(Clone)]
pub(super) struct Seed {
    pub(super) path: &'static str,
    pub(super) message: Vec<u8>,
}

/// The objects on the server that hostile clients can name.
pub(super) struct Known {
    pub(super) bulk: [u8; 32],
    pub(super) instant: [u8; 32],
    pub(super) job: Bytes,
    pub(super) session: Bytes,
    /// The people who make messages for this board.
    pub(super) people: Arc<People>,
    pub(super) board: v1::Board,
    /// A message that is on the board.
    pub(super) used: v1::Message,
    /// A valid post, except for its id.
    pub(super) post: v1::PostMessagesRequest,
}

pub(super) const BOARD: &str = "/omr.v1.BoardService/";
pub(super) const KEYS: &str = "/omr.v1.KeyService/";
pub(super) const DETECTION: &str = "/omr.v1.DetectionService/";

fn random_id(rng: &mut impl Rng, bytes: usize) -> Bytes {
    let mut id = vec![0; bytes];
    rng.fill_bytes(&mut id);
    id.into()
}

/// Posts messages, registers keys, makes a digest and opens a session.
///
/// Errors: those of the client.
pub(super) async fn prepare(
    url: &str,
    people: &Arc<People>,
    seed: u64,
) -> Result<Known, TrialError> {
    let client = client(url, Duration::from_secs(20))?;
    let board = client.board().await?;
    let (senders, mut rng) = (people.senders(&board)?, ChaCha20Rng::seed_from_u64(seed));
    let id = omr_remote::random_id();
    let messages = people.messages(&senders, &id, MESSAGES, &mut rng);
    let used = messages[0].clone();
    // These are not on the board, because otherwise everything made of them would be refused for their keys.
    let sample = people.messages(&senders, &id, 3, &mut rng);
    client.post_as(id, messages).await?;
    let person = &people.recipients[0];
    let mut keys = [[0; 32]; 2];
    for (key, path) in keys.iter_mut().zip([&person.bulk, &person.instant]) {
        *key = client.upload_key(path, |_, _| ()).await?;
        client.register_key(*key).await?;
    }
    let (job, session) = ask(&client, keys, &mut rng).await?;
    let [bulk, instant] = keys;
    Ok(Known {
        bulk,
        instant,
        job,
        session,
        people: people.clone(),
        board,
        used,
        post: v1::PostMessagesRequest {
            post_id: Bytes::new(),
            messages: sample,
            work: 0,
        },
    })
}

/// Requests a digest and opens a session; returns their ids.
async fn ask(
    client: &Client,
    [bulk, instant]: [[u8; 32]; 2],
    rng: &mut impl Rng,
) -> Result<(Bytes, Bytes), TrialError> {
    let request = v1::CreateJobRequest {
        request_id: random_id(rng, 16),
        key_hashes: vec![bulk.to_vec().into()],
        start: 0,
        end: MESSAGES as u64,
        bound: 50,
        ..Default::default()
    };
    let job = client.create_job(&request).await?;
    client.watch_job(&job.job_id, |_| ()).await?;
    let request = v1::OpenSessionRequest {
        request_id: random_id(rng, 16),
        key_hash: instant.to_vec().into(),
        start: 0,
        bound: 50,
        indices_only: false,
        room: 0,
    };
    let session = client.open_session(&request).await?;
    Ok((job.job_id, session.session_id))
}

/// Returns a valid request for every method.
pub(super) fn all(known: &Known, rng: &mut impl Rng) -> Vec<Seed> {
    let seed = |path, message| Seed { path, message };
    let mut seeds = vec![
        seed("/omr.v1.CapabilityService/GetCapabilities", Vec::new()),
        seed(
            "/omr.v1.AdminService/Backup",
            v1::BackupRequest {
                have: vec!["meta".into(), "segments/x".into()],
            }
            .encode_to_vec(),
        ),
        // Services of libraries: health, and reflection with a host and a question.
        seed("/grpc.health.v1.Health/Check", Vec::new()),
        seed("/grpc.health.v1.Health/Watch", Vec::new()),
        seed(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            vec![0x0a, 1, b'h', 0x3a, 0],
        ),
        seed("/omr.v1.BoardService/NoSuchMethod", vec![8, 1]),
        seed("/no.such.Service/Method", vec![8, 1]),
    ];
    seeds.extend(board(known, rng));
    seeds.extend(keys(known, rng));
    seeds.extend(detection(known, rng));
    seeds
}

fn board(known: &Known, rng: &mut impl Rng) -> Vec<Seed> {
    let seed = |path, message| Seed { path, message };
    let post = v1::PostMessagesRequest {
        post_id: random_id(rng, 16),
        ..known.post.clone()
    };
    let read = v1::ReadMessagesRequest {
        start: 3,
        end: 90,
        part: 0,
    };
    vec![
        seed("/omr.v1.BoardService/GetBoard", Vec::new()),
        seed("/omr.v1.BoardService/PostMessages", post.encode_to_vec()),
        seed(
            "/omr.v1.BoardService/StreamPosts",
            v1::StreamPostsRequest { post: Some(post) }.encode_to_vec(),
        ),
        seed("/omr.v1.BoardService/ReadMessages", read.encode_to_vec()),
        seed(
            "/omr.v1.BoardService/Subscribe",
            v1::SubscribeRequest { start: 3, part: 1 }.encode_to_vec(),
        ),
    ]
}

fn keys(known: &Known, rng: &mut impl Rng) -> Vec<Seed> {
    let seed = |path, message| Seed { path, message };
    let chunk = v1::UploadChunksRequest {
        key_hash: random_id(rng, 32),
        offset: 0,
        data: random_id(rng, 100),
        crc32c: 7,
    };
    let one = v1::UploadChunkRequest {
        chunk: Some(chunk.clone()),
    };
    let begin = v1::BeginUploadRequest {
        key_hash: random_id(rng, 32),
        total_bytes: 100,
    };
    let register = v1::RegisterKeyRequest {
        key_hash: known.instant.to_vec().into(),
    };
    let revoke = v1::RevokeKeyRequest {
        key_hash: random_id(rng, 32),
    };
    vec![
        seed("/omr.v1.KeyService/BeginUpload", begin.encode_to_vec()),
        seed("/omr.v1.KeyService/UploadChunks", chunk.encode_to_vec()),
        seed("/omr.v1.KeyService/UploadChunk", one.encode_to_vec()),
        seed("/omr.v1.KeyService/RegisterKey", register.encode_to_vec()),
        seed("/omr.v1.KeyService/RevokeKey", revoke.encode_to_vec()),
    ]
}

fn detection(known: &Known, rng: &mut impl Rng) -> Vec<Seed> {
    let seed = |path, message| Seed { path, message };
    let (job_id, session_id) = (known.job.clone(), known.session.clone());
    let create = v1::CreateJobRequest {
        request_id: random_id(rng, 16),
        key_hashes: vec![known.bulk.to_vec().into()],
        start: 0,
        end: 50,
        bound: 20,
        ..Default::default()
    };
    let open = v1::OpenSessionRequest {
        request_id: random_id(rng, 16),
        key_hash: known.instant.to_vec().into(),
        start: 150,
        bound: 20,
        indices_only: true,
        room: 0,
    };
    let job = v1::GetJobRequest {
        job_id: job_id.clone(),
    }
    .encode_to_vec();
    let session = v1::GetSessionRequest {
        session_id: session_id.clone(),
    }
    .encode_to_vec();
    let fetch = v1::FetchDigestRequest { job_id, offset: 9 }.encode_to_vec();
    let cut = v1::CutSessionRequest {
        session_id,
        number: 0,
    }
    .encode_to_vec();
    let nothing = v1::CancelJobRequest {
        job_id: random_id(rng, 16),
    }
    .encode_to_vec();
    let order = v1::CreateOrderRequest {
        request_id: random_id(rng, 16),
        key_hashes: create.key_hashes.clone(),
        bound: 20,
        ..Default::default()
    };
    vec![
        seed(
            "/omr.v1.DetectionService/CreateOrder",
            order.encode_to_vec(),
        ),
        seed("/omr.v1.DetectionService/GetOrder", nothing.clone()),
        seed("/omr.v1.DetectionService/EndOrder", nothing.clone()),
        seed("/omr.v1.DetectionService/CreateJob", create.encode_to_vec()),
        seed("/omr.v1.DetectionService/GetJob", job.clone()),
        seed("/omr.v1.DetectionService/WatchJob", job),
        seed("/omr.v1.DetectionService/FetchDigest", fetch),
        seed("/omr.v1.DetectionService/CancelJob", nothing.clone()),
        seed("/omr.v1.DetectionService/OpenSession", open.encode_to_vec()),
        seed("/omr.v1.DetectionService/GetSession", session),
        seed("/omr.v1.DetectionService/CutSession", cut),
        seed("/omr.v1.DetectionService/CloseSession", nothing),
    ]
}

//! A server and a server of tables in this process, with a key, a job and a session that strangers can name.

use super::call::{Answer, call, framed};
use super::encoded;
use crate::tables::TABLE;
use axum::Router;
use chacha20::ChaCha20Rng;
use omr_api::v1;
use omr_client::{BoundSender, ClueSeed, identity, instantomr};
use omr_protocol::{ClueKey, ClueKind, ParamSet};
use omr_server::tokens::{self, Right, Token};
use omr_server::{Config, PdqConfig, PdqServer, Server};
use prost::Message;
use rand_core::SeedableRng;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PARAMS: &str = "insecure-tiny-hybrid-v4";
const PAYLOAD: usize = 32;
const CHUNK: usize = 1 << 20;

/// The state that calls are made to.
pub(super) struct World {
    pub(super) runtime: Runtime,
    pub(super) server: Router,
    pub(super) tables: Router,
    pub(super) token: String,
    board_id: [u8; 16],
    set: ParamSet,
    address: ClueKey,
    key: [u8; 32],
    job: Vec<u8>,
    session: Vec<u8>,
    // Listeners, threads and files are dropped with these.
    _servers: (Server, PdqServer),
    _folder: TempDir,
}

/// Returns a configuration that refuses no call for its number alone.
fn config(data: &Path) -> Config {
    let mut config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        data: data.to_owned(),
        ..Config::default()
    };
    config.board.params = PARAMS.into();
    config.board.payload_bytes = PAYLOAD as u32;
    config.board.sealing = "none".into();
    config.objects.segment_messages = Some(16);
    config.limits.messages_per_second = 1_000_000;
    config.limits.upload_bytes = 64 << 20;
    // Few digests at a time, because each takes a while.
    (config.limits.jobs, config.limits.all_jobs) = (2, 4);
    (config.limits.sessions, config.limits.all_sessions) = (2, 4);
    (config.access.anonymous_post, config.access.anonymous_detect) = (true, true);
    config.detector.threads = 1;
    config.detector.session_threads = 1;
    config
}

fn token(data: &Path) -> String {
    let token = Token {
        name: "alice".into(),
        hash: String::new(),
        rights: vec![Right::Post, Right::Detect, Right::Admin],
        messages_per_second: None,
        jobs: None,
        sessions: None,
        keys: None,
    };
    std::fs::create_dir_all(data).expect("a folder");
    tokens::add(&data.join("tokens.toml"), token).expect("a token")
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let token = token(&data);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let table = folder.path().join("people.table");
        let file = File::create(&table).expect("a file");
        TABLE.write(file).expect("written");
        let pdq = PdqConfig {
            tables: vec![table],
            params: vec!["insecure-tiny-pdq-v1".into()],
            at_once: 1,
            waiting: 2,
            threads: 1,
            keys: 2,
            key_bytes: 64 << 20,
            query_memory: 1 << 28,
            query_seconds: 5,
        };
        let servers = runtime.block_on(async {
            let server = Server::start(config(&data)).await.expect("a server");
            let settings = config(&folder.path().join("tables"));
            let tables = PdqServer::start(settings, pdq)
                .await
                .expect("a server of tables");
            (server, tables)
        });
        let (server, tables) = runtime.block_on(async {
            let server = servers.0.router().await.expect("services");
            (server, servers.1.router().await.expect("services"))
        });
        let set = ParamSet::named(PARAMS).expect("a published set");
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let (secret, address) = identity(set.clue(), ClueKind::Bound, &mut rng);
        let params = set.instantomr().expect("InstantOMR");
        let key = instantomr::detection_key(params, &secret, &mut rng).expect("a key");
        let mut file = Vec::new();
        key.write(params, &mut file).expect("written");
        let mut world = Self {
            key: *blake3::hash(&file).as_bytes(),
            board_id: [0; 16],
            job: Vec::new(),
            session: Vec::new(),
            runtime,
            server,
            tables,
            token,
            set,
            address,
            _servers: servers,
            _folder: folder,
        };
        world.fill(&file);
        world
    }

    /// Posts messages, registers a key, creates a job for a digest, opens a session.
    fn fill(&mut self, key: &[u8]) {
        let found: v1::GetBoardResponse =
            self.must("BoardService/GetBoard", &[v1::GetBoardRequest::default()]);
        let board = found.board.expect("a board");
        self.board_id = board.board_id[..].try_into().expect("an id");
        let _: v1::PostMessagesResponse =
            self.must("BoardService/PostMessages", &[self.post(1, 20)]);
        let key_hash: bytes::Bytes = self.key.to_vec().into();
        let begin = v1::BeginUploadRequest {
            key_hash: key_hash.clone(),
            total_bytes: key.len() as u64,
        };
        let _: v1::BeginUploadResponse = self.must("KeyService/BeginUpload", &[begin]);
        let chunk = |(i, data): (usize, &[u8])| v1::UploadChunksRequest {
            key_hash: key_hash.clone(),
            offset: (i * CHUNK) as u64,
            crc32c: crc32c::crc32c(data),
            data: data.to_vec().into(),
        };
        let chunks: Vec<_> = key.chunks(CHUNK).enumerate().map(chunk).collect();
        let _: v1::UploadChunksResponse = self.must("KeyService/UploadChunks", &chunks);
        let register = v1::RegisterKeyRequest {
            key_hash: key_hash.clone(),
        };
        let _: v1::RegisterKeyResponse = self.must("KeyService/RegisterKey", &[register]);
        let made: v1::CreateJobResponse =
            self.must("DetectionService/CreateJob", &[self.job_request(1)]);
        self.job = made.job.expect("a job").job_id.to_vec();
        let opened: v1::OpenSessionResponse =
            self.must("DetectionService/OpenSession", &[self.session_request(1)]);
        self.session = opened.session.expect("a session").session_id.to_vec();
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Makes a valid call as the token's owner and returns the first message of its answer.
    fn must<T: Message + Default>(&self, path: &str, messages: &[impl Message]) -> T {
        let frames = messages
            .iter()
            .map(|message| framed(&message.encode_to_vec()));
        let body = frames.collect::<Vec<_>>().concat();
        let path = format!("omr.v1.{path}");
        let answer = call(&self.server, &path, Some(&self.token), body);
        match self.runtime.block_on(answer) {
            Answer::Grpc { code: 0, data, .. } => T::decode(&data[5..]).expect("an answer"),
            other => panic!("{path}: {other:?}"),
        }
    }

    fn post(&self, id: u8, count: u64) -> v1::PostMessagesRequest {
        let sender = BoundSender::new(self.set.clue(), &self.address, self.board_id);
        let message = |i| {
            let mut rng = ChaCha20Rng::seed_from_u64(1000 * u64::from(id) + i);
            let payload = vec![i as u8; PAYLOAD];
            let clue = sender.clue(&ClueSeed::generate(&mut rng), &payload);
            v1::Message {
                clue: clue.to_bytes(self.set.clue()).into(),
                payload: payload.into(),
            }
        };
        v1::PostMessagesRequest {
            post_id: vec![id; 16].into(),
            messages: (0..count).map(message).collect(),
            work: 0,
        }
    }

    fn job_request(&self, id: u8) -> v1::CreateJobRequest {
        v1::CreateJobRequest {
            request_id: vec![id; 16].into(),
            key_hashes: vec![self.key.to_vec().into()],
            start: 0,
            end: 2,
            bound: 2,
            ..Default::default()
        }
    }

    fn session_request(&self, id: u8) -> v1::OpenSessionRequest {
        v1::OpenSessionRequest {
            request_id: vec![id; 16].into(),
            key_hash: self.key.to_vec().into(),
            start: 18,
            bound: 2,
            indices_only: false,
            room: 0,
        }
    }

    fn order_request(&self) -> v1::CreateOrderRequest {
        let job = self.job_request(2);
        v1::CreateOrderRequest {
            request_id: vec![8; 16].into(),
            key_hashes: job.key_hashes,
            start: 0,
            bound: job.bound,
            indices_only: job.indices_only,
            scheme: job.scheme,
        }
    }

    /// Returns a valid call of every method by the token's owner.
    pub(super) fn calls(&self) -> Vec<Vec<u8>> {
        let key_hash: bytes::Bytes = self.key.to_vec().into();
        let job_id: bytes::Bytes = self.job.clone().into();
        let session_id: bytes::Bytes = self.session.clone().into();
        let other: bytes::Bytes = vec![5; 32].into();
        let (start, end, part) = (3, 9, 0);
        let (data, offset) = (bytes::Bytes::from(vec![5; 20]), 0);
        let crc32c = crc32c::crc32c(&data);
        let post = Some(self.post(3, 1));
        let have = vec!["meta".into()];
        let table = "people".to_owned();
        let upload = v1::UploadKeyRequest {
            total_bytes: 1 << 20,
            data: data.clone(),
        };
        let query = v1::QueryRequest {
            table: table.clone(),
            key_hash: other.clone(),
            total_bytes: 20,
            data: data.clone(),
        };
        let chunk = v1::UploadChunksRequest {
            key_hash: other.clone(),
            offset,
            crc32c,
            data: data.clone(),
        };
        let one = v1::UploadChunkRequest {
            chunk: Some(chunk.clone()),
        };
        let begin = v1::BeginUploadRequest {
            key_hash: other.clone(),
            total_bytes: 100,
        };
        vec![
            encoded("GetBoard", 1, &v1::GetBoardRequest::default()),
            encoded("PostMessages", 1, &self.post(2, 2)),
            encoded("StreamPosts", 1, &v1::StreamPostsRequest { post }),
            encoded(
                "ReadMessages",
                1,
                &v1::ReadMessagesRequest { start, end, part },
            ),
            encoded("Subscribe", 1, &v1::SubscribeRequest { start, part: 1 }),
            encoded("CreateJob", 1, &self.job_request(2)),
            encoded(
                "GetJob",
                1,
                &v1::GetJobRequest {
                    job_id: job_id.clone(),
                },
            ),
            encoded(
                "WatchJob",
                1,
                &v1::WatchJobRequest {
                    job_id: job_id.clone(),
                },
            ),
            encoded(
                "FetchDigest",
                1,
                &v1::FetchDigestRequest {
                    job_id: job_id.clone(),
                    offset,
                },
            ),
            encoded(
                "CancelJob",
                1,
                &v1::CancelJobRequest {
                    job_id: vec![9; 16].into(),
                },
            ),
            encoded("OpenSession", 1, &self.session_request(2)),
            encoded(
                "GetSession",
                1,
                &v1::GetSessionRequest {
                    session_id: session_id.clone(),
                },
            ),
            encoded(
                "CutSession",
                1,
                &v1::CutSessionRequest {
                    session_id,
                    number: 0,
                },
            ),
            encoded(
                "CloseSession",
                1,
                &v1::CloseSessionRequest {
                    session_id: vec![9; 16].into(),
                },
            ),
            encoded("CreateOrder", 1, &self.order_request()),
            encoded(
                "GetOrder",
                1,
                &v1::GetOrderRequest {
                    order_id: other.slice(..16),
                },
            ),
            encoded(
                "EndOrder",
                1,
                &v1::EndOrderRequest {
                    order_id: other.slice(..16),
                },
            ),
            encoded("BeginUpload", 1, &begin),
            encoded("UploadChunks", 1, &chunk),
            encoded("UploadChunk", 1, &one),
            encoded(
                "RegisterKey",
                1,
                &v1::RegisterKeyRequest {
                    key_hash: key_hash.clone(),
                },
            ),
            encoded(
                "RevokeKey",
                1,
                &v1::RevokeKeyRequest {
                    key_hash: other.clone(),
                },
            ),
            encoded("GetCapabilities", 1, &v1::GetCapabilitiesRequest {}),
            encoded("Backup", 1, &v1::BackupRequest { have }),
            encoded("Health/Check", 1, &v1::GetBoardRequest::default()),
            encoded(
                "ServerReflectionInfo",
                1,
                &v1::GetSchemaRequest { table: "h".into() },
            ),
            encoded("ListTables", 1, &v1::ListTablesRequest {}),
            encoded(
                "GetSchema",
                1,
                &v1::GetSchemaRequest {
                    table: table.clone(),
                },
            ),
            encoded(
                "FindKey",
                1,
                &v1::FindKeyRequest {
                    key_hash: other.clone(),
                },
            ),
            encoded("UploadKey", 1, &upload),
            encoded("PdqService/Query", 1, &query),
            encoded(
                "UploadPart",
                1,
                &v1::UploadPartRequest {
                    file_hash: other.clone(),
                    total_bytes: 3,
                    offset: 0,
                    data: vec![1; 3].into(),
                },
            ),
            encoded(
                "KeepKey",
                1,
                &v1::KeepKeyRequest {
                    key_hash: other.clone(),
                },
            ),
            encoded(
                "PdqService/Ask",
                1,
                &v1::AskRequest {
                    table,
                    key_hash: other.clone(),
                    query_hash: other,
                },
            ),
        ]
    }
}

//! A server in a separate folder, and objects for clients.

use chacha20::ChaCha20Rng;
use omr_api::v1;
use omr_api::v1::board_service_client::BoardServiceClient;
use omr_api::v1::detection_service_client::DetectionServiceClient;
use omr_api::v1::key_service_client::KeyServiceClient;
use omr_client::{BoundSender, ClueSeed, SecretKey, identity, write_detection_key};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, Response};
use omr_server::{Config, Server, store_config};
use omr_store::{BoardConfig, Clues, Store};
use rand_core::SeedableRng;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Request, Status};

pub(crate) const PARAMS: &str = "insecure-tiny-hybrid-v4";
pub(crate) const PAYLOAD_BYTES: usize = 32;
pub(crate) const BOUND: u32 = 10;
/// The id of every server's board, so that messages can be made before there is one.
pub(crate) const BOARD: [u8; 16] = [0xB0; 16];

pub(crate) fn set() -> &'static ParamSet {
    static SET: OnceLock<ParamSet> = OnceLock::new();
    SET.get_or_init(|| ParamSet::named(PARAMS).unwrap())
}

/// A server that listens at a free port.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The address of its metrics, if it differs.
    pub(crate) metrics: Option<SocketAddr>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

pub(crate) fn config(data: &Path) -> Config {
    let mut config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        data: data.to_owned(),
        ..Config::default()
    };
    config.watch.metrics = Some("127.0.0.1:0".parse().unwrap());
    config.board.params = PARAMS.into();
    config.board.payload_bytes = PAYLOAD_BYTES as u32;
    config.board.sealing = "none".into();
    config.objects.segment_messages = Some(16);
    (config.access.anonymous_post, config.access.anonymous_detect) = (true, true);
    config
}

fn create(config: &Config) {
    let set = ParamSet::named(&config.board.params).unwrap();
    let board = BoardConfig {
        board_id: BOARD,
        params_id: set.name().into(),
        sealing: config.board.sealing.clone(),
        clue_bytes: ClueKind::Bound.bytes(set.clue()) as u32,
        payload_bytes: config.board.payload_bytes,
        clues: Clues::Bound,
    };
    Store::create(&store_config(config), &board).unwrap();
}

impl Running {
    pub(crate) async fn start(config: Config) -> Self {
        if !Store::exists(&config.data) {
            create(&config);
        }
        Self::start_bare(config).await
    }

    /// Starts a server without a board, unless there is one.
    pub(crate) async fn start_bare(config: Config) -> Self {
        let server = Server::start(config).await.unwrap();
        let address = server.address().unwrap();
        let metrics = server.metrics_address();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            server.run(stop).await.unwrap();
        });
        Self {
            address,
            metrics,
            stop,
            served,
        }
    }

    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.served.await.unwrap();
    }

    pub(crate) async fn channel(&self) -> Channel {
        let url = format!("http://{}", self.address);
        Channel::from_shared(url).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        let channel = self.channel().await;
        Client {
            board: BoardServiceClient::new(channel.clone()),
            keys: KeyServiceClient::new(channel.clone()),
            detection: DetectionServiceClient::new(channel),
        }
    }
}

/// Returns a folder, a server in it whose configuration was changed by `change`, and a client without a token.
pub(crate) async fn served(change: impl FnOnce(&mut Config)) -> (TempDir, Running, Client) {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = config(dir.path());
    change(&mut settings);
    let server = Running::start(settings).await;
    let client = server.client().await;
    (dir, server, client)
}

/// Returns the server's answer over HTTP/1.1.
pub(crate) async fn http(server: &Running, request: String) -> String {
    http_at(server.address, request).await
}

/// Returns an address's answer over HTTP/1.1.
pub(crate) async fn http_at(address: SocketAddr, request: String) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns a request for a page.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// One client of all services.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) board: BoardServiceClient<Channel>,
    pub(crate) keys: KeyServiceClient<Channel>,
    pub(crate) detection: DetectionServiceClient<Channel>,
}

pub(crate) fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}").parse().unwrap();
    request.metadata_mut().insert("authorization", value);
    request
}

pub(crate) fn post(id: u8, messages: Vec<v1::Message>) -> v1::PostMessagesRequest {
    v1::PostMessagesRequest {
        post_id: vec![id; 16].into(),
        messages,
        work: 0,
    }
}

/// A recipient with keys for all engines that the set has.
pub(crate) struct Person {
    set: &'static ParamSet,
    pub(crate) secret: SecretKey,
    pub(crate) address: ClueKey,
    pub(crate) bulk: Vec<u8>,
    pub(crate) instant: Vec<u8>,
    pub(crate) rounds: Vec<u8>,
}

impl Person {
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(set(), seed, None)
    }

    /// Returns a recipient of another set, with the masks of an epoch or separate ones.
    pub(crate) fn of(set: &'static ParamSet, seed: u64, epoch: Option<&Epoch>) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (secret, address) = identity(set.clue(), ClueKind::Bound, &mut rng);
        let mut key = |engine| {
            let mut file = Vec::new();
            if set.spec().engines().contains(&engine) {
                write_detection_key(set, engine, &secret, epoch, &mut rng, &mut file).unwrap();
            }
            file
        };
        let [bulk, instant, rounds] = EngineKind::ALL.map(&mut key);
        Self {
            set,
            secret,
            address,
            bulk,
            instant,
            rounds,
        }
    }

    /// Returns a message to the recipient.
    pub(crate) fn message(&self, seed: u64, payload: u8) -> v1::Message {
        let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
        self.message_on(BOARD, &mut rng, vec![payload; PAYLOAD_BYTES])
    }

    /// Returns a message to the recipient on a board.
    pub(crate) fn message_on(
        &self,
        board_id: [u8; 16],
        rng: &mut ChaCha20Rng,
        payload: Vec<u8>,
    ) -> v1::Message {
        let sender = BoundSender::new(self.set.clue(), &self.address, board_id);
        let clue = sender.clue(&ClueSeed::generate(rng), &payload);
        v1::Message {
            clue: clue.to_bytes(self.set.clue()).into(),
            payload: payload.into(),
        }
    }

    /// Returns the index and payload byte of each of the recipient's messages in a digest.
    pub(crate) fn decode(&self, digest: &[u8]) -> Vec<(u64, u8)> {
        let response = Response::from_bytes(self.set, digest).unwrap();
        let found = omr_client::decode(self.set, &self.secret, &response).unwrap();
        let one = |message: omr_client::Retrieved| {
            let payload = message.payload.unwrap();
            assert!(
                payload.iter().all(|byte| *byte == payload[0]),
                "a payload is whole"
            );
            (message.index, payload[0])
        };
        found.into_iter().map(one).collect()
    }
}

/// Returns `count` messages. Those at `own` are for `person` and contain their index.
pub(crate) fn messages(count: u64, person: &Person, own: &[u64]) -> Vec<v1::Message> {
    let stranger = Person::new(99);
    let message = |index: u64| {
        if own.contains(&index) {
            person.message(index, index as u8)
        } else {
            stranger.message(index, 0)
        }
    };
    (0..count).map(message).collect()
}

impl Client {
    pub(crate) async fn fill(&mut self, messages: Vec<v1::Message>) {
        for (i, chunk) in messages.chunks(50).enumerate() {
            self.board
                .post_messages(post(i as u8, chunk.to_vec()))
                .await
                .unwrap();
        }
    }

    /// Uploads and registers a key.
    pub(crate) async fn register(&mut self, key: &[u8]) -> [u8; 32] {
        let hash = *blake3::hash(key).as_bytes();
        self.upload(key, &hash).await.unwrap();
        let key_hash = hash.to_vec().into();
        self.keys
            .register_key(v1::RegisterKeyRequest { key_hash })
            .await
            .unwrap();
        hash
    }

    pub(crate) async fn upload(&mut self, key: &[u8], hash: &[u8; 32]) -> Result<(), Status> {
        let key_hash: bytes::Bytes = hash.to_vec().into();
        let begin = v1::BeginUploadRequest {
            key_hash: key_hash.clone(),
            total_bytes: key.len() as u64,
        };
        let begun = self.keys.begin_upload(begin).await?.into_inner();
        if begun.complete {
            return Ok(());
        }
        let chunks = chunks(key, &key_hash, begun.next_offset);
        let done = self
            .keys
            .upload_chunks(futures::stream::iter(chunks))
            .await?;
        assert!(done.into_inner().complete);
        Ok(())
    }

    pub(crate) async fn job(&mut self, request: v1::CreateJobRequest) -> Result<v1::Job, Status> {
        let created = self
            .detection
            .create_job(request)
            .await?
            .into_inner()
            .job
            .unwrap();
        let watch = v1::WatchJobRequest {
            job_id: created.job_id,
        };
        let mut states = self.detection.watch_job(watch).await?.into_inner();
        let mut last = None;
        while let Some(state) = states.message().await? {
            last = state.job;
        }
        Ok(last.unwrap())
    }

    pub(crate) async fn digest(&mut self, job: &v1::Job) -> Vec<u8> {
        let fetch = v1::FetchDigestRequest {
            job_id: job.job_id.clone(),
            offset: 0,
        };
        let mut pieces = self
            .detection
            .fetch_digest(fetch)
            .await
            .unwrap()
            .into_inner();
        let mut digest = Vec::new();
        while let Some(piece) = pieces.message().await.unwrap() {
            assert_eq!(piece.offset, digest.len() as u64);
            digest.extend_from_slice(&piece.data);
        }
        assert_eq!(digest.len() as u64, job.digest_bytes);
        digest
    }
}

pub(crate) fn chunks(
    key: &[u8],
    key_hash: &bytes::Bytes,
    from: u64,
) -> Vec<v1::UploadChunksRequest> {
    let size = omr_api::CHUNK_BYTES.min(key.len() / 3);
    let chunk = |start: usize| {
        let data = key[start..key.len().min(start + size)].to_vec();
        v1::UploadChunksRequest {
            key_hash: key_hash.clone(),
            offset: start as u64,
            crc32c: crc32c::crc32c(&data),
            data: data.into(),
        }
    };
    (from as usize..key.len())
        .step_by(size)
        .map(chunk)
        .collect()
}

pub(crate) fn request(id: u8, keys: &[[u8; 32]], start: u64, end: u64) -> v1::CreateJobRequest {
    v1::CreateJobRequest {
        request_id: vec![id; 16].into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start,
        end,
        bound: BOUND,
        ..v1::CreateJobRequest::default()
    }
}

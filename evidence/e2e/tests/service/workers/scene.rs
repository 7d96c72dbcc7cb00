//! A server that leaves all digests to workers, a client that requests them, and workers of several kinds.

use crate::world::{
    Client, PARAMS, PAYLOAD_BYTES, Person, Running, config, messages, request, set, with_token,
};
use omr_api::v1;
use omr_api::v1::worker_service_client::WorkerServiceClient;
use omr_detector::engines::Costs;
use omr_detector::{MessageSource, Messages, Progress, Quiet, Stages};
use omr_protocol::{ClueKind, EngineKind, Scheme, Sealing, Stride};
use omr_remote::Endpoint;
use omr_runner::{Failure, KeyError, KeyRef, Leased, Leases, Made, Pages, Seed, Supplies, Unit};
use omr_server::Config;
use omr_server::tokens::{self, Right, Token};
use omr_worker::{Figures, Settings, Stop, Worker, WorkerError};
use std::io::{Cursor, Read};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;

const MESSAGES: u64 = 60;
/// The person's messages.
const OWN: [u64; 4] = [3, 17, 31, 44];

/// The first of the jobs for SophOMR.
pub(super) const IN_BATCHES: u8 = 100;

/// The position after a job's last message.
fn end(job: u8) -> u64 {
    MESSAGES - u64::from(job % IN_BATCHES)
}

/// A server and a client.
pub(super) struct Scene {
    pub(super) dir: TempDir,
    pub(super) server: Running,
    pub(super) person: Person,
    pub(super) keys: [[u8; 32]; 2],
    board: Vec<v1::Message>,
    client: Client,
}

fn token(dir: &TempDir, name: &str, right: Right) -> String {
    let token = Token {
        name: name.into(),
        hash: String::new(),
        rights: vec![right],
        messages_per_second: None,
        jobs: None,
        sessions: None,
        keys: None,
    };
    tokens::add(&dir.path().join("tokens.toml"), token).unwrap()
}

/// The settings of a worker for a server.
pub(super) fn settings(server: &Running, token: &str) -> Settings {
    let endpoint = Endpoint {
        token: Some(token.into()),
        ..Endpoint::new(format!("http://{}", server.address))
    };
    Settings {
        endpoint,
        name: None,
        on: omr_cuda::Choice::Cpu,
        threads: 1,
        keys: 2,
        messages_bytes: 1 << 20,
        prepared_bytes: 1 << 26,
        together: 0,
        engines: Vec::new(),
        figures: Figures::default(),
        build: String::new(),
    }
}

impl Scene {
    /// Starts a server with leases of `lease_seconds`.
    pub(super) async fn start(lease_seconds: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = token(&dir, "pool", Right::Work);
        std::fs::write(dir.path().join("work.token"), work).unwrap();
        let start = |mut settings: Config| {
            settings.detector.lease_seconds = lease_seconds;
            Running::start(settings)
        };
        Self::of(dir, start).await
    }

    /// Starts the server of a folder.
    pub(super) async fn of<F: Future<Output = Running>>(
        dir: TempDir,
        start: impl FnOnce(Config) -> F,
    ) -> Self {
        let mut settings = config(dir.path());
        settings.detector.local_worker = false;
        (settings.limits.jobs, settings.limits.keys) = (64, 64);
        let server = start(settings).await;
        let mut client = server.client().await;
        let person = Person::new(1);
        let board = messages(MESSAGES, &person, &OWN);
        client.fill(board.clone()).await;
        let keys = [
            client.register(&person.bulk).await,
            client.register(&person.instant).await,
        ];
        Self {
            dir,
            server,
            person,
            keys,
            board,
            client,
        }
    }

    pub(super) fn token(&self, name: &str, right: Right) -> String {
        token(&self.dir, name, right)
    }

    fn pool(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("work.token")).unwrap()
    }

    /// Returns an honest worker.
    pub(super) async fn worker(&self) -> (Stop, JoinHandle<Result<(), WorkerError>>) {
        self.worker_with(&[]).await
    }

    /// Returns an honest worker with some engines.
    pub(super) async fn worker_with(
        &self,
        engines: &[EngineKind],
    ) -> (Stop, JoinHandle<Result<(), WorkerError>>) {
        let settings = Settings {
            engines: engines.to_vec(),
            ..settings(&self.server, &self.pool())
        };
        let worker = Worker::connect(settings).await.unwrap();
        (worker.stop(), tokio::spawn(worker.run()))
    }

    /// Requests a digest. Even jobs have both keys, odd ones that for InstantOMR only, those from [`IN_BATCHES`] on
    /// that for SophOMR; each has its own messages.
    fn asked(&self, number: u8, like: u8) -> v1::CreateJobRequest {
        let keys = match like {
            IN_BATCHES.. => &self.keys[..1],
            like => &self.keys[usize::from(like % 2)..],
        };
        request(number, keys, 0, end(like))
    }

    pub(super) async fn ask(&mut self, number: u8) {
        self.ask_for(number, number).await;
    }

    /// Requests the digest that another job requested.
    pub(super) async fn ask_for(&mut self, number: u8, like: u8) {
        let asked = self.asked(number, like);
        self.client.detection.create_job(asked).await.unwrap();
    }

    pub(super) async fn job(&mut self, number: u8) -> v1::Job {
        let like = if number == 11 { 10 } else { number };
        let asked = self.asked(number, like);
        let created = self.client.detection.create_job(asked).await.unwrap();
        created.into_inner().job.unwrap()
    }

    pub(super) async fn state(&mut self, number: u8) -> v1::JobState {
        self.job(number).await.state()
    }

    pub(super) async fn cancel(&mut self, number: u8) {
        let job_id = self.job(number).await.job_id;
        let cancel = v1::CancelJobRequest { job_id };
        self.client.detection.cancel_job(cancel).await.unwrap();
    }

    /// Fetches a finished digest.
    pub(super) async fn fetch(&mut self, number: u8) -> Vec<u8> {
        let asked = self.client.job(self.asked(number, number));
        let job = tokio::time::timeout(Duration::from_secs(60), asked)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(job.state(), v1::JobState::Done, "{number}: {}", job.error);
        self.client.digest(&job).await
    }

    /// Waits for a digest and checks its content.
    pub(super) async fn exact(&mut self, number: u8) {
        let digest = self.fetch(number).await;
        let own = OWN.into_iter().filter(|&index| index < end(number));
        let expected: Vec<(u64, u8)> = own.map(|index| (index, index as u8)).collect();
        assert_eq!(self.person.decode(&digest), expected, "{number}");
    }

    /// Returns the digest of a unit's only job, made here from keys and messages in memory.
    pub(super) fn digest_of(&self, sent: &v1::WorkUnit) -> Vec<u8> {
        let own = Own {
            scene: self,
            unit: Mutex::new(Some(parsed(sent))),
            made: Mutex::default(),
        };
        let builder = rayon::ThreadPoolBuilder::new().num_threads(1);
        let worker = omr_runner::Worker {
            leases: &own,
            supplies: &own,
            set: set(),
            cards: &omr_cuda::Cards::none(),
            keys: 2,
            pages: &Pages::new(1 << 26, true),
        };
        worker.run(&builder.build().unwrap(), Duration::ZERO, || {});
        own.made.into_inner().unwrap().unwrap()
    }
}

fn parsed(sent: &v1::WorkUnit) -> Unit {
    let engine = |tag: i32| EngineKind::from_tag(tag as u8).unwrap();
    let seed = |seed: &v1::PlacementSeed| Seed {
        engine: engine(seed.engine),
        seed: seed.seed[..].try_into().unwrap(),
    };
    let key = |key: &v1::UnitKey| KeyRef {
        hash: key.key_hash[..].try_into().unwrap(),
        kind: engine(key.kind),
        bytes: key.total_bytes,
    };
    let span = sent.span.unwrap();
    Unit {
        id: sent.unit_id[..].try_into().unwrap(),
        board_id: sent.board_id[..].try_into().unwrap(),
        history_id: sent.history_id[..].try_into().unwrap(),
        sealing: Sealing::None,
        payload_bytes: sent.payload_bytes as usize,
        scheme: Scheme::from_tag(sent.scheme as u8).unwrap(),
        stride: Stride::new(span.start..span.end, span.step),
        bound: sent.bound,
        indices_only: sent.indices_only,
        seeds: sent.seeds.iter().map(seed).collect(),
        costs: Costs {
            batch_s: sent.batch_seconds,
            message_s: sent.message_seconds,
        },
        jobs: vec![sent.jobs[0].keys.iter().map(key).collect()],
        queries: Vec::new(),
        lease: Duration::from_secs(1),
    }
}

/// A coordinator with one unit and everything in memory.
struct Own<'a> {
    scene: &'a Scene,
    unit: Mutex<Option<Unit>>,
    made: Mutex<Option<Vec<u8>>>,
}

impl Leases for Own<'_> {
    fn lease(&self, _: Duration) -> Leased {
        let unit = self.unit.lock().unwrap().take();
        unit.map_or(Leased::Ended, |unit| Leased::Unit(Box::new(unit)))
    }

    fn progress<'a>(&'a self, _: &'a Unit, _: usize) -> Box<dyn Progress + Send + 'a> {
        Box::new(Quiet)
    }

    fn complete(&self, _: &Unit, _: usize, made: Made) {
        *self.made.lock().unwrap() = Some(made.digest);
    }

    fn fail(&self, _: &Unit, _: usize, failure: Failure) {
        panic!("{failure:?}");
    }

    fn ran(&self, _: &Unit, _: &Stages) {}
}

impl Supplies for Own<'_> {
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        let person = &self.scene.person;
        let file = match key.kind {
            EngineKind::Sophomr => &person.bulk,
            EngineKind::Instantomr => &person.instant,
            EngineKind::Rounds => &person.rounds,
        };
        Ok(Box::new(Cursor::new(file.clone())))
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        let board = &self.scene.board;
        let clues = board.iter().flat_map(|message| message.clue.to_vec());
        let payloads = board.iter().flat_map(|message| message.payload.to_vec());
        let all: Messages =
            Messages::new(0..MESSAGES, clues.collect(), payloads.collect()).unwrap();
        assert_eq!(all.clue_bytes(), ClueKind::Bound.bytes(set().clue()));
        Box::new(all)
    }
}

/// A worker that sends what a test determines.
pub(super) struct Raw {
    pub(super) calls: WorkerServiceClient<Channel>,
    pub(super) token: String,
    worker: v1::Worker,
}

impl Raw {
    pub(super) async fn new(scene: &Scene, name: &str) -> Self {
        Self {
            calls: WorkerServiceClient::new(scene.server.channel().await),
            token: scene.pool(),
            worker: v1::Worker {
                worker_id: name.into(),
            },
        }
    }

    pub(super) fn request(&self) -> v1::LeaseRequest {
        v1::LeaseRequest {
            worker: Some(self.worker.clone()),
            version: env!("CARGO_PKG_VERSION").into(),
            params_id: PARAMS.into(),
            engines: vec![1, 2],
            ..v1::LeaseRequest::default()
        }
    }

    pub(super) async fn lease(&mut self) -> Option<v1::WorkUnit> {
        let request = with_token(self.request(), &self.token);
        let unit = self.calls.lease(request).await.unwrap().into_inner().unit;
        unit.inspect(|unit| assert_eq!(unit.payload_bytes, PAYLOAD_BYTES as u32))
    }

    pub(super) async fn renew(&mut self, unit: &v1::WorkUnit) -> Result<Vec<u32>, Status> {
        let request = v1::RenewRequest {
            worker: Some(self.worker.clone()),
            unit_id: unit.unit_id.clone(),
            progress: Vec::new(),
        };
        let renewed = self.calls.renew(with_token(request, &self.token)).await?;
        Ok(renewed.into_inner().wanted)
    }

    pub(super) async fn complete(
        &mut self,
        unit: &v1::WorkUnit,
        job: u32,
        digest: &[u8],
    ) -> Result<bool, Status> {
        let (first, rest) = digest.split_at(digest.len() / 3);
        let pieces = [
            v1::CompleteRequest {
                worker: Some(self.worker.clone()),
                unit_id: unit.unit_id.clone(),
                job,
                total_bytes: digest.len() as u64,
                hash: blake3::hash(digest).as_bytes().to_vec().into(),
                data: first.to_vec().into(),
            },
            v1::CompleteRequest {
                data: rest.to_vec().into(),
                ..v1::CompleteRequest::default()
            },
        ];
        let pieces = with_token(futures::stream::iter(pieces), &self.token);
        Ok(self.calls.complete(pieces).await?.into_inner().kept)
    }

    /// Returns a job, with an error or without blame.
    pub(super) async fn fail(
        &mut self,
        unit: &v1::WorkUnit,
        job: u32,
        error: &str,
    ) -> Result<(), Status> {
        let request = v1::FailRequest {
            worker: Some(self.worker.clone()),
            unit_id: unit.unit_id.clone(),
            job,
            given_back: error.is_empty(),
            error: error.into(),
        };
        let failed = self.calls.fail(with_token(request, &self.token)).await;
        failed.map(drop)
    }

    pub(super) async fn key(&mut self, hash: &bytes::Bytes) -> Result<Vec<u8>, Status> {
        let request = v1::ReadKeyRequest {
            worker: Some(self.worker.clone()),
            key_hash: hash.clone(),
            offset: 0,
        };
        let request = with_token(request, &self.token);
        let mut pieces = self.calls.read_key(request).await?.into_inner();
        let mut file = Vec::new();
        while let Some(piece) = pieces.message().await? {
            file.extend_from_slice(&piece.data);
        }
        Ok(file)
    }
}

//! Starts a server, keeps it going, and stops it in order.

use crate::caller::Callers;
use crate::config::Config;
use crate::connections;
use crate::damage::Damage;
use crate::error::ServerError;
use crate::gate::Gate;
use crate::jobs::{Bounds, Jobs, Worker};
use crate::posting::Posting;
use crate::registrations::Registrations;
use crate::requests::{CHUNK, Requests, bounded, longest_post};
use crate::services;
use crate::sessions::{Sessions, Tools};
use crate::shared::Shared;
use crate::status::Watched;
use crate::tokens::Tokens;
use omr_api::v1;
use omr_board::BoardConfig;
use omr_detector::BoardCache;
use omr_detector::hybrid::Costs;
use omr_ops::{Metrics, Pages};
use omr_protocol::{Clue, ParamSet, Sealing};
use omr_store::{Objects, Store, StoreConfig};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::{Identity, ServerTlsConfig};
use tonic_health::server::HealthReporter;

/// How often figures are looked at and segments sealed.
const LOOK: Duration = Duration::from_secs(5);
/// How often what is old is thrown away.
const TIDY: Duration = Duration::from_secs(600);
/// A connection that answers no ping within this time is closed.
const PING: Duration = Duration::from_secs(30);
/// Bytes of the longest request that names but ids and numbers: they decode to many times as much.
const SMALL: usize = 64 << 10;
/// Streams of one connection.
const CONNECTION_STREAMS: u32 = 64;
/// How long requests may take to end when the server stops.
const FAREWELL: Duration = Duration::from_secs(20);

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    sessions: Option<Arc<Sessions>>,
    listener: TcpListener,
    metrics_listener: Option<TcpListener>,
    threads: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// Where and how a configuration's store is.
pub fn store_config(config: &Config) -> StoreConfig {
    let mut store = StoreConfig::new(&config.data);
    if let Some(url) = &config.objects.url {
        store.objects = Objects::Bucket {
            url: url.clone(),
            options: config.objects.options.clone(),
        };
    }
    if let Some(messages) = config.objects.segment_messages {
        store.segment_messages = messages;
    }
    store.post_id_memory = Duration::from_secs(config.limits.post_id_hours * 3600);
    store.upload_bytes = config.limits.upload_bytes;
    store
}

/// Opens the store, or creates it at the first start.
fn open_store(config: &Config, set: &ParamSet, sealing: Sealing) -> Result<Store, ServerError> {
    let at = store_config(config);
    if !Store::exists(&config.data) {
        let mut board_id = [0; 16];
        getrandom::fill(&mut board_id).map_err(|_| ServerError::NoRandomness)?;
        let board = BoardConfig {
            board_id,
            params_id: set.name().into(),
            sealing: sealing.name().into(),
            clue_bytes: Clue::bytes(set.clue()) as u32,
            payload_bytes: config.board.payload_bytes,
        };
        Store::create(&at, &board)?;
    }
    let store = Store::open(&at)?;
    let board = store.board();
    let names = |params: &str, sealing: &str, bytes: u32| {
        format!("set {params}, sealing {sealing}, payloads of {bytes} bytes")
    };
    let expected = names(set.name(), sealing.name(), config.board.payload_bytes);
    let found = names(&board.params_id, &board.sealing, board.payload_bytes);
    match expected == found {
        true => Ok(store),
        false => Err(ServerError::OtherBoard {
            path: config.data.clone(),
            expected,
            found,
        }),
    }
}

fn pool(threads: usize, name: &'static str) -> Result<rayon::ThreadPool, ServerError> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    Ok(builder
        .thread_name(move |i| format!("{name}-{i}"))
        .build()?)
}

/// The parts of a server in the order in which they depend on each other.
struct Parts {
    config: Arc<Config>,
    set: Arc<ParamSet>,
    store: Store,
    sealing: Sealing,
    metrics: Metrics,
    damage: Arc<Damage>,
    gate: Arc<Gate>,
    costs: Costs,
}

impl Parts {
    fn open(config: Config) -> Result<Self, ServerError> {
        config.check()?;
        let set = Arc::new(ParamSet::named(&config.board.params)?);
        let sealing: Sealing = config.board.sealing.parse()?;
        let store = open_store(&config, &set, sealing)?;
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), set.name());
        Ok(Self {
            costs: Costs {
                batch_s: config.detector.batch_seconds,
                message_s: config.detector.message_seconds,
            },
            config: Arc::new(config),
            set,
            store,
            sealing,
            damage: Arc::new(Damage::new(metrics.clone())),
            metrics,
            gate: Arc::default(),
        })
    }

    fn jobs(&self) -> Result<Jobs, ServerError> {
        let limits = &self.config.limits;
        let bounds = Bounds {
            unfinished: limits.all_jobs as usize,
            keep: Duration::from_secs(limits.digest_hours * 3600),
            costs: self.costs,
            slots: self
                .set
                .bulk()
                .map_or(u64::MAX, |params| params.slots() as u64),
        };
        Jobs::open(self.store.clone(), bounds, self.metrics.clone())
    }

    fn worker(&self, jobs: &Arc<Jobs>) -> Result<JoinHandle<()>, ServerError> {
        let detector = &self.config.detector;
        let pool = pool(detector.threads, "digest")?;
        let worker = Worker {
            store: self.store.clone(),
            set: self.set.clone(),
            sealing: self.sealing,
            jobs: jobs.clone(),
            cache: Arc::new(BoardCache::new(detector.cache_bytes)),
            costs: self.costs,
            gate: self.gate.clone(),
            metrics: self.metrics.clone(),
            damage: self.damage.clone(),
            keys: detector.keys_in_memory,
        };
        Ok(std::thread::spawn(move || worker.run(&pool)))
    }

    fn sessions(&self) -> Result<Option<Arc<Sessions>>, ServerError> {
        if self.set.spec().instant.is_none() {
            return Ok(None);
        }
        let detector = &self.config.detector;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match detector.session_threads {
            0 => cores.div_ceil(2),
            threads => threads,
        };
        let tools = Tools {
            store: self.store.clone(),
            set: self.set.clone(),
            sealing: self.sealing,
            gate: self.gate.clone(),
            metrics: self.metrics.clone(),
            damage: self.damage.clone(),
            messages: AtomicU64::new(0),
            in_memory: detector.session_keys_in_memory,
            limit: self.config.limits.all_sessions as usize,
            pool: pool(threads, "session")?,
        };
        Ok(Some(Arc::new(Sessions::open(tools)?)))
    }

    fn callers(&self) -> Result<Callers, ServerError> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(|_| ServerError::NoRandomness)?;
        let tokens = Tokens::open(self.config.tokens())?;
        Ok(Callers::new(self.config.clone(), tokens, salt))
    }
}

impl Server {
    /// Opens what the server keeps and listens. Needs a tokio runtime.
    ///
    /// Errors: any `ServerError` but those of the network later on.
    pub async fn start(config: Config) -> Result<Self, ServerError> {
        allow_many_files();
        let opened = tokio::task::spawn_blocking(move || -> Result<_, ServerError> {
            let parts = Parts::open(config)?;
            let jobs = Arc::new(parts.jobs()?);
            let sessions = parts.sessions()?;
            Ok((parts, jobs, sessions))
        });
        let (parts, jobs, sessions) = opened.await.map_err(|_| ServerError::Opening)??;
        let listener = connections::listen(parts.config.listen).await?;
        let metrics_listener = match parts.config.watch.metrics {
            Some(address) => Some(connections::listen(address).await?),
            None => None,
        };
        let limits = &parts.config.limits;
        let posting = Posting::start(
            parts.store.clone(),
            limits.posting_bytes,
            parts.metrics.clone(),
        );
        let (posting, writer) = posting;
        let (stop, stopping) = watch::channel(false);
        let mut threads = vec![writer, parts.worker(&jobs)?];
        if let Some(sessions) = sessions.clone() {
            threads.push(std::thread::spawn(move || sessions.run()));
        }
        let shared = Arc::new(Shared {
            registrations: Registrations::open(parts.store.clone(), limits.all_keys as usize)?,
            streams: Arc::new(Semaphore::new(limits.streams)),
            callers: parts.callers()?,
            config: parts.config,
            store: parts.store,
            set: parts.set,
            posting,
            jobs,
            sessions: sessions.clone(),
            metrics: parts.metrics,
            damage: parts.damage,
            checks: Semaphore::new(1),
            stopping,
        });
        shared.metrics.keys(shared.registrations.len() as u64);
        Ok(Self {
            shared,
            sessions,
            listener,
            metrics_listener,
            threads,
            stop,
        })
    }

    /// Where it listens; tells the port where 0 was asked for.
    ///
    /// Errors: `Listen`.
    pub fn address(&self) -> Result<SocketAddr, ServerError> {
        let address = self.shared.config.listen;
        self.listener
            .local_addr()
            .map_err(|source| ServerError::Listen { address, source })
    }

    /// Serves until `stop` is ready, then ends requests, saves sessions and stops jobs, which the next
    /// start resumes.
    ///
    /// Errors: `Transport`, `Read` of the certificate.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            shared,
            sessions,
            listener,
            metrics_listener,
            threads,
            stop: stopping,
        } = self;
        let watched = Arc::new(Watched::new());
        let (reporter, routes) = routes(&shared, &watched, metrics_listener.is_some()).await?;
        let mut server = tonic::transport::Server::builder()
            .accept_http1(true)
            .http2_keepalive_interval(Some(PING))
            .http2_keepalive_timeout(Some(PING))
            .max_concurrent_streams(CONNECTION_STREAMS)
            .layer(tower_http::cors::CorsLayer::permissive());
        if let Some(tls) = &shared.config.tls {
            let certificate =
                std::fs::read(&tls.certificate).map_err(ServerError::read(&tls.certificate))?;
            let key = std::fs::read(&tls.key).map_err(ServerError::read(&tls.key))?;
            let identity = Identity::from_pem(certificate, key);
            server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
        }
        let incoming = connections::accept(
            listener,
            shared.config.limits.connections,
            shared.metrics.clone(),
        );
        let (ending, ended) = tokio::sync::oneshot::channel::<()>();
        let told = shared.clone();
        let farewell = async move {
            stop.await;
            tracing::info!("stopping");
            reporter
                .set_service_status("", tonic_health::ServingStatus::NotServing)
                .await;
            stopping.send_replace(true);
            told.jobs.stop();
            let _ = ending.send(());
        };
        let chores = tokio::spawn(chores(shared.clone(), watched));
        let metrics_server = metrics_listener
            .map(|listener| tokio::spawn(serve_metrics(listener, shared.metrics.clone())));
        let serving = server
            .add_routes(routes)
            .serve_with_incoming_shutdown(incoming, farewell);
        let served = tokio::select! {
            served = serving => served,
            // Clients that hold on must not keep it from stopping.
            () = async { let _ = ended.await; tokio::time::sleep(FAREWELL).await } => Ok(()),
        };
        metrics_server.inspect(|server| server.abort());
        // They end by themselves.
        let _ = chores.await;
        finish(shared, sessions, threads).await;
        Ok(served?)
    }
}

/// Waits until no request works any more, so that the posting queue ends with the server.
async fn wait_for_requests(shared: &Arc<Shared>) {
    let start = Instant::now();
    while Arc::strong_count(shared) > 1 && start.elapsed() < FAREWELL {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for the threads: posts are written, sessions saved.
async fn finish(
    shared: Arc<Shared>,
    sessions: Option<Arc<Sessions>>,
    threads: Vec<JoinHandle<()>>,
) {
    shared.jobs.stop();
    if let Some(sessions) = &sessions {
        sessions.stop();
    }
    wait_for_requests(&shared).await;
    drop(shared);
    let joined = tokio::task::spawn_blocking(move || {
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread died; please report it");
            }
        }
    });
    // Tasks of clients that hold on keep the writer; all that it had is written by then.
    if tokio::time::timeout(FAREWELL, joined).await.is_err() {
        tracing::warn!("some work did not end in time");
    }
    tracing::info!("stopped");
}

async fn routes(
    shared: &Arc<Shared>,
    watched: &Arc<Watched>,
    separate_metrics: bool,
) -> Result<(HealthReporter, Routes), ServerError> {
    use v1::admin_service_server::AdminServiceServer;
    use v1::board_service_server::BoardServiceServer;
    use v1::capability_service_server::CapabilityServiceServer;
    use v1::detection_service_server::DetectionServiceServer;
    use v1::key_service_server::KeyServiceServer;
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", tonic_health::ServingStatus::Serving)
        .await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(omr_api::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|_| ServerError::Reflection)?;
    let mut builder = RoutesBuilder::default();
    let board = shared.store.board();
    let message = (board.clue_bytes + board.payload_bytes) as usize;
    let post = longest_post(shared.config.limits.post_messages, message);
    builder
        .add_service(health)
        .add_service(reflection)
        .add_service(
            BoardServiceServer::new(services::Board(shared.clone()))
                .max_decoding_message_size(post),
        )
        .add_service(
            KeyServiceServer::new(services::Keys(shared.clone())).max_decoding_message_size(CHUNK),
        )
        .add_service(
            DetectionServiceServer::new(services::Detection(shared.clone()))
                .max_decoding_message_size(SMALL),
        )
        .add_service(CapabilityServiceServer::new(services::Capability(
            shared.clone(),
        )))
        .add_service(
            AdminServiceServer::new(services::Admin(shared.clone()))
                .max_decoding_message_size(omr_api::MESSAGE_BYTES),
        );
    // Pages are no gRPC: the layer would refuse them.
    let router = builder.routes().prepare().into_axum_router();
    let idle = Duration::from_secs(shared.config.limits.idle_seconds);
    let mut router =
        router
            .layer(tonic_web::GrpcWebLayer::new())
            .layer(axum::middleware::from_fn_with_state(
                Requests::new(idle, post),
                bounded,
            ));
    let pages = match separate_metrics {
        true => Pages::Status,
        false => Pages::StatusAndMetrics(shared.metrics.clone()),
    };
    if shared.config.watch.status {
        let (shared, watched) = (shared.clone(), watched.clone());
        router = router.merge(omr_ops::router(move || watched.status(&shared), pages));
    } else if !separate_metrics {
        router = router.merge(omr_ops::metrics_router(shared.metrics.clone()));
    }
    Ok((reporter, Routes::from(router)))
}

async fn serve_metrics(listener: TcpListener, metrics: Metrics) {
    if let Err(error) = axum::serve(listener, omr_ops::metrics_router(metrics)).await {
        tracing::error!(%error, "metrics are served no more");
    }
}

/// Work beside requests: segments, figures, what is old.
async fn chores(shared: Arc<Shared>, watched: Arc<Watched>) {
    let mut lengths = shared.store.lengths();
    let mut look = tokio::time::interval(LOOK);
    let mut tidy = tokio::time::interval(TIDY);
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            _ = stopping.changed() => return,
            changed = lengths.changed() => {
                if changed.is_err() {
                    return;
                }
                if let Some(sessions) = &shared.sessions {
                    sessions.wake();
                }
            }
            _ = look.tick() => {
                let (shared, watched) = (shared.clone(), watched.clone());
                run_chore(move || {
                    seal(&shared);
                    watched.look(&shared);
                })
                .await;
            }
            _ = tidy.tick() => {
                let shared = shared.clone();
                run_chore(move || throw_away(&shared)).await;
            }
        }
    }
}

async fn run_chore(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::error!(%error, "a chore died; please report it");
    }
}

fn seal(shared: &Shared) {
    if let Err(error) = shared.store.seal() {
        shared.damage.note(&error);
        tracing::warn!(%error, "segments wait to be sealed");
    }
}

fn throw_away(shared: &Shared) {
    shared.jobs.tidy();
    shared.callers.tidy();
    let old = Duration::from_secs(shared.config.limits.upload_hours * 3600);
    for swept in [shared.store.purge_uploads(old), shared.store.sweep()] {
        if let Err(error) = swept {
            tracing::warn!(%error, "old files stay");
        }
    }
}

/// Asks the system for as many open files as it gives: a connection is one.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays");
    }
}

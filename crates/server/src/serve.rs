//! Starts a server, keeps it going, and stops it in order.

use crate::addresses::Addresses;
use crate::chores::chores;
use crate::config::Config;
use crate::connections;
use crate::error::ServerError;
use crate::parts::Parts;
use crate::posting::Posting;
use crate::registrations::Registrations;
use crate::routes::{routes, serve_metrics};
use crate::sessions::Sessions;
use crate::share::Places;
use crate::shared::Shared;
use crate::status::Watched;
use crate::uploads::Uploads;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::transport::{Identity, ServerTlsConfig};

/// A connection that answers no ping within this time is closed.
const PING: Duration = Duration::from_secs(30);
/// Streams of one connection.
const CONNECTION_STREAMS: u32 = 64;
/// How long requests may take to end when the server stops.
pub(crate) const FAREWELL: Duration = Duration::from_secs(20);

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    sessions: Option<Arc<Sessions>>,
    listener: TcpListener,
    metrics_listener: Option<TcpListener>,
    threads: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
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
            addresses: Addresses::open(parts.store.clone(), limits.all_addresses as usize)?,
            streams: Places::new(limits.streams),
            uploads: Uploads::new(limits.upload_bytes),
            longest_key: parts.longest_key(),
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

    /// All that it answers, without the network: for tests of what strangers may say. Callers are strangers of this
    /// machine unless they have a token.
    ///
    /// Errors: `Setting`, `Reflection`.
    pub async fn router(&self) -> Result<axum::Router, ServerError> {
        let watched = Arc::new(Watched::new());
        let (_, routes) = routes(&self.shared, &watched, false).await?;
        Ok(routes.prepare().into_axum_router())
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
        let mut server = transport(&shared.config)?;
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

/// The transport of a configuration: pings, limits of connections, TLS.
///
/// Errors: `Transport`, `Read` of the certificate.
pub(crate) fn transport(config: &Config) -> Result<tonic::transport::Server, ServerError> {
    let server = tonic::transport::Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING))
        .max_concurrent_streams(CONNECTION_STREAMS);
    let Some(tls) = &config.tls else {
        return Ok(server);
    };
    let certificate =
        std::fs::read(&tls.certificate).map_err(ServerError::read(&tls.certificate))?;
    let key = std::fs::read(&tls.key).map_err(ServerError::read(&tls.key))?;
    let identity = Identity::from_pem(certificate, key);
    Ok(server.tls_config(ServerTlsConfig::new().identity(identity))?)
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

/// Asks the system for as many open files as it gives: a connection is one.
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays");
    }
}

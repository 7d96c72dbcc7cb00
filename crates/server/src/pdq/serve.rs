//! The start, the run and the orderly stop of a server of tables.

use super::arrivals::Arrivals;
use super::keys::{Keys, Room};
use super::service::Service;
use super::tables::{Sets, Tables};
use super::{LONGEST_QUERY, Pdq, PdqConfig};
use crate::caller::Callers;
use crate::config::{Config, MetricsAt};
use crate::error::ServerError;
use crate::host_rules::guarded;
use crate::listening::{Listening, Site, allow_many_files, called, common_services};
use crate::mail;
use crate::requests::{CHUNK, ROOM};
use crate::share::Places;
use crate::tokens::Tokens;
use omr_api::v1::pdq_service_server::PdqServiceServer;
use omr_ops::Metrics;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tonic::service::Routes;

/// The name of the folder of clients' keys, in the data folder.
const KEYS: &str = "pdq-keys";
/// The number of longest files whose bytes are the limit for all unfinished uploads.
const UPLOADS: u64 = 8;
/// The time between two removals of old data.
const TIDY: Duration = Duration::from_secs(30);

/// A listening server of tables.
pub struct PdqServer {
    pdq: Arc<Pdq>,
    listening: Listening,
    stop: watch::Sender<bool>,
}

impl PdqServer {
    /// Reads tables and keys, and listens. Uses these parts of the configuration: address, data folder, TLS, access,
    /// the page, limits of connections and idle time, logs and metrics. Must be called in a tokio runtime.
    ///
    /// Errors: all of `ServerError` except later errors of the network.
    pub async fn start(mut config: Config, pdq: PdqConfig) -> Result<Self, ServerError> {
        allow_many_files(&mut config.limits);
        let (stop, stopping) = watch::channel(false);
        let pdq = tokio::task::spawn_blocking(move || open(config, &pdq, stopping))
            .await
            .map_err(|_| ServerError::Opening)??;
        Ok(Self {
            listening: Listening::open(&pdq.config).await?,
            pdq: Arc::new(pdq),
            stop,
        })
    }

    /// Returns the address at which the server listens. It contains the actual port if the configuration has port 0.
    ///
    /// Errors: `Listen`.
    pub fn address(&self) -> Result<SocketAddr, ServerError> {
        self.listening.address(&self.pdq.config)
    }

    /// Returns the routes of the server without the network, as [`Server::router`](crate::Server::router) does.
    ///
    /// Errors: `Setting`, `Reflection`.
    pub async fn router(&self) -> Result<axum::Router, ServerError> {
        let site = routes(&self.pdq).await?;
        Ok(site.routes.prepare().into_axum_router())
    }

    /// Serves until `stop` is ready. After that, waiting queries are refused, and running ones have some seconds to
    /// finish.
    ///
    /// Errors: `Transport`.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            pdq,
            listening,
            stop: stop_sender,
        } = self;
        let site = routes(&pdq).await?;
        let stopping = move || {
            stop_sender.send_replace(true);
        };
        let callers = pdq.callers.clone();
        let tidying = tokio::spawn(tidy(pdq.clone()));
        let served = listening
            .serve(&pdq.config, callers, &pdq.metrics, site, stop, stopping)
            .await;
        tidying.abort();
        tracing::info!("stopped");
        served
    }
}

/// Removes old data while the server runs.
async fn tidy(pdq: Arc<Pdq>) {
    let mut due = tokio::time::interval(TIDY);
    loop {
        due.tick().await;
        pdq.arrivals.tidy();
        pdq.callers.tidy();
    }
}

fn open(
    config: Config,
    pdq: &PdqConfig,
    stopping: watch::Receiver<bool>,
) -> Result<Pdq, ServerError> {
    config.check()?;
    mail::check(&config.page)?;
    let at_once = pdq.at_once.max(1);
    let sets = Sets::named(&pdq.params)?;
    let tables = Tables::open(&pdq.tables)?;
    let dir = config.data.join(KEYS);
    let room = Room {
        keys: pdq.keys.max(1),
        bytes: pdq.key_bytes,
        in_memory: at_once + 1,
    };
    let keys = Keys::open(&dir, room).map_err(ServerError::write(&dir))?;
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), &sets.names().join(" "));
    metrics.keys(keys.count() as u64);
    let mut salt = [0; 32];
    getrandom::fill(&mut salt).map_err(|_| ServerError::NoRandomness)?;
    let tokens = Tokens::open(config.tokens())?;
    let config = Arc::new(config);
    let longest = sets.longest_key().max(LONGEST_QUERY);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(pdq.threads)
        .thread_name(|i| format!("pdq-{i}"));
    Ok(Pdq {
        callers: Arc::new(Callers::new(config.clone(), tokens, salt)),
        config,
        metrics,
        tables,
        sets,
        keys: Arc::new(keys),
        pool: pool.build()?,
        query_memory: pdq.query_memory,
        query_time: Duration::from_secs(pdq.query_seconds),
        arrivals: Arrivals::new(UPLOADS * longest),
        checks: Semaphore::new(1),
        room: Places::new(at_once + pdq.waiting),
        running: Arc::new(Semaphore::new(at_once)),
        stopping,
    })
}

impl Pdq {
    /// Returns the page with the tables, for people.
    fn page(&self) -> String {
        let table = |served: &omr_pdq::Hosted| {
            let schema = served.schema();
            format!(
                "  {}: {} rows, {} columns\n",
                schema.name,
                schema.rows,
                schema.columns.len()
            )
        };
        let tables: String = self.tables.all().map(table).collect();
        format!(
            "omr {}: private queries of these tables\n\n{tables}\nAsk with `omr pdq query --url` and this address.\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Returns the services and pages, and the reporter of the server's health.
async fn routes(pdq: &Arc<Pdq>) -> Result<Site, ServerError> {
    let (reporter, mut builder) = common_services().await?;
    builder
        .add_service(PdqServiceServer::new(Service(pdq.clone())).max_decoding_message_size(CHUNK));
    let mut router = called(builder, &pdq.config, ROOM, CHUNK);
    let mut pages = vec!["/"];
    let own = pdq.clone();
    router = router.route("/", axum::routing::get(move || async move { own.page() }));
    if pdq.config.metrics_at() == MetricsAt::Server {
        router = router.merge(omr_ops::metrics_router(pdq.metrics.clone()));
        pages.push("/metrics");
    }
    if let Some(folder) = &pdq.config.page.mail {
        pages.extend(mail::PATHS);
        router = router.merge(mail::router(folder));
    }
    let guarded_router = guarded(router, &pdq.config, pages)?;
    Ok(Site {
        reporter,
        routes: Routes::from(guarded_router),
    })
}

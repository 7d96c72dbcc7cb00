//! The start, the run and the orderly stop of a server.

use crate::addresses::Addresses;
use crate::chores::chores;
use crate::config::Config;
use crate::error::ServerError;
use crate::listening::{FAREWELL, Listening, allow_many_files};
use crate::mail;
use crate::parts::Parts;
use crate::posting::Posting;
use crate::routes::routes;
use crate::sessions::Sessions;
use crate::share::Places;
use crate::shared::Shared;
use crate::status::Watched;
use crate::uploads::Uploads;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// A listening server.
pub struct Server {
    shared: Arc<Shared>,
    sessions: Option<Arc<Sessions>>,
    listening: Listening,
    threads: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// The sign of life of a server, for a watchdog.
pub struct Pulse(Weak<Shared>);

impl Pulse {
    /// Waits until the jobs and the database answer, which takes milliseconds unless the server hangs.
    pub async fn check(&self) {
        let Some(shared) = self.0.upgrade() else {
            // The server is about to end.
            return;
        };
        let looked = tokio::task::spawn_blocking(move || {
            shared.jobs.running();
            shared.store.head()
        });
        match looked.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the database answers with an error"),
            Err(error) => tracing::error!(%error, "a sign of life died; please report it"),
        }
    }
}

impl Server {
    /// Opens the data and listens. Must be called in a tokio runtime.
    ///
    /// Errors: all of `ServerError` except later errors of the network.
    pub async fn start(mut config: Config) -> Result<Self, ServerError> {
        allow_many_files(&mut config.limits);
        mail::check(&config.page)?;
        let opened = tokio::task::spawn_blocking(move || -> Result<_, ServerError> {
            let parts = Parts::open(config)?;
            let jobs = Arc::new(parts.jobs()?);
            let sessions = parts.sessions()?;
            Ok((parts, jobs, sessions))
        });
        let (parts, jobs, sessions) = opened.await.map_err(|_| ServerError::Opening)??;
        let listening = Listening::open(&parts.config).await?;
        let limits = &parts.config.limits;
        let (posting, writer) = Posting::start(
            parts.store.clone(),
            limits.posting_bytes,
            parts.metrics.clone(),
        );
        let (stop, stopping) = watch::channel(false);
        let mut threads = vec![writer];
        threads.extend(parts.worker(&jobs)?);
        if let Some(sessions) = sessions.clone() {
            threads.push(std::thread::spawn(move || sessions.run()));
        }
        let shared = Arc::new(Shared {
            orders: parts.orders()?,
            registrations: parts.registrations.clone(),
            addresses: Addresses::open(parts.store.clone(), limits.all_addresses as usize)?,
            streams: Places::new(limits.streams),
            uploads: Uploads::new(limits.upload_bytes),
            longest_key: parts.longest_key(),
            callers: Arc::new(parts.callers()?),
            config: parts.config,
            store: parts.store,
            set: parts.set,
            sealing: parts.sealing,
            pages: parts.pages.clone(),
            room: parts.room,
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
            listening,
            threads,
            stop,
        })
    }

    /// Returns the address at which the server listens. It contains the actual port if the configuration has port 0.
    ///
    /// Errors: `Listen`.
    pub fn address(&self) -> Result<SocketAddr, ServerError> {
        self.listening.address(&self.shared.config)
    }

    /// Returns the address at which metrics are served, if they have their own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.listening.metrics_address()
    }

    /// Returns the sign of life of the server.
    pub fn pulse(&self) -> Pulse {
        Pulse(Arc::downgrade(&self.shared))
    }

    /// Returns the routes of the server without the network, for tests of hostile requests. A caller without a token
    /// counts as a stranger on this machine.
    ///
    /// Errors: `Setting`, `Reflection`.
    pub async fn router(&self) -> Result<axum::Router, ServerError> {
        let watched = Arc::new(Watched::new());
        let site = routes(&self.shared, &watched).await?;
        Ok(site.routes.prepare().into_axum_router())
    }

    /// Serves until `stop` is ready. Then ends requests, saves sessions and stops jobs, which the next start continues.
    ///
    /// Errors: `Transport`.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            shared,
            sessions,
            listening,
            threads,
            stop: stop_sender,
        } = self;
        let watched = Arc::new(Watched::new());
        let site = routes(&shared, &watched).await?;
        let chores = tokio::spawn(chores(shared.clone(), watched));
        let jobs = shared.jobs.clone();
        let stopping = move || {
            stop_sender.send_replace(true);
            jobs.stop();
        };
        let (config, callers) = (shared.config.clone(), shared.callers.clone());
        let served = listening
            .serve(&config, callers, &shared.metrics, site, stop, stopping)
            .await;
        // The chores end by themselves.
        let _ = chores.await;
        finish(shared, sessions, threads).await;
        served
    }
}

/// Waits until no request is running, so that the posting queue ends with the server.
async fn wait_for_requests(shared: &Arc<Shared>) {
    let start = Instant::now();
    while Arc::strong_count(shared) > 1 && start.elapsed() < FAREWELL {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for the threads, until posts are written and sessions are saved.
async fn finish(
    shared: Arc<Shared>,
    sessions: Option<Arc<Sessions>>,
    threads: Vec<JoinHandle<()>>,
) {
    let jobs = shared.jobs.clone();
    jobs.stop();
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
    // A slow client may keep the writer alive, but everything it received is written by then.
    if tokio::time::timeout(FAREWELL, joined).await.is_err() {
        tracing::warn!("some work did not end in time");
        jobs.let_go();
    }
    tracing::info!("stopped");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_hangs_gives_no_sign_of_life() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::tiny(dir.path());
        config.listen = "127.0.0.1:0".parse().unwrap();
        let server = Server::start(config).await.unwrap();
        let pulse = server.pulse();
        pulse.check().await;
        let jobs = server.shared.jobs.clone();
        let (held, holding) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let holder = std::thread::spawn(move || {
            let _jobs = jobs.held();
            held.send(()).unwrap();
            released.recv().unwrap();
        });
        holding.recv().unwrap();
        let sign = tokio::time::timeout(Duration::from_millis(300), pulse.check()).await;
        assert!(sign.is_err(), "a sign of life while the jobs hang");
        release.send(()).unwrap();
        holder.join().unwrap();
        pulse.check().await;
        server.run(async {}).await.unwrap();
        // A server that ended hangs nowhere.
        pulse.check().await;
    }
}

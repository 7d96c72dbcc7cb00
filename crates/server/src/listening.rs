//! The parts that all servers share: addresses, transport, common services, and an orderly stop.

use crate::caller::Callers;
use crate::config::{Config, Limits, MetricsAt};
use crate::connections::{self, Doors};
use crate::error::ServerError;
use crate::requests::{Requests, bounded};
use crate::tls::Secured;
use omr_ops::{Metrics, metrics_router, serve_metrics};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::Server;
use tonic_health::server::HealthReporter;

/// The time within which a connection must answer a ping. Otherwise it is closed.
const PING: Duration = Duration::from_secs(30);
/// The greatest age of a connection. After that it accepts no further request, and ends with its last open one.
const MOST_AGE: Duration = Duration::from_secs(3600);
/// The greatest number of streams of one connection.
const CONNECTION_STREAMS: u32 = 64;
/// The time for open requests to end when the server stops.
pub(crate) const FAREWELL: Duration = Duration::from_secs(20);

/// The routes of a server, and the reporter of its health.
pub(crate) struct Site {
    pub(crate) reporter: HealthReporter,
    pub(crate) routes: Routes,
}

/// The addresses of a server, and the transport of connections to them.
pub(crate) struct Listening {
    tls: Option<Secured>,
    clients: TcpListener,
    metrics: Option<TcpListener>,
}

impl Listening {
    /// Opens the addresses.
    ///
    /// Errors: `Listen`, and `Read` and `Certificate` for the certificate.
    pub(crate) async fn open(config: &Config) -> Result<Self, ServerError> {
        let tls = config.tls.as_ref().map(Secured::open).transpose()?;
        let clients = connections::listen(config.listen).await?;
        let metrics = match config.metrics_at() {
            MetricsAt::Own(address) => Some(connections::listen(address).await?),
            MetricsAt::Server | MetricsAt::Nowhere => None,
        };
        Ok(Self {
            tls,
            clients,
            metrics,
        })
    }

    /// Returns the address for clients. It contains the actual port if the configuration has port 0.
    ///
    /// Errors: `Listen`.
    pub(crate) fn address(&self, config: &Config) -> Result<SocketAddr, ServerError> {
        let address = config.listen;
        self.clients
            .local_addr()
            .map_err(|source| ServerError::Listen { address, source })
    }

    /// Returns the address of the metrics, if they have their own, with the actual port.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.local_addr().ok()
    }

    /// Serves until `stop` is ready, then calls `stopping` and waits a limited time for open requests.
    ///
    /// Errors: `Transport`, `Setting`.
    pub(crate) async fn serve(
        self,
        config: &Config,
        callers: Arc<Callers>,
        metrics: &Metrics,
        site: Site,
        stop: impl Future<Output = ()> + Send + 'static,
        stopping: impl FnOnce() + Send + 'static,
    ) -> Result<(), ServerError> {
        if let Some(address) = self.metrics_address() {
            tracing::info!("metrics at http://{address}/metrics");
        }
        let doors = Doors::new(config, callers, metrics.clone())?;
        let incoming = connections::accept(self.clients, doors);
        let (ending, ended) = tokio::sync::oneshot::channel::<()>();
        let farewell = async move {
            stop.await;
            tracing::info!("stopping");
            site.reporter
                .set_service_status("", tonic_health::ServingStatus::NotServing)
                .await;
            stopping();
            let _ = ending.send(());
        };
        let metrics_server = self
            .metrics
            .map(|listener| tokio::spawn(serve_metrics(listener, metrics_router(metrics.clone()))));
        let serving = async {
            let serving = transport().add_routes(site.routes);
            match self.tls {
                None => {
                    serving
                        .serve_with_incoming_shutdown(incoming, farewell)
                        .await
                }
                Some(tls) => {
                    let looking = tokio::spawn(tls.certificate.clone().watch());
                    let secured = tls.accept(incoming);
                    let served = serving
                        .serve_with_incoming_shutdown(secured, farewell)
                        .await;
                    looking.abort();
                    served
                }
            }
        };
        let served = tokio::select! {
            served = serving => served,
            // Clients that stay connected must not prevent the stop.
            () = async { let _ = ended.await; tokio::time::sleep(FAREWELL).await } => Ok(()),
        };
        metrics_server.inspect(|server| server.abort());
        Ok(served?)
    }
}

/// Returns the services for health and reflection, in a builder to which a server adds its own services.
///
/// Errors: `Reflection`.
pub(crate) async fn common_services() -> Result<(HealthReporter, RoutesBuilder), ServerError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", tonic_health::ServingStatus::Serving)
        .await;
    let reflected = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(omr_api::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let reflection = reflected()
        .build_v1()
        .map_err(|_| ServerError::Reflection)?;
    // Many clients know its last version before the first alone.
    let before = reflected()
        .build_v1alpha()
        .map_err(|_| ServerError::Reflection)?;
    let mut builder = RoutesBuilder::default();
    builder
        .add_service(health)
        .add_service(reflection)
        .add_service(before);
    Ok((reporter, builder))
}

/// Returns the routes of services for gRPC and gRPC-Web, whose requests have at most `longest` bytes each and `room`
/// bytes together. Pages must be added after this, which refuses them.
pub(crate) fn called(
    services: RoutesBuilder,
    config: &Config,
    room: usize,
    longest: usize,
) -> axum::Router {
    let idle = Duration::from_secs(config.limits.idle_seconds);
    let requests = Requests::new(room, idle, longest);
    let router = services.routes().prepare().into_axum_router();
    router
        .layer(tonic_web::GrpcWebLayer::new())
        .layer(axum::middleware::from_fn_with_state(requests, bounded))
        .layer(axum::middleware::from_fn(omr_ops::in_trace_of_caller))
}

/// Returns the transport of a server: pings and limits of connections.
fn transport() -> Server {
    Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING))
        .max_connection_age(MOST_AGE)
        .max_concurrent_streams(CONNECTION_STREAMS)
}

/// The number of open files that are kept from connections: for the database, segments, uploads, keys and the log.
const RESERVE: u64 = 256;

/// Raises the limit of open files as far as the system allows, since every connection is an open file. Lowers the limit
/// of connections if that is not enough: otherwise many clients could prevent the server from sealing segments.
pub(crate) fn allow_many_files(limits: &mut Limits) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays");
    }
    // If the system has no limit, there is room for all.
    if let Some(files) = getrlimit(Resource::Nofile).current {
        fit_connections(limits, files);
    }
}

fn fit_connections(limits: &mut Limits, files: u64) {
    let most = (files - RESERVE.min(files / 2)).max(1) as usize;
    if limits.connections > most {
        tracing::warn!(
            "limits.connections is lowered from {} to {most}: this process may have {files} open files (LimitNOFILE, \
             ulimit -n), some of which are for the data",
            limits.connections
        );
        limits.connections = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_data() {
        let lowered = |files| {
            let mut limits = Limits {
                connections: 12_000,
                ..Limits::default()
            };
            fit_connections(&mut limits, files);
            limits.connections
        };
        assert_eq!(
            [20_000, 12_256, 12_255].map(lowered),
            [12_000, 12_000, 11_999]
        );
        assert_eq!([1024, 64, 1].map(lowered), [768, 32, 1]);
    }
}

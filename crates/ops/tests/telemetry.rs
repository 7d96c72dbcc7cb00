//! Spans reach a collector. A process has one subscriber, so this file has one test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use omr_ops::{OpsError, TelemetryConfig, init};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// Keeps what it is sent.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0
            .lock()
            .expect("no panic before")
            .push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Names of the spans, and of the services that sent them.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        let requests = self.0.lock().expect("no panic before");
        let parts: Vec<_> = requests
            .iter()
            .flat_map(|request| &request.resource_spans)
            .collect();
        let spans = parts
            .iter()
            .flat_map(|part| &part.scope_spans)
            .flat_map(|scope| &scope.spans)
            .map(|span| span.name.clone())
            .collect();
        let services = parts
            .iter()
            .filter_map(|part| part.resource.as_ref())
            .flat_map(|resource| &resource.attributes)
            .filter(|attribute| attribute.key == "service.name")
            .map(|attribute| format!("{:?}", attribute.value))
            .collect();
        (spans, services)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_the_collector_at_the_latest_at_shutdown() {
    let collector = Collector::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(collector.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    let config = TelemetryConfig {
        otlp_endpoint: Some(format!("http://{address}")),
        service_name: "omr-test".to_owned(),
        ..TelemetryConfig::default()
    };
    let bad = TelemetryConfig {
        filter: "omr=loud".to_owned(),
        ..config.clone()
    };
    assert!(matches!(init(&bad), Err(OpsError::Filter { found, .. }) if found == "omr=loud"));
    let bad = TelemetryConfig {
        otlp_endpoint: Some("no endpoint".to_owned()),
        ..config.clone()
    };
    assert!(matches!(init(&bad), Err(OpsError::Endpoint { .. })));

    let telemetry = init(&config).expect("nothing is set up yet");
    assert!(matches!(init(&config), Err(OpsError::AlreadySetUp)));
    {
        let outer = tracing::info_span!("digest", scheme = "sophomr").entered();
        tracing::info_span!("opening").in_scope(|| tracing::info!("working"));
        tracing::debug_span!("detail").in_scope(|| ());
        drop(outer);
    }
    let shutdown = tokio::task::spawn_blocking(move || telemetry.shutdown());
    tokio::time::timeout(Duration::from_secs(60), shutdown)
        .await
        .expect("shutdown ends")
        .expect("no panic")
        .expect("the collector answers");

    let (mut spans, services) = collector.names();
    spans.sort();
    assert_eq!(spans, ["digest", "opening"]);
    assert!(!services.is_empty());
    assert!(
        services.iter().all(|service| service.contains("omr-test")),
        "{services:?}"
    );
}

//! A collector of traces for tests.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// The spans that have arrived, by sender.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<ResourceSpans>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut all = self.0.lock().unwrap();
        all.extend(request.into_inner().resource_spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Starts a collector in the runtime of the caller, and returns it with its URL.
    pub(crate) async fn start() -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(TraceServiceServer::new(collector.clone()))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        (collector, url)
    }

    /// Returns all spans, ordered by the times when they began; panics unless all are from the service of this name.
    pub(crate) fn spans_of(&self, service: &str) -> Vec<Span> {
        let all = self.0.lock().unwrap();
        for part in all.iter() {
            let attributes = part.resource.iter().flat_map(|all| &all.attributes);
            let mut named = attributes.filter(|attribute| attribute.key == "service.name");
            let found = format!("{:?}", named.next().map(|name| &name.value));
            assert!(found.contains(&format!("\"{service}\"")), "{found}");
        }
        let scopes = all.iter().flat_map(|part| &part.scope_spans);
        let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans.clone()).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }
}

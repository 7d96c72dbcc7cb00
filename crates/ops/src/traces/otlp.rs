//! Spans to a collector that takes OTLP over gRPC.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use opentelemetry::global;
use opentelemetry::trace::{FutureExt as _, TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

use crate::error::OpsError;

/// How long spans may take to the collector before they are given up.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Traces under way.
#[derive(Debug)]
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Traces to a collector, filed under the service's name. From now on the process continues its callers' traces, and
    /// its own calls carry its trace context.
    ///
    /// Errors: [`OpsError::Endpoint`].
    pub(crate) fn to(endpoint: &str, service_name: &str) -> Result<Self, OpsError> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .map_err(|source| OpsError::Endpoint {
                found: endpoint.to_owned(),
                source,
            })?;
        let resource = Resource::builder()
            .with_service_name(service_name.to_owned())
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource);
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Self(provider.build()))
    }

    /// Returns the layer that turns the process's spans into traces.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer = tracing_opentelemetry::layer().with_tracer(self.0.tracer("omr"));
        // The exporter's own requests would be traced, and their traces exported.
        layer.with_filter(EnvFilter::new("info,h2=off,hyper=off,tonic=off,tower=off"))
    }

    /// Sends the spans that are left.
    ///
    /// Errors: [`OpsError::Flush`].
    pub(crate) fn shutdown(self) -> Result<(), OpsError> {
        Ok(self.0.shutdown()?)
    }
}

/// Answers a request whose spans continue the trace that its headers name, if any. Invalid headers are ignored, as
/// W3C's Trace Context requires.
pub async fn in_trace_of_caller(request: Request, next: Next) -> Response {
    let headers = trace_headers(request.headers());
    let context = global::get_text_map_propagator(|propagator| propagator.extract(&headers));
    next.run(request).with_context(context).await
}

/// Returns the headers of Trace Context. Two parents are none, and states of several lines are one list.
fn trace_headers(headers: &HeaderMap) -> HashMap<String, String> {
    let values = |name: &str| {
        let all = headers.get_all(name).iter();
        all.filter_map(|value| Some(value.to_str().ok()?.to_owned()))
            .collect::<Vec<_>>()
    };
    let mut found = HashMap::new();
    if let [parent] = &values("traceparent")[..] {
        found.insert("traceparent".to_owned(), parent.clone());
        found.insert("tracestate".to_owned(), values("tracestate").join(","));
    }
    found
}

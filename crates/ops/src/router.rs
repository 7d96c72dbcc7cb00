//! The HTTP routes of the status page, its JSON and the metrics.

use axum::Router;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::metrics::Metrics;
use crate::page::{content_security_policy, status_page};
use crate::plain::plain;
use crate::status::Status;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `/` and `/status.json`. `status` is asked at every request and must not block.
pub fn router<S>(status: S) -> Router
where
    S: Fn() -> Status + Clone + Send + Sync + 'static,
{
    let page = status.clone();
    Router::new()
        .route(
            "/",
            get(move |uri: Uri| async move {
                let mut pairs = uri.query().unwrap_or_default().split('&');
                let refresh = pairs.any(|pair| pair == "refresh=on");
                answer(HTML, status_page(&page(), refresh))
            }),
        )
        .route("/status.json", get(move || async move { json(&status()) }))
}

/// `/metrics`.
pub fn metrics_router(metrics: Metrics) -> Router {
    text_router(move || metrics.encode())
}

/// `/metrics` with text of OpenMetrics, or of the older format for those who accept that alone.
pub(crate) fn text_router(text: impl Fn() -> String + Clone + Send + Sync + 'static) -> Router {
    Router::new().route(
        "/metrics",
        get(move |headers: HeaderMap| async move {
            let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
            let accepted = accepted.unwrap_or_default();
            if accepted.contains("text/plain") && !accepted.contains("openmetrics-text") {
                answer(PLAIN, plain(&text()))
            } else {
                answer(OPENMETRICS, text())
            }
        }),
    )
}

/// Serves metrics at an address of their own until the task is aborted.
pub async fn serve_metrics(listener: TcpListener, router: Router) {
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "metrics are no longer served");
    }
}

fn json(status: &Status) -> Response {
    match serde_json::to_string_pretty(status) {
        Ok(text) => answer(JSON, text),
        Err(_) => axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Figures are of the moment: nobody keeps them, nobody guesses their type, nothing is loaded for them.
fn answer(content_type: &'static str, body: String) -> Response {
    let headers: [(HeaderName, String); 5] = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (CONTENT_SECURITY_POLICY, content_security_policy()),
    ];
    (headers, body).into_response()
}

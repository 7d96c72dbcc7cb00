//! Spans reach a collector. A process has one subscriber, so this file has one test.

mod collector;

use collector::Collector;
use omr_ops::{OpsError, TelemetryConfig, init};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_the_collector_at_the_latest_at_shutdown() {
    let (collector, url) = Collector::start().await;
    let config = TelemetryConfig {
        otlp_endpoint: Some(url),
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

    let names: Vec<String> = collector
        .spans_of("omr-test")
        .into_iter()
        .map(|span| span.name)
        .collect();
    assert_eq!(names, ["digest", "opening"]);
}

//! Traces over the border between client and server. A process has one subscriber, so this file has one test.

#[path = "../../../../crates/ops/tests/collector/mod.rs"]
mod collector;

use crate::world;
use collector::Collector;
use omr_api::v1::GetBoardRequest;
use omr_ops::TelemetryConfig;
use omr_remote::Endpoint;
use tonic::Request;
use tracing::Instrument;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_in_the_traces_of_their_callers_alone() {
    let (collector, otlp_endpoint) = Collector::start().await;
    let telemetry = omr_ops::init(&TelemetryConfig {
        otlp_endpoint: Some(otlp_endpoint),
        ..TelemetryConfig::default()
    })
    .unwrap();
    let (_dir, server, mut client) = world::served(|_| ()).await;

    // Headers as any client may send them.
    let valid = format!("00-{TRACE}-{PARENT}-01");
    let headers: [&[(&'static str, &str)]; 6] = [
        &[("traceparent", &valid)],
        &[
            ("traceparent", &valid),
            ("tracestate", "one=1"),
            ("tracestate", "two=2"),
        ],
        &[],
        &[("traceparent", "00-no-trace-01")],
        &[("traceparent", &valid), ("traceparent", &valid)],
        &[("tracestate", "one=1")],
    ];
    for lines in headers {
        let mut request = Request::new(GetBoardRequest::default());
        for (name, value) in lines {
            request.metadata_mut().append(*name, value.parse().unwrap());
        }
        client.board.get_board(request).await.unwrap();
    }

    // A client in a program with a span, and without one.
    let endpoint = Endpoint::new(format!("http://{}", server.address));
    let remote = omr_remote::Client::connect(&endpoint).unwrap();
    let caller = tracing::info_span!("caller");
    remote.capabilities().instrument(caller).await.unwrap();
    remote.capabilities().await.unwrap();

    server.stop().await;
    let shutdown = tokio::task::spawn_blocking(move || telemetry.shutdown());
    shutdown.await.unwrap().unwrap();

    let named = |name: &str| {
        let mut spans = collector.spans_of("omr");
        spans.retain(|span| span.name == name);
        spans
    };
    let boards = named("GetBoard");
    let [plain, stated, fresh @ ..] = &boards[..] else {
        panic!("{boards:?}");
    };
    for span in [plain, stated] {
        assert_eq!(hex(&span.trace_id), TRACE);
        assert_eq!(hex(&span.parent_span_id), PARENT);
    }
    assert_eq!(plain.trace_state, "");
    assert_eq!(stated.trace_state, "one=1,two=2");
    assert_eq!(fresh.len(), headers.len() - 2);
    for span in fresh {
        assert_ne!(hex(&span.trace_id), TRACE);
        assert_eq!(span.parent_span_id, [0; 0]);
    }

    let [caller] = &named("caller")[..] else {
        panic!("expected one span of the caller");
    };
    let answered = named("GetCapabilities");
    let [within, without] = &answered[..] else {
        panic!("{answered:?}");
    };
    assert_eq!(within.trace_id, caller.trace_id);
    assert_eq!(within.parent_span_id, caller.span_id);
    assert_ne!(without.trace_id, caller.trace_id);
    assert_eq!(without.parent_span_id, [0; 0]);
}

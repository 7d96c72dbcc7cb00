//! The status page and its siblings, as they go over the wire.

use omr_ops::{
    Check, Cost, DiskUse, FinishedDigest, Growth, Health, Metrics, Pages, RunningJob,
    SessionFigures, Status, metrics_router, router, status_page,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const HOSTILE: &str = "<script>alert('\"&')</script>";

fn status() -> Status {
    Status {
        version: "9.8.7".to_owned(),
        board_id: "00112233445566778899aabbccddeeff".to_owned(),
        params_id: "hybrid-v1".to_owned(),
        written_unix_seconds: 1_767_323_045,
        uptime_seconds: 3_725,
        health: Health::of(vec![Check {
            name: "disk".to_owned(),
            good: false,
            found: "nearly full".to_owned(),
        }]),
        messages: 1_234_567,
        growth: (0..4u64)
            .map(|hour| Growth {
                unix_seconds: 1_767_312_245 + hour * 3_600,
                messages: 1_234_000 + hour * 189,
            })
            .collect(),
        queued_jobs: 41,
        lists_digests: true,
        running_jobs: vec![RunningJob {
            scheme: "sophomr".to_owned(),
            stage: "range_check".to_owned(),
            stage_done: 3,
            stage_total: 48,
            seconds: 7.25,
        }],
        digests: vec![FinishedDigest {
            scheme: "instantomr".to_owned(),
            messages: 65_536,
            seconds: 455.31,
        }],
        costs: vec![Cost {
            scheme: "hybrid".to_owned(),
            milliseconds_a_message: 0.174,
        }],
        sessions: SessionFigures {
            open: 17,
            messages: 918_273,
            lag_messages: 29,
        },
        disk: vec![DiskUse {
            kind: "segments".to_owned(),
            bytes: 99_741_811,
        }],
        disk_free_bytes: Some(2_500_000_000),
    }
}

#[test]
fn the_page_has_every_figure() {
    let page = status_page(&status(), false);
    for figure in [
        "9.8.7",
        "00112233445566778899aabbccddeeff",
        "hybrid-v1",
        "2026-01-02 03:04:05 UTC",
        "1h 2m 5s",
        "Not healthy",
        "nearly full",
        "<dt>Messages</dt><dd>1\u{202f}234\u{202f}567</dd>",
        "567 more",
        "<dt>Jobs waiting</dt><dd>41</dd>",
        "<dt>Jobs running</dt><dd>1</dd>",
        "range_check",
        "3 of 48",
        "7.2",
        "instantomr",
        "65\u{202f}536",
        "455.31",
        "0.174",
        "<th scope=\"row\">17</th>",
        "918\u{202f}273",
        "29",
        "99.7 MB",
        "2.5 GB",
        "points=\"0.0,156.0 200.0,105.3 400.0,54.7 600.0,4.0\"",
    ] {
        assert!(page.contains(figure), "no `{figure}` in\n{page}");
    }
}

#[test]
fn a_healthy_service_without_work_has_a_page() {
    let page = status_page(
        &Status {
            health: Health::of(Vec::new()),
            ..Status::default()
        },
        false,
    );
    assert!(page.contains("<p class=\"good\">Healthy</p>"));
    assert!(page.contains("No growth measured yet."));
    assert!(!page.contains("NaN"));
}

#[test]
fn growth_that_stands_still_or_goes_back_is_drawn() {
    let mut still = status();
    still.growth.iter_mut().for_each(|point| point.messages = 5);
    let page = status_page(&still, false);
    assert!(page.contains("points=\"0.0,156.0 200.0,156.0 400.0,156.0 600.0,156.0\""));
    still.growth.reverse();
    assert!(status_page(&still, false).contains("points=\"600.0,156.0 "));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = || HOSTILE.to_owned();
    let status = Status {
        version: hostile(),
        board_id: hostile(),
        params_id: hostile(),
        health: Health::of(vec![Check {
            name: hostile(),
            good: true,
            found: hostile(),
        }]),
        running_jobs: vec![RunningJob {
            scheme: hostile(),
            stage: hostile(),
            ..RunningJob::default()
        }],
        digests: vec![FinishedDigest {
            scheme: hostile(),
            ..FinishedDigest::default()
        }],
        costs: vec![Cost {
            scheme: hostile(),
            ..Cost::default()
        }],
        disk: vec![DiskUse {
            kind: hostile(),
            bytes: 1,
        }],
        ..status()
    };
    let page = status_page(&status, true);
    assert!(!page.contains("<script"));
    let escaped = "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;";
    assert_eq!(page.matches(escaped).count(), 10);
}

#[test]
fn the_page_loads_anew_only_on_demand() {
    assert!(!status_page(&status(), false).contains("http-equiv"));
    assert!(status_page(&status(), true).contains("http-equiv=\"refresh\" content=\"30\""));
}

/// Serves the pages and gives back a client of them.
async fn serve(app: axum::Router) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Head and body of an answer.
async fn get(address: std::net::SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: omr\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn pages_have_their_types_and_are_not_kept() {
    let metrics = Metrics::new("9.8.7", "hybrid-v1");
    let address = serve(router(status, Pages::StatusAndMetrics(metrics))).await;
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/status.json", "application/json"),
        (
            "/metrics",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
    ] {
        let (head, _) = get(address, path).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        for line in [
            &format!("content-type: {kind}"),
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(
                head.lines().any(|found| found == line),
                "no `{line}` in\n{head}"
            );
        }
        assert!(head.contains("content-security-policy: default-src 'none'; style-src 'sha256-"));
    }
    let (_, page) = get(address, "/?refresh=on").await;
    assert_eq!(page, status_page(&status(), true));
    let (_, json) = get(address, "/status.json").await;
    let found: Status = serde_json::from_str(&json).expect("a status");
    assert_eq!(found, status());
    let (_, metrics) = get(address, "/metrics").await;
    assert!(metrics.contains("omr_build_info{version=\"9.8.7\""));
}

#[tokio::test]
async fn metrics_can_have_an_address_of_their_own() {
    let public = serve(router(status, Pages::Status)).await;
    let (head, _) = get(public, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let private = serve(metrics_router(Metrics::new("9.8.7", "hybrid-v1"))).await;
    let (head, _) = get(private, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (head, _) = get(private, "/").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
}

#[test]
fn single_digests_are_listed_only_where_that_is_wanted() {
    let listed = status_page(&status(), false);
    let kept = Status {
        lists_digests: false,
        ..status()
    };
    let hidden = status_page(&kept, false);
    for text in [
        "Last digests",
        "Running jobs",
        "Jobs running",
        "455.31",
        "range_check",
    ] {
        assert!(listed.contains(text), "{text}");
        assert!(!hidden.contains(text), "{text}");
    }
}

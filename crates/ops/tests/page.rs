//! The status page and its siblings, as they go over the wire.

use omr_ops::{
    Check, Cost, Count, DiskUse, FinishedDigest, Growth, Health, JobFigures, Metrics,
    PostingFigures, Rate, RunningJob, SessionFigures, Status, UseFigures, metrics_router, router,
    status_page,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const HOSTILE: &str = "<script>alert('\"&')</script>";

fn count(kind: &str, count: u64) -> Count {
    Count {
        kind: kind.to_owned(),
        count,
    }
}

fn posting() -> PostingFigures {
    PostingFigures {
        minute: Rate {
            milliseconds: 60_000,
            posts: 21,
            messages: 1_042,
        },
        hour: Rate {
            milliseconds: 3_600_400,
            posts: 900,
            messages: 4_000,
        },
        refused: vec![count("resource_exhausted", 1_003), count("odd", 6)],
    }
}

fn in_use() -> UseFigures {
    UseFigures {
        counted_unix_seconds: 1_767_322_800,
        every_seconds: 900,
        jobs: JobFigures {
            waiting: 41,
            running: 1,
            done: 1_234,
            failed: 13,
            cancelled: 14,
        },
        keys: 77,
        key_bytes: 4_200_000_000,
        sessions: SessionFigures {
            open: 17,
            messages: 918_273,
            lag_messages: 29,
        },
        refused: vec![count("unauthenticated", 31)],
        memory_bytes: Some(3_500_000_000),
        memory_limit_bytes: Some(16_000_000_000),
        disk: vec![DiskUse {
            kind: "segments".to_owned(),
            bytes: 99_741_811,
        }],
        disk_free_bytes: Some(2_500_000_000),
    }
}

fn status() -> Status {
    Status {
        version: "9.8.7".to_owned(),
        build: "release, x86_64 linux".to_owned(),
        source: "https://example.org/omr".to_owned(),
        board_id: "00112233445566778899aabbccddeeff".to_owned(),
        params_id: "hybrid-v4".to_owned(),
        written_unix_seconds: 1_767_323_045,
        uptime_seconds: 3_725,
        health: Health::of(vec![Check {
            name: "disk".to_owned(),
            good: false,
            found: "nearly full".to_owned(),
        }]),
        messages: 1_234_567,
        first_index: 1_000_000,
        expire_days: 90,
        growth: (0..4u64)
            .map(|hour| Growth {
                unix_seconds: 1_767_312_245 + hour * 3_600,
                messages: 1_234_000 + hour * 189,
                posts: hour * 1_800,
            })
            .collect(),
        posting: posting(),
        in_use: in_use(),
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
        configured_costs: vec![Cost {
            scheme: "hybrid".to_owned(),
            milliseconds_a_message: 0.174,
        }],
        mail: true,
    }
}

#[test]
fn the_page_has_every_figure() {
    let page = status_page(&status(), false);
    for figure in [
        "<dt>Version</dt><dd><a href=\"https://example.org/omr\">9.8.7</a></dd>",
        "<dt>Build</dt><dd>release, x86_64 linux</dd>",
        "00112233445566778899aabbccddeeff",
        "hybrid-v4",
        "2026-01-02 03:04:05 UTC",
        "1h 2m 5s",
        "Not healthy",
        "nearly full",
        "<dt>Messages</dt><dd>1\u{202f}234\u{202f}567</dd>",
        "567 more",
        "<dt>First message kept</dt><dd>1\u{202f}000\u{202f}000</dd>",
        "<dt>Messages expire</dt><dd>after 90 days</dd>",
        "0.35 a second: 21 posts of 1\u{202f}042 messages in 60 s",
        "0.25 a second: 900 posts of 4\u{202f}000 messages in 3600 s",
        "over a rate, or no room (resource_exhausted)</th><td class=\"number\">1\u{202f}003</td>",
        "odd</th><td class=\"number\">6</td>",
        "no token, or an unknown one (unauthenticated)</th><td class=\"number\">31</td>",
        "2026-01-02 03:00:00 UTC",
        "again every 15m",
        "<dt>Jobs waiting</dt><dd>41</dd>",
        "<dt>Jobs running</dt><dd>1</dd>",
        "<dt>Jobs done since the start</dt><dd>1\u{202f}234</dd>",
        "<dt>Jobs failed</dt><dd>13</dd>",
        "<dt>Jobs cancelled while running</dt><dd>14</dd>",
        "<dt>Keys registered</dt><dd>77, 4.2 GB in all</dd>",
        "<dt>Memory</dt><dd>3.5 GB of 16.0 GB, 21.9 %</dd>",
        "range_check",
        "3 of 48",
        "7.2",
        "instantomr",
        "65\u{202f}536",
        "455.31",
        "Configured costs",
        "not measured here",
        "0.174",
        "<dt>Sessions open</dt><dd>17</dd>",
        "918\u{202f}273",
        "<dt>Slowest session behind by</dt><dd>29</dd>",
        "99.7 MB",
        "2.5 GB",
        // Ticks with what they say, units, and the curves between them.
        ">messages</text>",
        ">1\u{202f}234\u{202f}600</text>",
        ">posts a second</text>",
        ">0.6</text>",
        ">01:00</text>",
        ">time, UTC</text>",
        "points=\"76.4,180.0 163.6,131.5 250.8,83.0 338.0,34.5\"",
        "0.500 in all, 0.500 at most",
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
    for point in &mut still.growth {
        (point.messages, point.posts) = (5, 7);
    }
    let page = status_page(&still, false);
    assert!(
        page.contains("points=\"15.6,180.0 123.1,180.0 230.5,180.0 338.0,180.0\""),
        "{page}"
    );
    assert!(page.contains("0.000 in all, 0.000 at most"), "{page}");
    // A clock that goes back gives no rate.
    still.growth.reverse();
    let page = status_page(&still, false);
    assert!(page.contains("points=\"338.0,180.0 "), "{page}");
    assert!(page.contains("points=\"\""), "{page}");
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}

#[test]
fn hostile_text_stays_text() {
    let hostile = || HOSTILE.to_owned();
    let status = Status {
        version: hostile(),
        build: hostile(),
        source: format!("https://{HOSTILE}"),
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
        configured_costs: vec![Cost {
            scheme: hostile(),
            ..Cost::default()
        }],
        posting: PostingFigures {
            refused: vec![count(HOSTILE, 1)],
            ..posting()
        },
        in_use: UseFigures {
            refused: vec![count(HOSTILE, 1)],
            disk: vec![DiskUse {
                kind: hostile(),
                bytes: 1,
            }],
            ..in_use()
        },
        ..status()
    };
    let page = status_page(&status, true);
    assert!(!page.contains("<script"));
    let escaped = "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;";
    assert_eq!(page.matches(escaped).count(), 14);
}

#[test]
fn the_page_needs_no_script_and_tells_nobody_where_it_was_read() {
    for refresh in [false, true] {
        let page = status_page(&status(), refresh);
        for forbidden in [
            "<script",
            "onload",
            "onclick",
            "javascript:",
            "style=",
            "src=",
            "url(",
        ] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        // A button, as it changes what the page does.
        let button = if refresh {
            "<button>Stop</button>"
        } else {
            "<button name=\"refresh\" value=\"on\">"
        };
        assert!(page.contains(button), "{page}");
        assert!(
            !page.contains("method="),
            "a form that changes nothing at the server"
        );
    }
}

#[test]
fn figures_of_the_moment_are_not_called_old() {
    let mut now = status();
    now.in_use.every_seconds = 0;
    assert!(!status_page(&now, false).contains("Counted at"));
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
    let metrics = Metrics::new("9.8.7", "hybrid-v4");
    let address = serve(router(status).merge(metrics_router(metrics))).await;
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
    let public = serve(router(status)).await;
    let (head, _) = get(public, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let private = serve(metrics_router(Metrics::new("9.8.7", "hybrid-v4"))).await;
    let (head, _) = get(private, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (head, _) = get(private, "/").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
}

#[test]
fn the_page_for_letters_is_named_where_there_is_one() {
    let link = "<a href=\"mail/\">Letters</a>";
    assert!(status_page(&status(), false).contains(link));
    assert!(!status_page(&Status::default(), false).contains(link));
}

#[test]
fn single_digests_are_listed_only_where_that_is_wanted() {
    let listed = status_page(&status(), false);
    let kept = Status {
        lists_digests: false,
        ..status()
    };
    let hidden = status_page(&kept, false);
    for text in ["Last digests", "Running jobs", "455.31", "range_check"] {
        assert!(listed.contains(text), "{text}");
        assert!(!hidden.contains(text), "{text}");
    }
}

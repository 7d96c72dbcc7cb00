//! Counts are exported as OpenMetrics text under documented names.

use std::collections::BTreeSet;

use omr_ops::{BoardSize, Count, Held, Metrics, WorkerFigures, grpc_code_name};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Figures with every metric counted at least once.
fn all_counted() -> (Metrics, [Held; 2]) {
    let metrics = Metrics::new("0.1.0", "hybrid-v4");
    metrics.post(3, 0.002);
    metrics.post(4, 0.004);
    metrics.post_refused("rate");
    metrics.commit(7, 0.001);
    metrics.request("PostMessages", 0, 0.003);
    metrics.request("PostMessages", 8, 0.001);
    metrics.received(1_000);
    metrics.sent(200);
    metrics.board(BoardSize {
        messages: 70_000,
        tail_messages: 4_464,
        segments: 1,
    });
    metrics.disk("segments", 1 << 30);
    metrics.damaged("segment", 2);
    metrics.upload();
    metrics.keys(5);
    metrics.jobs(6, 1);
    metrics.leases(2);
    metrics.lease_expired();
    metrics.job_finished("done");
    metrics.queue_wait(12.5);
    metrics.digest("sophomr", 11.4);
    metrics.run(3);
    metrics.stage("opening", 5.25);
    metrics.stage("opening", f64::NAN);
    metrics.stage("opening", -1.0);
    metrics.ntts("sophomr", 46_062);
    metrics.engine("cuda", Some("a \"card\""));
    metrics.sessions(8, 9);
    metrics.session_messages(10);
    let held = [metrics.connection(), metrics.subscriber()];
    (metrics, held)
}

fn has(text: &str, line: &str) {
    assert!(
        text.lines().any(|found| found == line),
        "no `{line}` in\n{text}"
    );
}

#[test]
fn figures_come_out_as_counted() {
    let (metrics, held) = all_counted();
    // Clones count into the same figures.
    let text = metrics.clone().encode();
    for line in [
        "omr_engine_info{engine=\"cuda\",card=\"a \\\"card\\\"\"} 1",
        "omr_build_info{version=\"0.1.0\",params=\"hybrid-v4\"} 1",
        "omr_posts_total 2",
        "omr_posted_messages_total 7",
        "omr_posts_refused_total{reason=\"rate\"} 1",
        "omr_post_seconds_count 2",
        "omr_commit_messages_sum 7.0",
        "omr_requests_total{method=\"PostMessages\",code=\"ok\"} 1",
        "omr_requests_total{method=\"PostMessages\",code=\"resource_exhausted\"} 1",
        "omr_request_seconds_count{method=\"PostMessages\"} 2",
        "omr_received_bytes_total 1000",
        "omr_sent_bytes_total 200",
        "omr_board_messages 70000",
        "omr_board_tail_messages 4464",
        "omr_disk_bytes{kind=\"segments\"} 1073741824",
        "omr_damaged_objects_total{kind=\"segment\"} 2",
        "omr_keys_registered 5",
        "omr_jobs{state=\"queued\"} 6",
        "omr_jobs{state=\"running\"} 1",
        "omr_jobs_finished_total{outcome=\"done\"} 1",
        "omr_digest_seconds_count{scheme=\"sophomr\"} 1",
        "omr_run_recipients_bucket{le=\"2.0\"} 0",
        "omr_run_recipients_bucket{le=\"3.0\"} 1",
        "omr_run_recipients_sum 3.0",
        "omr_stage_seconds_total{stage=\"opening\"} 5.25",
        "omr_ntts_total{scheme=\"sophomr\"} 46062",
        "omr_sessions_open 8",
        "omr_session_lag_messages 9",
        "omr_session_messages_total 10",
        "omr_connections 1",
        "omr_subscribers 1",
    ] {
        has(&text, line);
    }
    drop(held);
    let text = metrics.encode();
    has(&text, "omr_connections 0");
    has(&text, "omr_subscribers 0");
}

#[test]
fn the_figures_of_the_page_are_those_of_the_text() {
    let (metrics, _held) = all_counted();
    metrics.request("GetBoard", 8, 0.001);
    metrics.job_finished("failed");
    let totals = metrics.clone().totals();
    let text = metrics.encode();
    has(&text, &format!("omr_posts_total {}", totals.posts));
    let messages = totals.posted_messages;
    has(&text, &format!("omr_posted_messages_total {messages}"));
    has(&text, &format!("omr_keys_registered {}", totals.keys));
    has(
        &text,
        &format!("omr_sessions_open {}", totals.sessions.open),
    );
    let jobs = totals.jobs;
    assert_eq!(
        (
            jobs.waiting,
            jobs.running,
            jobs.done,
            jobs.failed,
            jobs.cancelled
        ),
        (6, 1, 1, 1, 0)
    );
    let counts = |counts: &[Count]| -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|one| (one.kind.clone(), one.count))
            .collect()
    };
    assert_eq!(counts(&totals.posts_refused), [("rate".to_owned(), 1)]);
    // Of both methods; what was answered is no refusal.
    let refused = ("resource_exhausted".to_owned(), 2);
    assert_eq!(counts(&totals.calls_refused), [refused]);
}

#[test]
fn the_text_is_openmetrics() {
    let (metrics, _held) = all_counted();
    let text = metrics.encode();
    assert!(text.ends_with("\n# EOF\n"));
    let mut families = BTreeSet::new();
    let mut family = "";
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(described) = line.strip_prefix("# ") {
            let (_, described) = described.split_once(' ').expect("a keyword and more");
            let name = described.split(' ').next().expect("a name");
            // Lines of a family stand together.
            assert!(name == family || families.insert(name), "{line}");
            family = name;
        } else {
            sample(line, family);
        }
    }
    assert!(families.len() > 30, "{}", families.len());
    for name in families {
        assert!(
            name.starts_with("omr_") || name.starts_with("process_"),
            "{name}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_is_measured() {
    let text = Metrics::new("0.1.0", "hybrid-v4").encode();
    for name in [
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_memory_limit_bytes ",
        "process_open_fds ",
        "process_max_fds ",
        "process_start_time_seconds ",
    ] {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value: f64 = line.expect(name).parse().expect("a number");
        assert!(value > 0.0, "{name}{value}");
    }
}

#[tokio::test]
async fn every_metric_of_the_operators_guide_the_alerts_and_the_dashboard_is_there() {
    let (metrics, _held) = all_counted();
    let figures = WorkerFigures::default();
    let mut there = sampled(&metrics.encode());
    let worker = omr_ops::worker_router("0.1.0", "hybrid-v4", move || figures);
    let (_, text) = fetched(worker, "").await;
    there.extend(sampled(&text));
    let guide = include_str!("../../../docs/operating.md");
    let alerts = include_str!("../../../packaging/observability/alerts.yml");
    let dashboard = include_str!("../../../packaging/observability/dashboard.json");
    let words = |text: &'static str| text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let named: BTreeSet<_> = [guide, alerts, dashboard]
        .into_iter()
        .flat_map(words)
        .filter(|word| word.starts_with("omr_") || word.starts_with("process_"))
        // A filter of the log, and the name of a package.
        .filter(|word| !["omr_server", "omr_"].contains(word))
        .map(|word| word.trim_end_matches("_bucket"))
        .collect();
    assert!(named.len() >= 30, "{named:?}");
    for name in named {
        assert!(there.contains(name), "{name}");
    }
}

/// Asks a router for its metrics. Returns their type and text.
async fn fetched(router: axum::Router, accept: &str) -> (String, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(omr_ops::serve_metrics(listener, router));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET /metrics HTTP/1.0\r\naccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serving.abort();
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head");
    let kind = head
        .lines()
        .find_map(|line| line.strip_prefix("content-type: "));
    (kind.expect("a type").to_owned(), text.to_owned())
}

#[tokio::test]
async fn scrapers_that_know_no_openmetrics_get_the_older_format() {
    let (metrics, _held) = all_counted();
    // As Prometheus, curl and older agents ask.
    for (accept, expected) in [
        (
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            "*/*",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            "text/plain;version=0.0.4",
            "text/plain; version=0.0.4; charset=utf-8",
        ),
    ] {
        let (kind, text) = fetched(omr_ops::metrics_router(metrics.clone()), accept).await;
        assert_eq!(kind, expected, "{accept}");
        assert_eq!(
            text.ends_with("# EOF\n"),
            kind.starts_with("application"),
            "{accept}"
        );
    }
    let plain = "text/plain;version=0.0.4";
    let (_, text) = fetched(omr_ops::metrics_router(metrics.clone()), plain).await;
    let mut family = "";
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').expect(line);
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(text.contains(&format!("# HELP {name} ")), "{line}");
            family = name;
        } else if !line.starts_with("# HELP ") {
            // The name of a family is that of its samples, but for the parts of histograms.
            let name = line.split(['{', ' ']).next().expect(line);
            let ending = name.strip_prefix(family).expect(line);
            assert!(
                ["", "_bucket", "_count", "_sum"].contains(&ending),
                "{line}"
            );
        }
    }
    for line in [
        "# TYPE omr_posts_total counter",
        "# TYPE omr_build_info gauge",
        "omr_posts_total 2",
        "# TYPE process_cpu_seconds_total counter",
    ] {
        has(&text, line);
    }
}

#[tokio::test]
async fn a_worker_has_metrics_of_its_own() {
    let figures = WorkerFigures {
        working: true,
        digests: 12,
        failures: 1,
        run_seconds: 2.5,
    };
    let router = omr_ops::worker_router("0.1.0", "hybrid-v4", move || figures);
    let (_, text) = fetched(router, "").await;
    for line in [
        "omr_build_info{version=\"0.1.0\",params=\"hybrid-v4\"} 1",
        "omr_worker_digests_total 12",
        "omr_worker_failures_total 1",
        "omr_worker_run_seconds_total 2.5",
        "omr_worker_working 1",
    ] {
        has(&text, line);
    }
}

#[test]
fn codes_of_grpc_have_their_names() {
    assert_eq!(grpc_code_name(0), "ok");
    assert_eq!(grpc_code_name(16), "unauthenticated");
    assert_eq!(grpc_code_name(17), "unknown");
    assert_eq!(grpc_code_name(-1), "unknown");
}

/// Checks a line such as `name_total{label="value"} 1.5` of a family.
fn sample(line: &str, family: &str) {
    let (name, value) = line.rsplit_once(' ').expect(line);
    let value: f64 = value.parse().expect(line);
    assert!(value.is_finite() && value >= 0.0, "{line}");
    let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
    let ending = name.strip_prefix(family).expect(line);
    let endings = ["", "_total", "_info", "_bucket", "_count", "_sum"];
    assert!(endings.contains(&ending), "{line}");
    let labels = labels.strip_suffix('}').expect(line);
    for label in labels.split(',').filter(|label| !label.is_empty()) {
        let (_, value) = label.split_once('=').expect(line);
        assert!(
            value.len() > 2 && value.starts_with('"') && value.ends_with('"'),
            "{line}"
        );
    }
}

/// Names as a query needs them: counters and information with their endings, histograms without.
fn sampled(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        })
        .collect()
}

//! The figures on the status page and in `/metrics`, and those that they must not contain.

use crate::access::token;
use crate::world::{
    Client, PAYLOAD_BYTES, Person, Running, config, get, http, messages, post, request, served,
    with_token,
};
use omr_api::v1;
use omr_server::tokens::Right;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tonic::Code;

/// Returns the lines of `/metrics` without comments, by name and labels.
pub(crate) async fn metrics(server: &Running) -> BTreeMap<String, f64> {
    let answer = http(server, get("/metrics")).await;
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(text.trim_end().ends_with("# EOF"), "{text}");
    let samples = text
        .lines()
        .filter(|line| !line.starts_with('#') && line.contains(' '));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.trim().parse().unwrap())
    };
    samples.map(sample).collect()
}

/// Returns `/status.json`.
async fn status(server: &Running) -> Value {
    let answer = http(server, get("/status.json")).await;
    let start = answer.find('{').unwrap();
    let end = answer.rfind('}').unwrap();
    serde_json::from_str(&answer[start..=end]).unwrap()
}

/// Makes two posts of ten messages, three refused posts, and a digest; returns the keys' hash.
async fn some_work(client: &mut Client, person: &Person) -> [u8; 32] {
    client
        .board
        .post_messages(post(1, messages(7, person, &[2])))
        .await
        .unwrap();
    let three = (0..3).map(|i| person.message(50 + i, 1)).collect();
    client.board.post_messages(post(2, three)).await.unwrap();
    let mut short = messages(1, person, &[]);
    short[0].payload = vec![1; PAYLOAD_BYTES - 1].into();
    let again = vec![person.message(60, 1)];
    let unknown = with_token(post(4, vec![person.message(61, 1)]), "no token of theirs");
    for (request, code) in [
        (tonic::Request::new(post(3, short)), Code::InvalidArgument),
        // Another post with the id of the second.
        (tonic::Request::new(post(2, again)), Code::AlreadyExists),
        (unknown, Code::Unauthenticated),
    ] {
        let refused = client.board.post_messages(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
    }
    let key = client.register(&person.instant).await;
    let job = client.job(request(1, &[key], 0, 10)).await.unwrap();
    assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
    key
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_happened() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let before = metrics(&server).await;
    assert_eq!(before["omr_posts_total"], 0.0);
    some_work(&mut client, &Person::new(1)).await;
    let after = metrics(&server).await;
    for (name, expected) in [
        ("omr_posts_total", 2.0),
        ("omr_posted_messages_total", 10.0),
        ("omr_posts_refused_total{reason=\"invalid_argument\"}", 1.0),
        ("omr_posts_refused_total{reason=\"already_exists\"}", 1.0),
        (
            "omr_requests_total{method=\"PostMessages\",code=\"ok\"}",
            2.0,
        ),
        (
            "omr_requests_total{method=\"PostMessages\",code=\"unauthenticated\"}",
            1.0,
        ),
        ("omr_requests_total{method=\"CreateJob\",code=\"ok\"}", 1.0),
        ("omr_post_seconds_count", 2.0),
        ("omr_keys_registered", 1.0),
        ("omr_key_uploads_total", 1.0),
        ("omr_jobs{state=\"queued\"}", 0.0),
        ("omr_jobs{state=\"running\"}", 0.0),
        ("omr_jobs_finished_total{outcome=\"done\"}", 1.0),
        ("omr_queue_wait_seconds_count", 1.0),
        ("omr_commit_messages_sum", 10.0),
    ] {
        assert_eq!(after.get(name), Some(&expected), "{name}");
    }
    let seconds = after
        .iter()
        .find(|(name, _)| name.starts_with("omr_digest_seconds_count"));
    assert_eq!(seconds.map(|(_, count)| *count), Some(1.0));
    assert!(after["omr_received_bytes_total"] > before["omr_received_bytes_total"] + 1e4);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_the_figures_and_names_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let secret = token(dir.path(), "carla", &[Right::Post, Right::Detect]);
    let mut settings = config(dir.path());
    settings.watch.digests = true;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let key = some_work(&mut client, &Person::new(1)).await;
    let posted = post(9, vec![Person::new(1).message(70, 1)]);
    client
        .board
        .post_messages(with_token(posted, &secret))
        .await
        .unwrap();
    let answer = http(&server, get("/?refresh=on")).await;
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    for figure in [
        "<dt>Messages</dt><dd>11</dd>",
        "3 posts of 11 messages in ",
        "wrong in itself (invalid_argument)</th><td class=\"number\">1</td>",
        "no token, or an unknown one (unauthenticated)</th><td class=\"number\">1</td>",
        "<dt>Jobs waiting</dt><dd>0</dd>",
        "<dt>Jobs running</dt><dd>0</dd>",
        "<dt>Jobs done since the start</dt><dd>1</dd>",
        "<dt>Jobs failed</dt><dd>0</dd>",
        "<dt>Keys registered</dt><dd>1, ",
        "<dt>Memory</dt><dd>",
        "<dt>Version</dt>",
        "Configured costs",
    ] {
        assert!(page.contains(figure), "no `{figure}` in\n{page}");
    }
    assert!(
        !page.contains("Counted at"),
        "figures of the moment:\n{page}"
    );
    let policy = head
        .lines()
        .find_map(|line| line.strip_prefix("content-security-policy: "))
        .unwrap();
    let (first, rest) = policy.split_once("'sha256-").unwrap();
    let (_, rest) = rest.split_once('\'').unwrap();
    let expected = "default-src 'none'; style-src ";
    assert_eq!(first, expected);
    let rules = "; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    assert_eq!(rest, rules);
    // Neither the callers nor their data.
    let json = http(&server, get("/status.json")).await;
    let metrics = http(&server, get("/metrics")).await;
    let hash: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    for text in [page, &json, &metrics] {
        for kept in ["<script", "127.0.0.1", "carla", &secret, &hash, &hash[..8]] {
            assert!(!text.contains(kept), "{kept} in\n{text}");
        }
    }
    server.stop().await;
}

/// An observer who reads the page every second must not see when somebody fetched.
#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_does_not_move_the_page_of_a_server_that_lists_no_digests() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let before = status(&server).await;
    assert_eq!(before["in_use"]["every_seconds"], 900);
    some_work(&mut client, &Person::new(1)).await;
    let after = status(&server).await;
    assert_eq!(after["in_use"], before["in_use"]);
    assert_eq!(after["running_jobs"], json!([]));
    assert_eq!(after["digests"], json!([]));
    // Posts are no secret: the board shows them.
    assert_eq!(after["messages"], 10);
    assert_eq!(after["posting"]["minute"]["posts"], 2);
    let refused = json!([
        {"kind": "already_exists", "count": 1},
        {"kind": "invalid_argument", "count": 1},
    ]);
    assert_eq!(after["posting"]["refused"], refused);
    let page = http(&server, get("/")).await;
    assert!(
        page.contains("Counted at") && page.contains("again every 15m"),
        "{page}"
    );
    server.stop().await;
}

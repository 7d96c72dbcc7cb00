//! Tokens, rights, quotas, proof of work; pages and gRPC-Web beside gRPC.

use crate::world::{
    PARAMS, Person, Running, config, get, http, messages, post, request, served, with_token,
};
use omr_api::v1::capability_service_client::CapabilityServiceClient;
use omr_api::v1::key_service_client::KeyServiceClient;
use omr_api::v1::{self, GetCapabilitiesRequest};
use omr_server::tokens::{self, Right, Token};
use std::path::Path;
use tonic::Code;

pub(crate) fn token(data: &Path, name: &str, rights: &[Right]) -> String {
    let token = Token {
        name: name.into(),
        hash: String::new(),
        rights: rights.to_vec(),
        messages_per_second: Some(5),
        jobs: Some(1),
        sessions: None,
        keys: Some(1),
    };
    tokens::add(&data.join("tokens.toml"), token).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_and_accounts_are_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let poster = token(dir.path(), "poster", &[Right::Post]);
    let reader = token(dir.path(), "reader", &[Right::Detect]);
    let other = token(dir.path(), "other", &[Right::Detect]);
    let mut settings = config(dir.path());
    settings.access.anonymous_post = false;
    settings.access.anonymous_detect = false;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let person = Person::new(1);
    let good = post(1, messages(3, &person, &[1]));
    for (request, code) in [
        (tonic::Request::new(good.clone()), Code::Unauthenticated),
        (
            with_token(good.clone(), "omr_unknown"),
            Code::Unauthenticated,
        ),
        (with_token(good.clone(), &reader), Code::PermissionDenied),
    ] {
        assert_eq!(
            client
                .board
                .post_messages(request)
                .await
                .unwrap_err()
                .code(),
            code
        );
    }
    client
        .board
        .post_messages(with_token(good, &poster))
        .await
        .unwrap();
    let hash = *blake3::hash(&person.instant).as_bytes();
    let key_hash: bytes::Bytes = hash.to_vec().into();
    let begin = v1::BeginUploadRequest {
        key_hash: key_hash.clone(),
        total_bytes: person.instant.len() as u64,
    };
    client
        .keys
        .begin_upload(with_token(begin, &reader))
        .await
        .unwrap();
    let chunks = crate::world::chunks(&person.instant, &key_hash, 0);
    client
        .keys
        .upload_chunks(with_token(futures::stream::iter(chunks), &reader))
        .await
        .unwrap();
    client
        .keys
        .register_key(with_token(v1::RegisterKeyRequest { key_hash }, &reader))
        .await
        .unwrap();
    let stolen = client
        .detection
        .create_job(with_token(request(1, &[hash], 0, 3), &other))
        .await;
    assert_eq!(
        stolen.unwrap_err().code(),
        Code::NotFound,
        "another account's key"
    );
    let created = client
        .detection
        .create_job(with_token(request(1, &[hash], 0, 3), &reader))
        .await
        .unwrap();
    let job_id = created.into_inner().job.unwrap().job_id;
    let get = v1::GetJobRequest { job_id };
    let stolen = client
        .detection
        .get_job(with_token(get.clone(), &other))
        .await;
    assert_eq!(
        stolen.unwrap_err().code(),
        Code::NotFound,
        "another account's job"
    );
    client
        .detection
        .get_job(with_token(get, &reader))
        .await
        .unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_hold_and_state_when_to_retry() {
    let dir = tempfile::tempdir().unwrap();
    let secret = token(dir.path(), "poster", &[Right::Post, Right::Detect]);
    let mut settings = config(dir.path());
    settings.limits.post_messages = 10;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let posted = messages(10, &Person::new(1), &[]);
    client
        .board
        .post_messages(with_token(post(1, posted.clone()), &secret))
        .await
        .unwrap();
    let error = client
        .board
        .post_messages(with_token(post(2, posted), &secret))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    let after: u64 = error
        .metadata()
        .get("retry-after-ms")
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=10_000).contains(&after), "{after}");
    for (id, expected) in [(1, None), (2, Some(Code::FailedPrecondition))] {
        let key = Person::new(id).instant;
        let key_hash: bytes::Bytes = blake3::hash(&key).as_bytes().to_vec().into();
        let begin = v1::BeginUploadRequest {
            key_hash: key_hash.clone(),
            total_bytes: key.len() as u64,
        };
        let begun = client.keys.begin_upload(with_token(begin, &secret)).await;
        assert_eq!(begun.err().map(|error| error.code()), expected);
        if expected.is_none() {
            let chunks = futures::stream::iter(crate::world::chunks(&key, &key_hash, 0));
            client
                .keys
                .upload_chunks(with_token(chunks, &secret))
                .await
                .unwrap();
            client
                .keys
                .register_key(with_token(v1::RegisterKeyRequest { key_hash }, &secret))
                .await
                .unwrap();
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_posts_cost_work() {
    let dir = tempfile::tempdir().unwrap();
    let secret = token(dir.path(), "poster", &[Right::Post]);
    let mut settings = config(dir.path());
    settings.access.posting_work_bits = 8;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let mut request = post(1, messages(1, &Person::new(1), &[]));
    let board = client
        .board
        .get_board(v1::GetBoardRequest::default())
        .await
        .unwrap()
        .into_inner()
        .board
        .unwrap();
    let work = |bits| {
        omr_api::posting_work(&board.board_id, &request.post_id, &request.messages, bits).unwrap()
    };
    let good = work(8);
    let lazy = (0..).find(|&w| {
        w != good
            && !omr_api::check_posting_work(
                &board.board_id,
                &request.post_id,
                &request.messages,
                w,
                8,
            )
    });
    request.work = lazy.unwrap();
    let error = client
        .board
        .post_messages(request.clone())
        .await
        .unwrap_err();
    assert!(
        error.message().contains("proof of work of 8 bits"),
        "{error}"
    );
    client
        .board
        .post_messages(with_token(
            post(2, vec![Person::new(1).message(9, 9)]),
            &secret,
        ))
        .await
        .unwrap();
    request.work = good;
    client.board.post_messages(request).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_contain_the_callers_rights() {
    let dir = tempfile::tempdir().unwrap();
    let secret = token(dir.path(), "poster", &[Right::Post]);
    let mut settings = config(dir.path());
    settings.access.anonymous_detect = false;
    let server = Running::start(settings).await;
    let mut client = CapabilityServiceClient::new(server.channel().await);
    let stranger = client
        .get_capabilities(GetCapabilitiesRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        stranger.rights,
        Some(v1::Rights {
            post: true,
            detect: false,
            admin: false,
            work: false,
            feed: false,
        })
    );
    assert_eq!(stranger.schemes, [1, 2, 3, 4, 5, 6]);
    let known = client
        .get_capabilities(with_token(GetCapabilitiesRequest {}, &secret))
        .await
        .unwrap();
    assert_eq!(known.into_inner().limits.unwrap().jobs, 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_grpc_web_share_the_port() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(config(dir.path())).await;
    let page = http(&server, get("/")).await;
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<html"),
        "{page}"
    );
    assert!(
        http(&server, get("/metrics"))
            .await
            .contains("omr_board_messages 0")
    );
    let missing = http(&server, get("/no/such")).await;
    assert!(
        missing.starts_with("HTTP/1.1 404")
            && missing.contains("one of the pages /metrics, /, /status.json; found /no/such"),
        "{missing}"
    );
    let answer = http(&server, web_call("localhost", None)).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains(PARAMS),
        "{answer}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_pages_answers_that_it_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = config(dir.path());
    settings.watch.status = false;
    // The address is not the server's.
    settings.watch.metrics = Some("127.0.0.2:0".parse().unwrap());
    let server = Running::start(settings).await;
    for path in ["/", "/metrics", "/status.json"] {
        let answer = http(&server, get(path)).await;
        let expected =
            format!("expected a call by gRPC, as this server has no pages; found {path}\n");
        assert!(
            answer.starts_with("HTTP/1.1 404") && answer.ends_with(&expected),
            "{answer}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_not_for_clients_unless_the_operator_allows_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = config(dir.path());
    settings.watch.metrics = omr_server::config::Watch::default().metrics;
    let server = Running::start(settings.clone()).await;
    let answer = http(&server, get("/metrics")).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    server.stop().await;
    settings.watch.metrics = Some("127.0.0.2:0".parse().unwrap());
    let server = Running::start(settings).await;
    let answer = http(&server, get("/metrics")).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let own = server.metrics.unwrap();
    let answer = crate::world::http_at(own, get("/metrics")).await;
    assert!(answer.contains("omr_board_messages 0"), "{answer}");
    server.stop().await;
}

/// Makes a call by gRPC-Web in the name of a client.
fn forwarded(client: &str) -> String {
    let call = web_call("localhost", None);
    call.replacen("\r\n", &format!("\r\nX-Forwarded-For: {client}\r\n"), 1)
}

/// Returns whether the server accepts one more unfinished upload in the name of a client.
async fn begins(server: &Running, client: &str, hash: u8) -> bool {
    let mut request = tonic::Request::new(v1::BeginUploadRequest {
        key_hash: vec![hash; 32].into(),
        total_bytes: 1000,
    });
    let metadata = request.metadata_mut();
    metadata.insert("x-forwarded-for", client.parse().unwrap());
    let mut keys = KeyServiceClient::new(server.channel().await);
    match keys.begin_upload(request).await {
        Ok(_) => true,
        Err(status) => {
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_proxy_names_its_clients_and_nobody_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = config(dir.path());
    // One for each client; all programs of this machine together are one client.
    (settings.limits.keys, settings.limits.all_keys) = (1, 2);
    let server = Running::start(settings.clone()).await;
    // This proxy is not trusted: all clients that it names are one.
    assert!(begins(&server, "198.51.100.1", 1).await);
    assert!(!begins(&server, "198.51.100.2", 2).await);
    let rubbish = http(&server, forwarded("rubbish")).await;
    assert!(rubbish.contains(PARAMS), "{rubbish}");
    server.stop().await;
    settings.access.proxies = vec!["127.0.0.0/8".into()];
    let server = Running::start(settings).await;
    for (client, hash) in [("198.51.100.3", 3), ("198.51.100.4", 4), ("2001:db8::1", 5)] {
        assert!(begins(&server, client, hash).await, "{client}");
    }
    // An address that a client wrote itself precedes the one that the proxy adds.
    assert!(!begins(&server, "192.0.2.1, 198.51.100.3", 6).await);
    assert!(!begins(&server, "2001:db8::2", 7).await, "the same network");
    let refused = http(&server, forwarded("198.51.100.3, rubbish")).await;
    assert!(
        refused.contains("grpc-status: 3") && refused.contains("rubbish"),
        "{refused}"
    );
    server.stop().await;
}

/// Makes a call by gRPC-Web.
fn web_call(host: &str, origin: Option<&str>) -> String {
    let origin = origin.map(|origin| format!("Origin: {origin}\r\n"));
    format!(
        "POST /omr.v1.CapabilityService/GetCapabilities HTTP/1.1\r\nHost: {host}\r\n{}\
         Content-Type: application/grpc-web+proto\r\nX-Grpc-Web: 1\r\nContent-Length: 5\r\n\
         Connection: close\r\n\r\n\0\0\0\0\0",
        origin.unwrap_or_default()
    )
}

fn preflight(origin: &str) -> String {
    format!(
        "OPTIONS /omr.v1.BoardService/PostMessages HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,content-type,x-grpc-web\r\nConnection: close\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_and_foreign_names_do_not_reach_a_server_on_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(config(dir.path())).await;
    let evil = "https://evil.example";
    let answer = http(&server, preflight(evil)).await;
    assert!(
        !answer.to_lowercase().contains("access-control-allow"),
        "{answer}"
    );
    for call in [
        web_call("localhost", Some(evil)),
        web_call("attacker.example", None),
        web_call(
            "attacker.example:7600",
            Some("http://attacker.example:7600"),
        ),
    ] {
        let answer = http(&server, call).await;
        // A call is refused as a call: with code 7, PERMISSION_DENIED.
        assert!(
            answer.contains("grpc-status: 7") && !answer.contains(PARAMS),
            "{answer}"
        );
    }
    let page = "GET / HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n";
    let answer = http(&server, page.into()).await;
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("access.hosts"),
        "{answer}"
    );
    server.stop().await;
    let mut settings = config(dir.path());
    settings.access.origins = vec!["https://app.example".into()];
    settings.access.hosts = vec!["board.example".into()];
    let server = Running::start(settings).await;
    let answer = http(&server, preflight("https://app.example"))
        .await
        .to_lowercase();
    assert!(
        answer.contains("access-control-allow-origin: https://app.example"),
        "{answer}"
    );
    assert!(answer.contains("authorization"), "{answer}");
    let answer = http(&server, preflight(evil)).await.to_lowercase();
    assert!(!answer.contains("access-control-allow-origin"), "{answer}");
    let answer = http(
        &server,
        web_call("board.example", Some("https://app.example")),
    )
    .await;
    assert!(answer.contains(PARAMS), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_without_a_token_may_do_anything_unless_the_configuration_allows_it() {
    let (_dir, server, mut client) = served(|settings| {
        settings.access = omr_server::config::Access::default();
    })
    .await;
    let posted = client
        .board
        .post_messages(post(1, messages(1, &Person::new(1), &[])))
        .await;
    assert_eq!(posted.unwrap_err().code(), Code::Unauthenticated);
    let begin = v1::BeginUploadRequest {
        key_hash: vec![1; 32].into(),
        total_bytes: 9,
    };
    let begun = client.keys.begin_upload(begin).await;
    assert_eq!(begun.unwrap_err().code(), Code::Unauthenticated);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_with_whom_the_authority_vouches_for() {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut settings = config(&dir.path().join("data"));
    settings.tls = Some(omr_server::config::Tls {
        certificate: file("certificate.pem", made.cert.pem()),
        key: file("key.pem", made.signing_key.serialize_pem()),
    });
    settings.access.proxies = vec!["127.0.0.1".into()];
    let server = Running::start(settings).await;
    let endpoint = |authority: String| omr_remote::Endpoint {
        ca_certificate: Some(authority.into_bytes()),
        retry: omr_remote::Retry {
            total: std::time::Duration::ZERO,
            ..omr_remote::Retry::default()
        },
        ..omr_remote::Endpoint::new(format!("https://localhost:{}", server.address.port()))
    };
    let client = omr_remote::Client::connect(&endpoint(made.cert.pem())).unwrap();
    assert!(client.is_serving().await.unwrap());
    let other = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let wrong = omr_remote::Client::connect(&endpoint(other.cert.pem())).unwrap();
    assert!(wrong.is_serving().await.is_err());
    // The client's address is also known behind TLS.
    let authority = tonic::transport::Certificate::from_pem(made.cert.pem());
    let tls = tonic::transport::ClientTlsConfig::new().ca_certificate(authority);
    let url = format!("https://localhost:{}", server.address.port());
    let channel = tonic::transport::Channel::from_shared(url)
        .unwrap()
        .tls_config(tls)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let mut raw = CapabilityServiceClient::new(channel);
    for (named, expected) in [
        ("198.51.100.1", None),
        ("rubbish", Some(Code::InvalidArgument)),
    ] {
        let mut request = tonic::Request::new(GetCapabilitiesRequest {});
        request
            .metadata_mut()
            .insert("x-forwarded-for", named.parse().unwrap());
        let answer = raw.get_capabilities(request).await;
        assert_eq!(
            answer.err().map(|status| status.code()),
            expected,
            "{named}"
        );
    }
    drop((client, wrong, raw));
    server.stop().await;
}

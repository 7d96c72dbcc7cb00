//! Attacks of strangers and greedy clients, during which holders of tokens are served.

use crate::access::token;
use crate::world::{Client, Person, Running, chunks, config, messages, request, with_token};
use bytes::Bytes;
use omr_api::v1;
use omr_server::tokens::Right;
use std::time::Duration;
use tonic::{Code, Status};

fn begin(hash: [u8; 32], total_bytes: u64) -> v1::BeginUploadRequest {
    v1::BeginUploadRequest {
        key_hash: hash.to_vec().into(),
        total_bytes,
    }
}

/// Uploads and registers a key with a token.
async fn register(client: &mut Client, key: &[u8], token: &str) -> Result<[u8; 32], Status> {
    let hash = *blake3::hash(key).as_bytes();
    let key_hash: Bytes = hash.to_vec().into();
    let begun = with_token(begin(hash, key.len() as u64), token);
    let begun = client.keys.begin_upload(begun).await?.into_inner();
    if !begun.complete {
        let chunks = futures::stream::iter(chunks(key, &key_hash, begun.next_offset));
        client.keys.upload_chunks(with_token(chunks, token)).await?;
    }
    let register = v1::RegisterKeyRequest { key_hash };
    client
        .keys
        .register_key(with_token(register, token))
        .await?;
    Ok(hash)
}

fn session(id: u8, key: [u8; 32]) -> v1::OpenSessionRequest {
    v1::OpenSessionRequest {
        request_id: vec![id; 16].into(),
        key_hash: key.to_vec().into(),
        start: 0,
        bound: 5,
        indices_only: true,
        room: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_strangers_leaves_sessions_jobs_and_keys_for_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let known = token(dir.path(), "known", &[Right::Post, Right::Detect]);
    let mut settings = config(dir.path());
    settings.limits.all_sessions = 8;
    settings.limits.all_keys = 4;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let stranger = Person::new(1);
    client.fill(messages(20, &stranger, &[3])).await;
    let key = client.register(&stranger.instant).await;
    let mut opened = 0;
    let refusal = loop {
        match client.detection.open_session(session(opened, key)).await {
            Ok(_) => opened += 1,
            Err(status) => break status,
        }
    };
    // Half of the six that strangers may have: programs of this machine are one client.
    assert_eq!((opened, refusal.code()), (3, Code::FailedPrecondition));
    let mut keys = 1;
    while keys < 20 {
        let hash = [keys; 32];
        if client.keys.begin_upload(begin(hash, 5000)).await.is_err() {
            break;
        }
        keys += 1;
    }
    assert!(keys < 5, "{keys}");
    // Every job that can be requested, repeatedly, while another one runs.
    let mut attacker = server.client().await;
    let flood = tokio::spawn(async move {
        for id in 0..=255 {
            let _ = attacker
                .detection
                .create_job(request(id, &[key], 0, 20))
                .await;
        }
    });
    let person = Person::new(2);
    let own = register(&mut client, &person.instant, &known)
        .await
        .unwrap();
    let open = with_token(session(200, own), &known);
    client.detection.open_session(open).await.unwrap();
    let create = with_token(request(1, &[own], 0, 20), &known);
    let job = client.detection.create_job(create).await.unwrap();
    let job_id = job.into_inner().job.unwrap().job_id;
    let mut state = v1::JobState::Queued;
    for _ in 0..600 {
        let get = v1::GetJobRequest {
            job_id: job_id.clone(),
        };
        let got = client.detection.get_job(with_token(get, &known)).await;
        state = got.unwrap().into_inner().job.unwrap().state();
        if state == v1::JobState::Done {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(state, v1::JobState::Done);
    flood.await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_are_announced_and_never_sent_stop_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let greedy = token(dir.path(), "greedy", &[Right::Detect]);
    let known = token(dir.path(), "known", &[Right::Detect]);
    let mut settings = config(dir.path());
    // Room for four full uploads by their announced sizes.
    let person = Person::new(1);
    let longest = person.bulk.len().max(person.instant.len()) as u64;
    settings.limits.upload_bytes = (4 * longest).max(16 << 20);
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let mut refused = 0;
    for number in 0..16u8 {
        let empty = with_token(begin([number; 32], longest), &greedy);
        refused += u32::from(client.keys.begin_upload(empty).await.is_err());
        let stranger = begin([100 + number; 32], longest);
        refused += u32::from(client.keys.begin_upload(stranger).await.is_err());
    }
    // The token may have one key, so one upload; strangers' uploads leave a quarter.
    assert!(refused >= 15, "{refused}");
    register(&mut client, &person.instant, &known)
        .await
        .unwrap();
    let huge = begin([77; 32], longest + 1);
    let refusal = client.keys.begin_upload(huge).await.unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument, "longer than any key");
    server.stop().await;
}

/// Returns the refusal that a caller receives.
async fn refusal<T: std::fmt::Debug>(
    call: impl Future<Output = Result<T, Status>>,
) -> (Code, String) {
    let status = call.await.unwrap_err();
    (status.code(), status.message().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_id_and_anothers_look_alike() {
    let dir = tempfile::tempdir().unwrap();
    let owner = token(dir.path(), "owner", &[Right::Detect]);
    let other = token(dir.path(), "other", &[Right::Detect]);
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let person = Person::new(1);
    client.fill(messages(5, &person, &[1])).await;
    let key = register(&mut client, &person.instant, &owner)
        .await
        .unwrap();
    let create = with_token(request(1, &[key], 0, 5), &owner);
    let job = client
        .detection
        .create_job(create)
        .await
        .unwrap()
        .into_inner();
    let job = job.job.unwrap().job_id;
    let open = with_token(session(2, key), &owner);
    let opened = client
        .detection
        .open_session(open)
        .await
        .unwrap()
        .into_inner()
        .session
        .unwrap()
        .session_id;
    let unknown = || Bytes::from(vec![0xEE; 16]);
    let detection = &client.detection;
    let mut answers = Vec::new();
    for job_id in [job, unknown()] {
        let mut refusals = Vec::new();
        let get = v1::GetJobRequest {
            job_id: job_id.clone(),
        };
        refusals.push(refusal(detection.clone().get_job(with_token(get, &other))).await);
        let watch = v1::WatchJobRequest {
            job_id: job_id.clone(),
        };
        refusals.push(refusal(detection.clone().watch_job(with_token(watch, &other))).await);
        let fetch = v1::FetchDigestRequest {
            job_id: job_id.clone(),
            offset: 0,
        };
        refusals.push(refusal(detection.clone().fetch_digest(with_token(fetch, &other))).await);
        let cancel = v1::CancelJobRequest { job_id };
        refusals.push(refusal(detection.clone().cancel_job(with_token(cancel, &other))).await);
        answers.push(refusals);
    }
    for (at, session_id) in [opened, unknown()].into_iter().enumerate() {
        let get = v1::GetSessionRequest {
            session_id: session_id.clone(),
        };
        answers[at].push(refusal(detection.clone().get_session(with_token(get, &other))).await);
        let cut = v1::CutSessionRequest {
            session_id: session_id.clone(),
            number: 0,
        };
        answers[at].push(refusal(detection.clone().cut_session(with_token(cut, &other))).await);
        let close = v1::CloseSessionRequest { session_id };
        answers[at].push(refusal(detection.clone().close_session(with_token(close, &other))).await);
    }
    for (at, key_hash) in [key, [0xEE; 32]].into_iter().enumerate() {
        let key_hash: Bytes = key_hash.to_vec().into();
        let create = v1::CreateJobRequest {
            key_hashes: vec![key_hash.clone()],
            ..request(9, &[], 0, 5)
        };
        answers[at].push(refusal(detection.clone().create_job(with_token(create, &other))).await);
        let revoke = v1::RevokeKeyRequest { key_hash };
        let revoked = client.keys.revoke_key(with_token(revoke, &other));
        answers[at].push(refusal(revoked).await);
    }
    assert_eq!(answers[0], answers[1]);
    assert!(
        answers[0].iter().all(|(code, _)| *code == Code::NotFound),
        "{answers:?}"
    );
    let none = with_token(request(10, &[], 0, 5), &owner);
    let refusal = client.detection.create_job(none).await.unwrap_err();
    assert!(
        refusal.message().starts_with("key_hashes: expected one"),
        "{refusal}"
    );
    server.stop().await;
}

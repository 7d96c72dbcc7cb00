//! Uploading, registering and revoking keys.

use crate::access::token;
use crate::world::{Person, Running, chunks, config, messages, request, served, with_token};
use omr_api::v1;
use omr_server::tokens::Right;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_upload_goes_on_where_it_stopped() {
    let (dir, server, mut client) = served(|_| ()).await;
    let key = Person::new(1).instant;
    let hash = *blake3::hash(&key).as_bytes();
    let key_hash: bytes::Bytes = hash.to_vec().into();
    let begin = v1::BeginUploadRequest {
        key_hash: key_hash.clone(),
        total_bytes: key.len() as u64,
    };
    let begun = client
        .keys
        .begin_upload(begin.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!((begun.next_offset, begun.complete), (0, false));
    let all = chunks(&key, &key_hash, 0);
    let first = futures::stream::iter(all[..1].to_vec());
    let stopped = client.keys.upload_chunks(first).await.unwrap().into_inner();
    assert_eq!(
        (stopped.next_offset, stopped.complete),
        (all[0].data.len() as u64, false)
    );
    let register = v1::RegisterKeyRequest {
        key_hash: key_hash.clone(),
    };
    let early = client
        .keys
        .register_key(register.clone())
        .await
        .unwrap_err();
    assert_eq!(early.code(), Code::NotFound, "{early}");
    let begun = client
        .keys
        .begin_upload(begin.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(begun.next_offset, stopped.next_offset);
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    client.upload(&key, &hash).await.unwrap();
    let registered = client
        .keys
        .register_key(register)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(registered.kind(), v1::KeyKind::Instant);
    // Another client has nothing left to send.
    let begun = client.keys.begin_upload(begin).await.unwrap().into_inner();
    assert!(begun.complete);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_arrived_is_no_unfinished_upload() {
    let dir = tempfile::tempdir().unwrap();
    // The limit is one key.
    let secret = token(dir.path(), "ann", &[Right::Detect]);
    let server = Running::start(config(dir.path())).await;
    let mut keys = server.client().await.keys;
    for key in [Person::new(1).instant, Person::new(2).instant] {
        let hash: bytes::Bytes = blake3::hash(&key).as_bytes().to_vec().into();
        let begin = v1::BeginUploadRequest {
            key_hash: hash.clone(),
            total_bytes: key.len() as u64,
        };
        keys.begin_upload(with_token(begin, &secret)).await.unwrap();
        let all = futures::stream::iter(chunks(&key, &hash, 0));
        let sent = keys.upload_chunks(with_token(all, &secret)).await.unwrap();
        assert!(sent.into_inner().complete);
        let key_hash = || hash.clone();
        let register = v1::RegisterKeyRequest {
            key_hash: key_hash(),
        };
        keys.register_key(with_token(register, &secret))
            .await
            .unwrap();
        let revoke = v1::RevokeKeyRequest {
            key_hash: key_hash(),
        };
        keys.revoke_key(with_token(revoke, &secret)).await.unwrap();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_chunks_and_files_that_are_no_keys_are_refused() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let junk = vec![7; 3000];
    let hash = *blake3::hash(&junk).as_bytes();
    let key_hash: bytes::Bytes = hash.to_vec().into();
    let good = chunks(&junk, &key_hash, 0);
    let unasked = client
        .keys
        .upload_chunks(futures::stream::iter(good.clone()))
        .await
        .unwrap_err();
    assert_eq!(unasked.code(), Code::NotFound, "{unasked}");
    let begin = v1::BeginUploadRequest {
        key_hash: key_hash.clone(),
        total_bytes: 3000,
    };
    client.keys.begin_upload(begin).await.unwrap();
    let mut bent = good[0].clone();
    bent.crc32c ^= 1;
    let late = good[1].clone();
    for (chunk, code) in [(bent, Code::DataLoss), (late, Code::OutOfRange)] {
        let error = client
            .keys
            .upload_chunks(futures::stream::iter([chunk]))
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    client.upload(&junk, &hash).await.unwrap();
    let error = client
        .keys
        .register_key(v1::RegisterKeyRequest { key_hash })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    let huge = v1::BeginUploadRequest {
        key_hash: vec![1; 32].into(),
        total_bytes: u64::MAX,
    };
    let error = client.keys.begin_upload(huge).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_makes_no_digests() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client.fill(messages(20, &person, &[2])).await;
    let key = client.register(&person.instant).await;
    assert_eq!(
        client.job(request(1, &[key], 0, 20)).await.unwrap().state(),
        v1::JobState::Done
    );
    let key_hash: bytes::Bytes = key.to_vec().into();
    let revoke = v1::RevokeKeyRequest {
        key_hash: key_hash.clone(),
    };
    client.keys.revoke_key(revoke.clone()).await.unwrap();
    let error = client.job(request(2, &[key], 0, 20)).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert_eq!(
        client.keys.revoke_key(revoke).await.unwrap_err().code(),
        Code::NotFound
    );
    // The file is deleted too.
    let begin = v1::BeginUploadRequest {
        key_hash,
        total_bytes: person.instant.len() as u64,
    };
    let begun = client.keys.begin_upload(begin).await.unwrap().into_inner();
    assert_eq!((begun.next_offset, begun.complete), (0, false));
    server.stop().await;
}

/// Returns a chunk as a separate call.
fn one(chunk: &v1::UploadChunksRequest) -> v1::UploadChunkRequest {
    v1::UploadChunkRequest {
        chunk: Some(chunk.clone()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_one_by_one_are_taken_as_those_of_a_stream() {
    let (dir, server, mut client) = served(|_| ()).await;
    let key = Person::new(1).instant;
    let key_hash: bytes::Bytes = blake3::hash(&key).as_bytes().to_vec().into();
    let begin = v1::BeginUploadRequest {
        key_hash: key_hash.clone(),
        total_bytes: key.len() as u64,
    };
    let all = chunks(&key, &key_hash, 0);
    let none = v1::UploadChunkRequest { chunk: None };
    let mut bent = all[0].clone();
    bent.crc32c ^= 1;
    let mut empty = all[0].clone();
    empty.data.clear();
    let unasked = client.keys.upload_chunk(one(&all[0])).await.unwrap_err();
    assert_eq!(unasked.code(), Code::NotFound, "{unasked}");
    client.keys.begin_upload(begin.clone()).await.unwrap();
    for (request, code) in [
        (none, Code::InvalidArgument),
        (one(&empty), Code::InvalidArgument),
        (one(&bent), Code::DataLoss),
        (one(&all[1]), Code::OutOfRange),
    ] {
        let error = client.keys.upload_chunk(request).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    let taken = client.keys.upload_chunk(one(&all[0])).await.unwrap();
    let first = all[0].data.len() as u64;
    let taken = taken.into_inner();
    assert_eq!((taken.next_offset, taken.complete), (first, false));
    // As after a lost answer: what was received is skipped.
    let again = client.keys.upload_chunk(one(&all[0])).await.unwrap();
    assert_eq!(again.into_inner().next_offset, first);
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let begun = client.keys.begin_upload(begin).await.unwrap().into_inner();
    // Bytes that were not on the disk must be sent again.
    assert!(begun.next_offset <= first && !begun.complete);
    let mut last = None;
    for chunk in &chunks(&key, &key_hash, begun.next_offset) {
        last = Some(client.keys.upload_chunk(one(chunk)).await.unwrap());
    }
    let last = last.unwrap().into_inner();
    assert_eq!((last.next_offset, last.complete), (key.len() as u64, true));
    let register = v1::RegisterKeyRequest { key_hash };
    let registered = client.keys.register_key(register).await.unwrap();
    assert_eq!(registered.into_inner().kind(), v1::KeyKind::Instant);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_one_by_one_need_a_right_and_room() {
    let dir = tempfile::tempdir().unwrap();
    let poster = token(dir.path(), "poster", &[Right::Post]);
    let mut settings = config(dir.path());
    // Strangers have three quarters of it, and an upload counts at least 1 MiB: room to begin one, and for no chunk.
    settings.limits.upload_bytes = 3 << 19;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let key = vec![7; omr_api::CHUNK_BYTES + 1];
    let key_hash: bytes::Bytes = blake3::hash(&key).as_bytes().to_vec().into();
    let chunk = one(&chunks(&key, &key_hash, 0)[0]);
    let refused = client
        .keys
        .upload_chunk(with_token(chunk.clone(), &poster))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let begin = v1::BeginUploadRequest {
        key_hash,
        total_bytes: key.len() as u64,
    };
    client.keys.begin_upload(begin).await.unwrap();
    let full = client.keys.upload_chunk(chunk).await.unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted, "{full}");
    server.stop().await;
}

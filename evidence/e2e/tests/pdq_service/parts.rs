//! Keys and queries that are sent in parts, as pages do.

use super::{PARAMS, PEOPLE, Running, TABLE, limits, refused};
use omr_api::v1::pdq_service_client::PdqServiceClient;
use omr_api::v1::{AskRequest, KeepKeyRequest, ListTablesRequest, UploadPartRequest};
use omr_pdq::Answer;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Returns a part of a file, as clients that cannot stream send it.
async fn part(
    raw: &mut PdqServiceClient<Channel>,
    file: &[u8],
    range: std::ops::Range<usize>,
) -> Result<u64, Status> {
    let answer = raw.upload_part(UploadPartRequest {
        file_hash: blake3::hash(file).as_bytes().to_vec().into(),
        total_bytes: file.len() as u64,
        offset: range.start as u64,
        data: file[range].to_vec().into(),
    });
    Ok(answer.await?.into_inner().next_offset)
}

/// Sends the missing parts of a file.
async fn send(raw: &mut PdqServiceClient<Channel>, file: &[u8], from: usize) {
    for start in (from..file.len()).step_by(100_000) {
        let end = file.len().min(start + 100_000);
        assert_eq!(part(raw, file, start..end).await.unwrap(), end as u64);
    }
}

async fn keep(raw: &mut PdqServiceClient<Channel>, hash: [u8; 32]) -> Result<String, Status> {
    let key_hash = hash.to_vec().into();
    let kept = raw.keep_key(KeepKeyRequest { key_hash }).await?;
    Ok(kept.into_inner().params_id)
}

/// Runs a query that has arrived; returns the bytes of the answer.
async fn ask_arrived(
    raw: &mut PdqServiceClient<Channel>,
    key: [u8; 32],
    query: &[u8],
) -> Result<Vec<u8>, Status> {
    let request = AskRequest {
        table: "People".into(),
        key_hash: key.to_vec().into(),
        query_hash: blake3::hash(query).as_bytes().to_vec().into(),
    };
    let mut stream = raw.ask(request).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(message) = stream.message().await? {
        let part = message.response.and_then(|response| response.part);
        if let Some(omr_api::v1::query_response::Part::Answer(answer)) = part {
            bytes.extend_from_slice(&answer.data);
        }
    }
    Ok(bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_queries_come_in_parts_too() {
    let dir = tempfile::tempdir().unwrap();
    let [alice, bob, ..] = &*PEOPLE;
    let server = Running::start(dir.path(), limits(dir.path())).await;
    let raw = &mut server.raw().await;
    let known = raw
        .list_tables(ListTablesRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!((known.transform_seconds.len(), known.threads), (1, 2));
    assert!(known.transform_seconds[0] > 0.0);
    let (key, middle) = (&alice.key, 1_000_000);
    let bytes = |sent: Result<u64, Status>| sent.map(|next| next as usize);
    refused(bytes(part(raw, key, 1..2).await), Code::NotFound, "begin");
    assert_eq!(part(raw, key, 0..middle).await.unwrap(), middle as u64);
    let early = keep(raw, alice.hash).await.map(|_| 0);
    refused(early, Code::FailedPrecondition, "send the rest");
    let twice = part(raw, key, 1..middle).await;
    refused(bytes(twice), Code::OutOfRange, &format!("at {middle}"));
    // Another client's file does not affect it, and no file ends before its beginning.
    refused(
        bytes(part(raw, &bob.key, 5..9).await),
        Code::NotFound,
        "begin",
    );
    let empty = part(raw, key, middle..middle).await;
    refused(bytes(empty), Code::InvalidArgument, "data");
    send(raw, key, middle).await;
    assert_eq!(keep(raw, alice.hash).await.unwrap(), PARAMS);
    refused(
        keep(raw, alice.hash).await.map(|_| 0),
        Code::NotFound,
        "begun",
    );

    let (query, _, plan) = alice.ask(TABLE.schema(), "SELECT * FROM people WHERE id = 37");
    let asked = ask_arrived(raw, alice.hash, &query).await;
    refused(asked.map(|_| 0), Code::NotFound, "begun");
    send(raw, &query, 0).await;
    let unknown = ask_arrived(raw, bob.hash, &query).await;
    refused(unknown.map(|_| 0), Code::NotFound, "upload it first");
    let answer = ask_arrived(raw, alice.hash, &query).await.unwrap();
    let answer = Answer::from_bytes(&alice.params, &plan, &answer).unwrap();
    let rows = alice.client(TABLE.schema()).decode(&plan, &answer).unwrap();
    assert_eq!(rows.numbers, [1]);

    // Parts of another file than the named one.
    let mut bent = query.clone();
    bent[100] ^= 1;
    bent.truncate(1000);
    let answer = raw.upload_part(UploadPartRequest {
        file_hash: blake3::hash(&query).as_bytes().to_vec().into(),
        total_bytes: bent.len() as u64,
        offset: 0,
        data: bent.into(),
    });
    answer.await.unwrap();
    let asked = ask_arrived(raw, alice.hash, &query).await;
    refused(asked.map(|_| 0), Code::DataLoss, "another");
    // Files of which one byte arrived do not prevent queries.
    for number in 0..50 {
        part(raw, &[number; 2], 0..1).await.unwrap();
    }
    send(raw, &query, 0).await;
    assert!(
        !ask_arrived(raw, alice.hash, &query)
            .await
            .unwrap()
            .is_empty()
    );
    server.stop().await;
}

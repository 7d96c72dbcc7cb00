//! Orders: digests of batches that are made without a request when a batch is full.

use crate::access::token;
use crate::world::{
    BOUND, Client, Person, Running, chunks, config, post, request, served, set, with_token,
};
use bytes::Bytes;
use omr_api::{order_batch_id, v1};
use omr_server::Config;
use omr_server::tokens::Right;
use std::time::Duration;
use tonic::{Code, Status};

const ORDER: [u8; 16] = [77; 16];

fn batch() -> u64 {
    set().sophomr().unwrap().slots() as u64
}

fn order(keys: &[[u8; 32]], start: u64) -> v1::CreateOrderRequest {
    v1::CreateOrderRequest {
        request_id: ORDER.to_vec().into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start,
        bound: BOUND,
        indices_only: false,
        scheme: 0,
    }
}

async fn create(client: &mut Client, asked: v1::CreateOrderRequest) -> Result<v1::Order, Status> {
    let created = client.detection.create_order(asked).await?;
    Ok(created.into_inner().order.unwrap())
}

async fn next(client: &mut Client, order_id: &Bytes) -> Result<u64, Status> {
    let order_id = order_id.clone();
    let got = client.detection.get_order(v1::GetOrderRequest { order_id });
    Ok(got.await?.into_inner().order.unwrap().next)
}

/// Returns the job for the digest of the batch that begins with `start`.
fn of_batch(keys: &[[u8; 32]], start: u64) -> v1::CreateJobRequest {
    v1::CreateJobRequest {
        request_id: order_batch_id(&ORDER, start).to_vec().into(),
        ..request(0, keys, start, start + batch())
    }
}

/// Posts messages until there are `len`; those at `own` are for `person`.
async fn fill(client: &mut Client, from: u64, len: u64, person: &Person, own: &[u64]) {
    let stranger = Person::new(99);
    let message = |index: u64| {
        if own.contains(&index) {
            person.message(index, index as u8)
        } else {
            stranger.message(index, 0)
        }
    };
    let messages: Vec<_> = (from..len).map(message).collect();
    for (i, chunk) in messages.chunks(500).enumerate() {
        let id = (from / 100) as u8 + i as u8 + 100;
        let posted = client.board.post_messages(post(id, chunk.to_vec()));
        posted.await.unwrap();
    }
}

/// Waits until an order has reached a message.
async fn until(client: &mut Client, order_id: &Bytes, message: u64) {
    for _ in 0..600 {
        if next(client, order_id).await.unwrap() == message {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the order never came to {message}");
}

async fn exact(client: &mut Client, person: &Person, asked: v1::CreateJobRequest, own: &[u64]) {
    let job = client.job(asked).await.unwrap();
    assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
    let digest = client.digest(&job).await;
    let expected: Vec<_> = own.iter().map(|index| (*index, *index as u8)).collect();
    assert_eq!(person.decode(&digest), expected);
}

/// Returns the number of digests made so far.
async fn made(server: &Running) -> f64 {
    let figures = crate::figures::metrics(server).await;
    let done = figures.get("omr_jobs_finished_total{outcome=\"done\"}");
    done.copied().unwrap_or(0.0)
}

async fn until_made(server: &Running, digests: f64) {
    for _ in 0..600 {
        if made(server).await >= digests {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{digests} digests were never made");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_worked_when_they_fill_also_over_a_restart_and_asking_finds_them() {
    let n = batch();
    let quick = |settings: &mut Config| settings.limits.messages_per_second = 100_000;
    let (dir, server, mut client) = served(quick).await;
    let ann = Person::new(1);
    let keys = [
        client.register(&ann.bulk).await,
        client.register(&ann.instant).await,
    ];
    let first = [n - 1, n, n + 700];
    fill(&mut client, 0, n + 800, &ann, &first).await;
    // No digest is due for a batch that begins before it.
    let given = create(&mut client, order(&keys, 1)).await.unwrap();
    assert_eq!((given.next, given.batch_messages), (n, n));
    assert_eq!(create(&mut client, order(&keys, 1)).await.unwrap(), given);
    let mut other = order(&keys, 1);
    other.bound = BOUND - 1;
    let refused = create(&mut client, other).await.unwrap_err();
    assert_eq!(refused.code(), Code::AlreadyExists, "{refused}");
    server.stop().await;

    let mut settings = config(dir.path());
    quick(&mut settings);
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    assert_eq!(next(&mut client, &given.order_id).await.unwrap(), n);
    fill(&mut client, n + 800, 2 * n, &ann, &[2 * n - 1]).await;
    until(&mut client, &given.order_id, 2 * n).await;
    until_made(&server, 1.0).await;
    let own = [n, n + 700, 2 * n - 1];
    exact(&mut client, &ann, of_batch(&keys, n), &own).await;
    assert_eq!(made(&server).await, 1.0, "asking found what was made");
    // A batch that the order left out is made on request.
    exact(&mut client, &ann, of_batch(&keys, 0), &[n - 1]).await;
    assert_eq!(made(&server).await, 2.0);

    let order_id = given.order_id.clone();
    let end = v1::EndOrderRequest { order_id };
    client.detection.end_order(end.clone()).await.unwrap();
    let gone = client.detection.end_order(end).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound, "{gone}");
    exact(&mut client, &ann, of_batch(&keys, n), &own).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_their_clients_own_few_and_end_with_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    let rights = [Right::Post, Right::Detect];
    let [ann, bea] = ["ann", "bea"].map(|name| token(dir.path(), name, &rights));
    let mut settings = config(dir.path());
    settings.access.anonymous_detect = false;
    settings.limits.orders = 1;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let person = Person::new(1);
    let bulk = upload(&mut client, &person.bulk, &ann).await;
    let instant = upload(&mut client, &person.instant, &bea).await;
    let mut give = async |asked: v1::CreateOrderRequest, token: &str| {
        let created = client.detection.create_order(with_token(asked, token));
        Ok::<_, Status>(created.await?.into_inner().order.unwrap())
    };
    let of_instant = give(order(&[instant], 0), &bea).await.unwrap_err();
    assert_eq!(of_instant.code(), Code::InvalidArgument);
    assert!(
        of_instant.message().contains("batch by batch"),
        "{of_instant}"
    );
    let of_others = give(order(&[bulk], 0), &bea).await.unwrap_err();
    assert_eq!(of_others.code(), Code::NotFound, "{of_others}");
    let mut high = order(&[bulk], 0);
    high.bound = 5000;
    let of_bound = give(high, &ann).await.unwrap_err();
    assert_eq!(of_bound.code(), Code::InvalidArgument, "{of_bound}");
    let given = give(order(&[bulk], 0), &ann).await.unwrap();
    let mut second = order(&[bulk], 0);
    second.request_id = vec![78; 16].into();
    let of_many = give(second, &ann).await.unwrap_err();
    assert_eq!(of_many.code(), Code::FailedPrecondition);
    assert!(
        of_many.message().contains("orders: expected at most 1"),
        "{of_many}"
    );
    let get = |token: &str| {
        let order_id = given.order_id.clone();
        with_token(v1::GetOrderRequest { order_id }, token)
    };
    let foreign = client.detection.get_order(get(&bea)).await.unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound, "{foreign}");
    client.detection.get_order(get(&ann)).await.unwrap();
    let key_hash = bulk.to_vec().into();
    let revoke = with_token(v1::RevokeKeyRequest { key_hash }, &ann);
    client.keys.revoke_key(revoke).await.unwrap();
    let gone = client.detection.get_order(get(&ann)).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound, "{gone}");
    server.stop().await;
}

/// Uploads and registers a key of a token.
async fn upload(client: &mut Client, key: &[u8], token: &str) -> [u8; 32] {
    let hash = *blake3::hash(key).as_bytes();
    let key_hash: Bytes = hash.to_vec().into();
    let begin = v1::BeginUploadRequest {
        key_hash: key_hash.clone(),
        total_bytes: key.len() as u64,
    };
    let begun = client.keys.begin_upload(with_token(begin, token)).await;
    let chunks = chunks(key, &key_hash, begun.unwrap().into_inner().next_offset);
    let chunks = with_token(futures::stream::iter(chunks), token);
    client.keys.upload_chunks(chunks).await.unwrap();
    let register = with_token(v1::RegisterKeyRequest { key_hash }, token);
    client.keys.register_key(register).await.unwrap();
    hash
}

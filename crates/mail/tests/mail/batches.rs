//! Identities that fetch whole batches, which the server computes as soon as they are full.

use crate::common::{PARAMS, Scene, fake::Fault, wanted};
use omr_mail::{Home, Identity, MailError, NewIdentity};
use omr_protocol::{ParamSet, Scheme};
use omr_remote::order_batch_id;
use tonic::Code;

fn batch() -> usize {
    let set = ParamSet::named(PARAMS).unwrap();
    set.sophomr().unwrap().slots()
}

async fn scene() -> Scene {
    let new = NewIdentity {
        scheme: Some(Scheme::Sophomr),
        batches: true,
        ..wanted()
    };
    let scene = Scene::of(&new).await;
    scene.fake.with(|state| {
        (state.limits.orders, state.batch) = (1, batch() as u64);
        state.limits.post_messages = 1000;
    });
    let client = scene.fake.client();
    Scene { client, ..scene }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_takes_full_batches_under_the_ids_of_one_order() {
    let scene = scene().await;
    let inbox = scene.inbox();
    scene.write(&[b"early"]).await;
    scene.write_to_others(batch() - 2).await;
    assert_eq!(scene.fetch(&inbox).await.unwrap(), []);
    assert_eq!(scene.fake.count("CreateJob"), 0, "no batch is full");
    scene.write(&[b"last", b"of the next batch"]).await;
    for _ in 0..2 {
        scene.fetch(&inbox).await.unwrap();
    }
    assert_eq!(scene.contents(&inbox), [&b"early"[..], b"last"]);
    let (orders, jobs) = scene
        .fake
        .with(|state| (state.orders.clone(), state.jobs.clone()));
    let [order]: [_; 1] = orders.into_values().collect::<Vec<_>>().try_into().unwrap();
    let [(job_id, job)]: [_; 1] = jobs.into_iter().collect::<Vec<_>>().try_into().unwrap();
    let of_order = (order.key_hashes, order.bound, order.scheme);
    assert_eq!((job.key_hashes, job.bound, job.scheme), of_order);
    assert_eq!((job.start, job.end), (0, batch() as u64));
    let id: [u8; 16] = order.request_id[..].try_into().unwrap();
    assert_eq!(job_id, order_batch_id(&id, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_come_also_from_a_server_that_takes_no_orders() {
    let scene = scene().await;
    let inbox = scene.inbox();
    scene.write(&[b"first"]).await;
    scene.write_to_others(batch() - 1).await;
    let fetch = || scene.collect(&scene.client, &inbox);
    scene
        .fake
        .fail("CreateOrder", Fault::Refuse(Code::FailedPrecondition));
    let why = fetch().await.unwrap().ordered.unwrap_err();
    assert!(why.contains("told to"), "{why}");
    scene.fake.with(|state| state.batch = 7);
    let why = fetch().await.unwrap().ordered.unwrap_err();
    assert!(why.contains("have 7 messages"), "{why}");
    scene.fake.with(|state| state.limits.orders = 0);
    let client = scene.fake.client();
    let collected = scene.collect(&client, &inbox);
    let why = collected.await.unwrap().ordered.unwrap_err();
    assert_eq!(why, "it takes no orders");
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"first"]);
}

#[test]
fn keys_for_single_messages_have_no_batches() {
    let dir = tempfile::tempdir().unwrap();
    let new = NewIdentity {
        batches: true,
        ..wanted()
    };
    let refused = Identity::create(&Home::new(dir.path().join("ann")), &new).unwrap_err();
    assert!(
        matches!(refused, MailError::NoBatches(Scheme::Instantomr)),
        "{refused}"
    );
}

//! Canaries: a detector that leaves messages out is detected; no canary is ever listed as a letter.

use crate::common::Scene;
use crate::common::fake::Fault;
use omr_mail::{CanaryState, post_canary};
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_is_left_out_is_missing() {
    let scene = Scene::new(8).await;
    let inbox = scene.inbox();
    for _ in 0..3 {
        post_canary(&scene.client, &scene.identity, &inbox)
            .await
            .unwrap();
    }
    scene.write(&[b"a letter"]).await;
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Posted), 3);
    scene.dropped.lock().unwrap().insert(1);
    scene.fetch(&inbox).await.unwrap();
    let audit = inbox.audit().unwrap();
    assert_eq!(audit.count(CanaryState::Returned), 2);
    let missing: Vec<_> = audit
        .canaries
        .iter()
        .filter(|c| c.state == CanaryState::Missing)
        .collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(
        (missing[0].index, missing[0].missing_from.clone()),
        (Some(1), Some(0..4))
    );
    assert_eq!(scene.contents(&inbox), [b"a letter"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_accuses_nobody() {
    let scene = Scene::new(2).await;
    let inbox = scene.inbox();
    for _ in 0..3 {
        post_canary(&scene.client, &scene.identity, &inbox)
            .await
            .unwrap();
    }
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Posted), 3);
    inbox.raise_bound(4).unwrap();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Returned), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_canary_is_posted_once() {
    let scene = Scene::new(8).await;
    for fault in [Fault::Refuse(Code::Internal), Fault::LoseAnswer] {
        scene.fake.fail("PostMessages", fault);
    }
    let interrupted = post_canary(&scene.client, &scene.identity, &scene.inbox()).await;
    assert!(interrupted.is_err());
    let inbox = scene.inbox();
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Posting), 1);
    post_canary(&scene.client, &scene.identity, &inbox)
        .await
        .unwrap();
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Posted), 2);
    assert_eq!(scene.fake.with(|state| state.messages.len()), 2);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(inbox.audit().unwrap().count(CanaryState::Returned), 2);
    assert_eq!(inbox.list(true).unwrap(), []);
}

//! Workers that lie.

use super::scene::{Raw, Scene};
use crate::world::with_token;
use omr_api::v1;
use tonic::{Code, Status};

/// A function that makes a request wrong.
type Change = &'static dyn Fn(&mut v1::LeaseRequest);

/// The report is refused, and counts as a failed attempt.
fn assert_refused(done: Result<bool, Status>, expected: &str) {
    let refused = done.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().contains(expected), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_digest_of_the_unit_is_refused() {
    let mut scene = Scene::start(60).await;
    let (stop, running) = scene.worker().await;
    scene.ask(10).await;
    scene.exact(10).await;
    let known = scene.fetch(10).await;
    stop.stop();
    running.await.unwrap().unwrap();
    // Equal messages, but the placement is drawn for each.
    scene.ask_for(11, 10).await;
    let mut raw = Raw::new(&scene, "liar-0").await;
    let unit = raw.lease().await.unwrap();
    assert_refused(raw.complete(&unit, 0, &known).await, "seed");
    let mut raw = Raw::new(&scene, "liar-1").await;
    let unit = raw.lease().await.unwrap();
    assert_refused(raw.complete(&unit, 0, b"no digest").await, "");
    let mut raw = Raw::new(&scene, "liar-2").await;
    let unit = raw.lease().await.unwrap();
    let long = vec![7; 1 << 20];
    assert_refused(raw.complete(&unit, 0, &long).await, "at most");
    assert_eq!(scene.state(11).await, v1::JobState::Failed);
    // Other messages, another bound, one byte changed.
    scene.ask(12).await;
    let mut raw = Raw::new(&scene, "liar-3").await;
    let unit = raw.lease().await.unwrap();
    assert_refused(raw.complete(&unit, 0, &known).await, "");
    let mut raw = Raw::new(&scene, "liar-4").await;
    let unit = raw.lease().await.unwrap();
    let mut digest = scene.digest_of(&unit);
    let middle = digest.len() / 2;
    digest[middle] ^= 1;
    assert_refused(raw.complete(&unit, 0, &digest).await, "");
    let mut raw = Raw::new(&scene, "liar-5").await;
    let unit = raw.lease().await.unwrap();
    // A job that the unit does not have is no attempt.
    let digest = scene.digest_of(&unit);
    assert_refused(raw.complete(&unit, 1, &digest).await, "less than 1");
    assert!(raw.complete(&unit, 0, &digest).await.unwrap());
    scene.exact(12).await;
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_end_or_keep_anothers_unit() {
    let mut scene = Scene::start(60).await;
    scene.ask(13).await;
    let (mut raw, mut stranger) = (
        Raw::new(&scene, "own").await,
        Raw::new(&scene, "stranger").await,
    );
    let unit = raw.lease().await.unwrap();
    let digest = scene.digest_of(&unit);
    for refused in [
        stranger.renew(&unit).await.map(drop),
        stranger.fail(&unit, 0, "bad").await,
        stranger.complete(&unit, 0, &digest).await.map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    }
    assert!(raw.complete(&unit, 0, &digest).await.unwrap());
    scene.exact(13).await;
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_version_or_set_or_without_engines_is_refused() {
    let scene = Scene::start(60).await;
    let mut raw = Raw::new(&scene, "old").await;
    let changes: [(Change, &str); 4] = [
        (&|request| request.version = "0.0.9".into(), "version"),
        (
            &|request| request.params_id = "sophomr-v5".into(),
            "parameter set",
        ),
        (&|request| request.engines.clear(), "engines"),
        (&|request| request.worker = None, "worker_id"),
    ];
    for (change, expected) in changes {
        let mut request = raw.request();
        change(&mut request);
        let request = with_token(request, &raw.token);
        let refused = raw.calls.lease(request).await.unwrap_err();
        let code = match expected {
            "worker_id" => Code::InvalidArgument,
            _ => Code::FailedPrecondition,
        };
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(expected), "{refused}");
    }
    scene.server.stop().await;
}

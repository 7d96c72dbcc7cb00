//! Workers outside the server's process: honest ones, some that vanish, and some that lie.

mod hostile;
mod scene;

use crate::figures::metrics;
use crate::world::{BOUND, Running, with_token};
use omr_api::v1;
use omr_protocol::EngineKind;
use scene::{IN_BATCHES, Raw, Scene, settings};
use std::time::Duration;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_do_what_a_server_leaves_to_them_and_one_that_vanishes_harms_nobody() {
    let mut scene = Scene::start(2).await;
    for number in 0..8 {
        scene.ask(number).await;
    }
    // One worker takes a unit and vanishes.
    let mut vanishing = Raw::new(&scene, "vanishing").await;
    assert!(vanishing.lease().await.is_some());
    let workers = [scene.worker().await, scene.worker().await];
    for number in 0..8 {
        scene.exact(number).await;
    }
    let figures = metrics(&scene.server).await;
    for (name, expected) in [
        ("omr_jobs_finished_total{outcome=\"done\"}", 8.0),
        ("omr_leases_expired_total", 1.0),
        ("omr_jobs{state=\"queued\"}", 0.0),
        ("omr_jobs{state=\"running\"}", 0.0),
        ("omr_workers{state=\"working\"}", 0.0),
    ] {
        assert_eq!(figures.get(name), Some(&expected), "{name}");
    }
    for (stop, running) in workers {
        stop.stop();
        running.await.unwrap().unwrap();
    }
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_from_before_a_restart_is_void_and_its_job_runs_again() {
    let mut scene = Scene::start(60).await;
    scene.ask(1).await;
    let mut raw = Raw::new(&scene, "old").await;
    let unit = raw.lease().await.unwrap();
    let digest = scene.digest_of(&unit);
    let Scene { dir, server, .. } = scene;
    server.stop().await;
    let mut scene = Scene::of(dir, Running::start).await;
    let mut raw = Raw::new(&scene, "old").await;
    let old = raw.complete(&unit, 0, &digest).await.unwrap_err();
    assert_eq!(old.code(), Code::NotFound, "{old}");
    assert_eq!(raw.renew(&unit).await.unwrap_err().code(), Code::NotFound);
    let (stop, running) = scene.worker().await;
    scene.exact(1).await;
    stop.stop();
    running.await.unwrap().unwrap();
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_attempts_count_over_restarts() {
    let mut scene = Scene::start(60).await;
    scene.ask(1).await;
    for attempt in 1..=3 {
        let mut raw = Raw::new(&scene, "poisoned").await;
        let unit = raw.lease().await.unwrap();
        raw.fail(&unit, 0, "out of memory").await.unwrap();
        let expected = match attempt {
            3 => v1::JobState::Failed,
            _ => v1::JobState::Queued,
        };
        assert_eq!(scene.state(1).await, expected, "{attempt}");
        let Scene { dir, server, .. } = scene;
        server.stop().await;
        scene = Scene::of(dir, Running::start).await;
    }
    let error = scene.job(1).await.error;
    assert!(error.contains("3 attempts"), "{error}");
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_may_come_late_and_twice_but_not_otherwise() {
    let mut scene = Scene::start(1).await;
    scene.ask(2).await;
    let mut raw = Raw::new(&scene, "slow").await;
    let unit = raw.lease().await.unwrap();
    assert_eq!(raw.renew(&unit).await.unwrap(), [0]);
    let digest = scene.digest_of(&unit);
    assert_eq!(
        digest,
        scene.digest_of(&unit),
        "its bytes follow from the unit"
    );
    // Nobody else requests work: the lease is ended nevertheless.
    for _ in 0..100 {
        if scene.state(2).await == v1::JobState::Queued {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(scene.state(2).await, v1::JobState::Queued);
    let late = raw.renew(&unit).await.unwrap_err();
    assert_eq!(late.code(), Code::FailedPrecondition, "{late}");
    assert!(raw.complete(&unit, 0, &digest).await.unwrap());
    scene.exact(2).await;
    assert!(raw.complete(&unit, 0, &digest).await.unwrap(), "once more");
    assert!(raw.lease().await.is_none(), "its job is not in line");
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gives_back_what_it_does_not_want_and_hears_of_cancelled_jobs() {
    let mut scene = Scene::start(60).await;
    scene.ask(3).await;
    let mut raw = Raw::new(&scene, "tired").await;
    for _ in 0..5 {
        let unit = raw.lease().await.unwrap();
        raw.fail(&unit, 0, "").await.unwrap();
        assert_eq!(scene.state(3).await, v1::JobState::Queued);
    }
    let unit = raw.lease().await.unwrap();
    assert_eq!(raw.renew(&unit).await.unwrap(), [0]);
    let digest = scene.digest_of(&unit);
    scene.cancel(3).await;
    assert!(raw.renew(&unit).await.unwrap().is_empty());
    assert!(!raw.complete(&unit, 0, &digest).await.unwrap());
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_failures_of_workers_fail_a_job_by_name() {
    let mut scene = Scene::start(60).await;
    scene.ask(4).await;
    for attempt in 1..=3 {
        // Another worker gets it at once.
        let mut raw = Raw::new(&scene, &format!("broken-{attempt}")).await;
        let unit = raw.lease().await.unwrap();
        assert_eq!(unit.jobs.len(), 1);
        raw.fail(&unit, 0, "the fan\nstands still").await.unwrap();
        let failed = scene.state(4).await == v1::JobState::Failed;
        assert_eq!(failed, attempt == 3);
    }
    let error = scene.job(4).await.error;
    assert!(
        error.contains("3 attempts") && error.contains("the fan stands still"),
        "{error}"
    );
    let mut raw = Raw::new(&scene, "late").await;
    assert!(raw.lease().await.is_none());
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_fails_everything_at_once_ends_no_job_beside_an_honest_one() {
    let mut scene = Scene::start(60).await;
    scene.ask(6).await;
    let mut evil = Raw::new(&scene, "evil").await;
    let unit = evil.lease().await.unwrap();
    evil.fail(&unit, 0, "no").await.unwrap();
    assert!(evil.lease().await.is_none(), "neither this job nor another");
    let (stop, running) = scene.worker().await;
    scene.exact(6).await;
    stop.stop();
    running.await.unwrap().unwrap();
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_reads_keys_of_its_units_and_no_others() {
    let mut scene = Scene::start(60).await;
    scene.ask(5).await;
    let (mut raw, mut other) = (
        Raw::new(&scene, "reader").await,
        Raw::new(&scene, "other").await,
    );
    let unit = raw.lease().await.unwrap();
    assert_eq!((unit.bound, unit.jobs[0].keys.len()), (BOUND, 1));
    let key = unit.jobs[0].keys[0].key_hash.clone();
    assert_eq!(raw.key(&key).await.unwrap(), scene.person.instant);
    let refused = other.key(&key).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    let bulk = bytes::Bytes::from(scene.keys[0].to_vec());
    assert_eq!(
        raw.key(&bulk).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_one_engine_leaves_the_other_digests_to_others() {
    let mut scene = Scene::start(60).await;
    let (instant, in_batches) = ([1, 3], [IN_BATCHES, IN_BATCHES + 1]);
    for number in in_batches.into_iter().chain(instant) {
        scene.ask(number).await;
    }
    for (engine, own, left) in [
        (EngineKind::Instantomr, instant, &in_batches[..]),
        (EngineKind::Sophomr, in_batches, &[]),
    ] {
        let (stop, running) = scene.worker_with(&[engine]).await;
        for number in own {
            scene.exact(number).await;
        }
        for &number in left {
            assert_eq!(scene.state(number).await, v1::JobState::Queued, "{number}");
        }
        stop.stop();
        running.await.unwrap().unwrap();
    }
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_nobody_works() {
    let scene = Scene::start(60).await;
    let other = scene.token("client", omr_server::tokens::Right::Detect);
    // The file is checked every two seconds.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let raw = Raw::new(&scene, "worker").await;
    let mut calls = raw.calls.clone();
    let stranger = calls.lease(raw.request()).await.unwrap_err();
    assert_eq!(stranger.code(), Code::Unauthenticated, "{stranger}");
    let refused = calls.lease(with_token(raw.request(), &other)).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let hashes = v1::ReadHashesRequest { start: 0, end: 1 };
    let refused = calls.read_hashes(with_token(hashes, &other)).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let settings = settings(&scene.server, &other);
    let refused = omr_worker::Worker::connect(settings).await.err().unwrap();
    assert!(refused.to_string().contains("--may work"), "{refused}");
    scene.server.stop().await;
}

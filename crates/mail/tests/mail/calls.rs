//! All calls of fetches and sessions in their order, as an earlier version recorded them in `calls.txt`.

use crate::common::fake::Fault;
use crate::common::{PARAMS, Scene, wanted};
use omr_mail::{MailError, NewIdentity, Reader, close_session, cut};
use omr_protocol::{ParamSet, Scheme};
use std::fmt::Write;
use tonic::Code;

/// Records the calls of an exchange, and whether it succeeded.
async fn exchange(
    log: &mut String,
    scene: &Scene,
    of: impl AsyncFnOnce() -> Result<(), MailError>,
) {
    let before = scene.fake.with(|state| state.log.len());
    let ended = of().await;
    for line in scene.fake.with(|state| state.log[before..].to_vec()) {
        writeln!(log, "{}", line.trim_end()).unwrap();
    }
    writeln!(log, "= {}", if ended.is_ok() { "done" } else { "failed" }).unwrap();
}

async fn fetch(log: &mut String, scene: &Scene) {
    let inbox = scene.inbox();
    let reader = Reader::new(&scene.identity).unwrap();
    let whole = async || {
        let collected = scene.collect(&scene.client, &inbox).await;
        inbox.take_in(&reader)?;
        collected.map(drop)
    };
    exchange(log, scene, whole).await;
}

async fn fetches(log: &mut String) {
    let scene = Scene::with_spares(4).await;
    let faults: [&[(&str, Fault)]; 12] = [
        &[],
        &[("CreateJob", Fault::Refuse(Code::InvalidArgument))],
        &[("WatchJob", Fault::Refuse(Code::NotFound))],
        &[],
        &[
            ("FetchDigest", Fault::BreakAfter(1)),
            ("GetBoard", Fault::LoseAnswer),
        ],
        &[("CreateJob", Fault::Refuse(Code::AlreadyExists))],
        &[("WatchJob", Fault::Refuse(Code::FailedPrecondition))],
        &[],
        &[("CreateJob", Fault::Refuse(Code::OutOfRange))],
        &[("CreateJob", Fault::Refuse(Code::PermissionDenied))],
        &[("GetBoard", Fault::Refuse(Code::PermissionDenied))],
        &[],
    ];
    for (turn, faults) in faults.iter().enumerate() {
        scene.write(&[b"hers"]).await;
        scene.write_to_others(3).await;
        match turn {
            3 => scene.fake.with(|state| state.limits.digest_messages = 2),
            7 => scene.fake.with(|state| state.board.first_index = 21),
            _ => {}
        }
        for (call, fault) in *faults {
            scene.fake.fail(call, fault.clone());
        }
        fetch(log, &scene).await;
    }
}

/// Messages that expire between the description of the board and the request; a range of several requests; a person's
/// act.
async fn pieces(log: &mut String) {
    let mut scene = Scene::new(2).await;
    scene.fake.with(|state| state.limits.digest_messages = 3);
    scene.client = scene.fake.client();
    scene.write_to_others(8).await;
    scene.fake.with(|state| state.expires_at_limits = Some(4));
    scene.client = scene.fake.client();
    fetch(log, &scene).await;
    fetch(log, &scene).await;
    scene.write(&[b"1", b"2", b"3"]).await;
    fetch(log, &scene).await;
    assert_eq!(scene.inbox().raise_bound(9).unwrap(), 1);
    fetch(log, &scene).await;
}

async fn sessions(log: &mut String) {
    let scene = Scene::with_spares(8).await;
    scene.fake.with(|state| state.limits.post_messages = 2000);
    let tick = async |log: &mut String| {
        let inbox = scene.inbox();
        let tick = async || {
            let ticked = cut(&scene.client, &scene.identity, inbox.requests()).await;
            ticked.map(drop)
        };
        exchange(log, &scene, tick).await;
    };
    for turn in 0..7 {
        scene.write(&[b"hers"]).await;
        match turn {
            1 => scene.fake.fail("CutSession", Fault::LoseAnswer),
            2 => scene.write_to_others(1100).await,
            4 => scene.fake.with(|state| state.board.first_index = 1110),
            5 => scene.fake.with(|state| state.sessions.clear()),
            _ => {}
        }
        tick(log).await;
    }
    let inbox = scene.inbox();
    let close = async || close_session(&scene.client, inbox.requests()).await;
    exchange(log, &scene, close).await;
    exchange(log, &scene, close).await;
}

async fn batches(log: &mut String) {
    let new = NewIdentity {
        scheme: Some(Scheme::Sophomr),
        batches: true,
        ..wanted()
    };
    let mut scene = Scene::of(&new).await;
    let set = ParamSet::named(PARAMS).unwrap();
    let batch = set.sophomr().unwrap().slots();
    scene.fake.with(|state| {
        (state.limits.orders, state.batch) = (1, batch as u64);
        state.limits.post_messages = 1000;
    });
    scene.client = scene.fake.client();
    fetch(log, &scene).await;
    scene.write_to_others(batch + 1).await;
    fetch(log, &scene).await;
    scene
        .fake
        .fail("CreateOrder", Fault::Refuse(Code::Internal));
    fetch(log, &scene).await;
    scene
        .fake
        .fail("CreateOrder", Fault::Refuse(Code::PermissionDenied));
    fetch(log, &scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_sees_the_calls_of_before() {
    let mut log = String::new();
    for title in ["fetches", "pieces", "sessions", "batches"] {
        writeln!(log, "# {title}").unwrap();
        match title {
            "fetches" => fetches(&mut log).await,
            "pieces" => pieces(&mut log).await,
            "sessions" => sessions(&mut log).await,
            _ => batches(&mut log).await,
        }
    }
    assert_eq!(log, include_str!("calls.txt"));
}

//! Spare requests: overflowing messages arrive, and nobody can see that they overflowed.

use crate::common::Scene;
use crate::common::fake::Fault;
use omr_mail::{Outcome, Reader, Spares};
use omr_protocol::Mismatch;
use std::ops::Range;
use tonic::Code;

/// Returns a file of `parts` parts.
fn file_of(parts: usize) -> Vec<u8> {
    (0..(parts - 1) * 84 + 40).map(|i| (i * i) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_of_five_times_the_bound_comes_whole() {
    let scene = Scene::with_spares(8).await;
    let inbox = scene.inbox();
    let long = file_of(40);
    scene.write(&[b"before"]).await;
    scene.write(&[&long]).await;
    scene.write_to_others(5).await;
    scene.write(&[b"after"]).await;
    let messages = scene.fake.with(|state| state.messages.len() as u64);
    let hers = messages - 5;
    assert!(hers > 35, "{hers} messages");

    let taken = scene.fetch(&inbox).await.unwrap();
    let told = taken.iter().find_map(|taken| match &taken.outcome {
        Outcome::Kept(kept) => Some((kept.range(), kept.overflowed)),
        Outcome::Delivered { .. } | Outcome::Unanswered(_) => None,
    });
    assert_eq!(told, Some((0..messages, Some(hers))));
    let kept = inbox.kept().unwrap().remove(0);
    assert!((4..=8).contains(&kept.read), "one class came: {kept:?}");
    assert_eq!(kept.fetches_left, 121);

    // A seventh arrives at every other fetch; the letters between are not held up.
    let mut fetches = 1;
    while !inbox.kept().unwrap().is_empty() {
        if fetches == 7 {
            let (incomplete, _) = inbox.leftovers().unwrap();
            assert_eq!(incomplete[0].parts as u64, hers - 2);
            assert!((15..hers as u32 - 2).contains(&incomplete[0].here));
            scene.write(&[b"meanwhile"]).await;
        }
        assert!(fetches < 14, "{:?}", inbox.kept());
        scene.fetch(&inbox).await.unwrap();
        fetches += 1;
    }
    let mut expected = vec![
        b"before".to_vec(),
        b"after".to_vec(),
        b"meanwhile".to_vec(),
        long,
    ];
    expected.sort();
    assert_eq!(scene.contents(&inbox), expected);
    assert_eq!(inbox.leftovers().unwrap(), (vec![], 0));
}

/// Returns the calls that the server receives in fetches 0 to `count`, where `hers(i)` of the 4 messages before fetch i
/// are for the identity.
async fn observed(count: usize, hers: impl Fn(usize) -> usize) -> (Vec<String>, Scene, u64) {
    let scene = Scene::with_spares(2).await;
    let inbox = scene.inbox();
    scene.client.limits().await.unwrap();
    let (mut log, mut sent) = (Vec::new(), 0);
    for i in 0..count {
        let new = if i % 3 == 0 { 4 } else { 0 };
        let hers = hers(i).min(new);
        sent += hers as u64;
        for letter in 0..hers {
            scene.write(&[format!("{i} {letter}").as_bytes()]).await;
        }
        scene.write_to_others(new - hers).await;
        let before = scene.fake.with(|state| state.log.len());
        scene.fetch(&inbox).await.unwrap();
        log.extend(scene.fake.with(|state| state.log[before..].to_vec()));
    }
    drop(inbox);
    (log, scene, sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_fetches_look_the_same_whatever_overflows() {
    let count = 102;
    let (idle, ..) = observed(count, |_| 0).await;
    let (some, scene, sent) = observed(count, |i| usize::from(i % 9 == 0)).await;
    assert_eq!(scene.contents(&scene.inbox()).len() as u64, sent);
    // Single ranges overflow, and arrive by the spare requests.
    let (single, scene, sent) = observed(count, |i| if i == 0 || i == 45 { 4 } else { 0 }).await;
    assert_eq!(scene.contents(&scene.inbox()).len() as u64, sent);
    assert!(scene.inbox().kept().unwrap().is_empty());
    // A flood that never ends: the spare digests overflow as well.
    let (flood, scene, _) = observed(count, |_| 4).await;
    assert!(!scene.inbox().kept().unwrap().is_empty());
    let spares = idle.iter().filter(|line| line.contains("step 7 ")).count();
    assert!(spares > 40, "{spares} spare requests of the first level");
    assert!(idle.iter().any(|line| line.contains("step 61 ")));
    assert_eq!(idle, some);
    assert_eq!(idle, single);
    assert_eq!(idle, flood);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_server_is_asked_for_no_spares() {
    let scene = Scene::new(2).await;
    let inbox = scene.inbox();
    scene.write_to_others(3).await;
    let collected = scene.collect(&scene.client, &inbox).await.unwrap();
    assert_eq!(collected.spares, Spares::NotServed);
    assert_eq!(scene.fake.count("CreateJob"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_refused_for_good_holds_up_nothing() {
    let scene = Scene::with_spares(4).await;
    let inbox = scene.inbox();
    let reader = Reader::new(&scene.identity).unwrap();
    scene.write(&[b"first"]).await;
    scene.write_to_others(9).await;
    scene
        .fake
        .fail("CreateJob", Fault::Refuse(Code::InvalidArgument));
    let fetch = || scene.collect(&scene.client, &inbox);
    let collected = fetch().await.unwrap();
    assert_eq!(collected.refused.len(), 1);
    assert_eq!(collected.refused[0].0, 0..10);
    let kept = inbox.kept().unwrap().remove(0);
    assert_eq!((kept.range(), kept.overflowed), (0..10, None));
    assert!(kept.reason.contains("told to"), "{}", kept.reason);
    scene.write(&[b"second"]).await;
    assert_eq!(fetch().await.unwrap().refused, []);
    inbox.take_in(&reader).unwrap();
    assert!(scene.contents(&inbox).contains(&b"second".to_vec()));

    // A kept range was requested with a bound that no server serves.
    assert_eq!(inbox.again_range(0..10, 4000, 100).unwrap(), 1);
    assert!(inbox.kept().unwrap()[0].asked_again);
    scene
        .fake
        .fail("CreateJob", Fault::Refuse(Code::InvalidArgument));
    scene.write(&[b"third"]).await;
    assert_eq!(fetch().await.unwrap().refused.len(), 1);
    inbox.take_in(&reader).unwrap();
    assert!(scene.contents(&inbox).contains(&b"third".to_vec()));
    assert!(inbox.kept().unwrap().iter().all(|kept| !kept.asked_again));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_every_time_holds_up_nothing() {
    let scene = Scene::with_spares(4).await;
    let inbox = scene.inbox();
    scene.write_to_others(1).await;
    scene.write(&[b"first"]).await;
    // The server answers the watch as for a job that it lost.
    scene.fake.fail("WatchJob", Fault::Refuse(Code::NotFound));
    scene.fetch(&inbox).await.unwrap_err();
    scene.write(&[b"second"]).await;
    scene.fake.fail("WatchJob", Fault::Refuse(Code::NotFound));
    scene.fetch(&inbox).await.unwrap_err();
    inbox
        .take_in(&Reader::new(&scene.identity).unwrap())
        .unwrap();
    assert_eq!(scene.contents(&inbox), [b"second"]);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_asks_again_in_small_ranges_or_gives_up() {
    let scene = Scene::new(3).await;
    let inbox = scene.inbox();
    let kept = || -> Vec<Range<u64>> {
        let kept = inbox.kept().unwrap();
        kept.iter().map(|kept| kept.range()).collect()
    };
    for _ in 0..2 {
        for i in 0..6 {
            scene.write(&[format!("letter {i}").as_bytes()]).await;
        }
        scene.fetch(&inbox).await.unwrap();
    }
    assert_eq!(kept(), [0..6, 6..12]);
    assert!(matches!(
        inbox.again_range(10..13, 3, 2),
        Err(omr_mail::MailError::Range(Mismatch { expected: 12, .. }))
    ));
    assert_eq!(inbox.again_range(0..6, 3, 4).unwrap(), 2);
    scene.fetch(&inbox).await.unwrap();
    // Messages 0..4 overflow once more, 4..6 arrive.
    assert_eq!(kept(), [0..6, 6..12]);
    assert_eq!(scene.contents(&inbox).len(), 2);
    assert_eq!(inbox.again_range(0..4, 3, 2).unwrap(), 2);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(kept(), vec![Range { start: 6, end: 12 }]);
    assert_eq!(scene.contents(&inbox).len(), 6);

    assert!(inbox.drop_range(7..12).is_err());
    assert_eq!(inbox.drop_range(6..12).unwrap(), (1, 0));
    assert_eq!(kept(), []);
    assert_eq!(inbox.again_range(6..12, 3, 3).unwrap(), 2);
    assert_eq!(inbox.drop_range(6..9).unwrap(), (0, 1));
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox).len(), 9);
}

//! Fetches deliver each message once after any failure, and reveal nothing about the messages found.

use crate::common::Scene;
use crate::common::fake::Fault;
use omr_mail::{Inbox, Incomplete, MailError, Outcome, Reader, cut};
use omr_remote::RemoteError;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn letters_come_once_and_files_of_many_parts_whole() {
    let scene = Scene::new(8).await;
    let inbox = scene.inbox();
    let long: Vec<u8> = (0..500u32).map(|i| i as u8).collect();
    scene.write_to_others(2).await;
    scene.write(&[b"hello", &long]).await;
    let taken = scene.fetch(&inbox).await.unwrap();
    assert_eq!(taken.len(), 1);
    let mut expected = vec![b"hello".to_vec(), long];
    expected.sort();
    assert_eq!(scene.contents(&inbox), expected);
    assert_eq!(
        inbox.list(false).unwrap()[0].first_line.as_deref(),
        Some("hello")
    );

    // Without new messages there is no request, and nothing comes twice.
    let jobs = scene.fake.count("CreateJob");
    assert_eq!(scene.fetch(&inbox).await.unwrap(), []);
    assert_eq!(scene.fake.count("CreateJob"), jobs);
    assert_eq!(scene.contents(&inbox).len(), 2);

    inbox.mark_read(&[1]).unwrap();
    assert_eq!(inbox.list(false).unwrap().len(), 1);
    assert!(matches!(
        inbox.mark_read(&[9]),
        Err(MailError::NoMessage(9))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_come_with_letters() {
    let scene = Scene::new(8).await;
    let named = |name: &str, bytes: usize| omr_mail::Letter {
        name: Some(name.into()),
        content: vec![7; bytes],
        ..omr_mail::Letter::default()
    };
    let letters = [
        named("/home/dora/photo.jpg", 300),
        named("../short.txt", 5),
        vec![8; 5].into(),
    ];
    let rules = omr_mail::Rules::default();
    let sent = omr_mail::send(&scene.client, &scene.address(), &letters, &rules).await;
    assert_eq!(sent.unwrap().len(), 3);
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    let mut found: Vec<_> = inbox
        .list(true)
        .unwrap()
        .into_iter()
        .map(|listed| {
            assert_eq!(inbox.name(listed.number).unwrap(), listed.name);
            (listed.name, listed.bytes)
        })
        .collect();
    found.sort();
    let expected = [
        (None, 5),
        (Some("photo.jpg".to_owned()), 300),
        (Some("short.txt".to_owned()), 5),
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_in_different_digests_make_one_file() {
    let scene = Scene::new(8).await;
    let inbox = scene.inbox();
    let long: Vec<u8> = (0..300u32).map(|i| i as u8).collect();
    scene.write(&[&long]).await;
    let parts = scene.fake.with(|state| state.messages.clone());
    assert!(parts.len() > 1);
    // The last part is posted later.
    scene
        .fake
        .with(|state| state.messages.truncate(parts.len() - 1));
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(
        (scene.contents(&inbox).len(), inbox.leftovers().unwrap()),
        (
            0,
            (
                vec![Incomplete {
                    here: parts.len() as u32 - 1,
                    parts: parts.len() as u32
                }],
                0
            )
        )
    );
    drop(inbox);
    scene
        .fake
        .with(|state| state.messages.push(parts.last().unwrap().clone()));
    let inbox = scene.inbox();
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(
        (scene.contents(&inbox), inbox.leftovers().unwrap()),
        (vec![long], (vec![], 0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copied_message_is_no_new_letter() {
    let scene = Scene::new(8).await;
    let inbox = scene.inbox();
    scene.write(&[b"once"]).await;
    scene.fake.with(|state| {
        let copy = state.messages[0].clone();
        state.messages.push(copy);
    });
    scene.fetch(&inbox).await.unwrap();
    scene.fake.with(|state| {
        let copy = state.messages[0].clone();
        state.messages.push(copy);
    });
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"once"]);
}

/// The fetch ends at the n-th call, before or after its effect, for every n. This is equivalent to a killed process, as
/// everything it knows is on the disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_killed_between_any_two_steps_delivers_once() {
    let scene = Scene::new(8).await;
    let long = vec![5; 300];
    let mut expected = Vec::new();
    for at in 0..6 {
        for effect in [false, true] {
            let letter = format!("letter {at} {effect}").into_bytes();
            scene.write(&[&letter, &long]).await;
            expected.extend([letter, long.clone()]);
            let calls = scene.fake.with(|state| state.log.len());
            scene
                .fake
                .with(|state| state.dies_at = Some((calls + at, effect)));
            let killed = scene.fetch(&scene.inbox()).await;
            scene.fake.with(|state| state.dies_at = None);
            let steps = ["GetBoard", "CreateJob", "WatchJob", "FetchDigest"];
            assert_eq!(killed.is_err(), at < steps.len(), "{at} {effect}");
            // The process is killed after collecting, before anything was decoded.
            let inbox = scene.inbox();
            scene.collect(&scene.client, &inbox).await.unwrap();
            drop(inbox);
            let reader = Reader::new(&scene.identity).unwrap();
            scene.inbox().take_in(&reader).unwrap();
            assert_eq!(scene.inbox().take_in(&reader).unwrap(), []);
            expected.sort();
            assert_eq!(scene.contents(&scene.inbox()), expected, "{at} {effect}");
        }
    }
    // Every range was requested under one id, however often.
    let ranges = scene
        .fake
        .with(|state| state.jobs.values().map(|job| job.start).collect::<Vec<_>>());
    let mut distinct = ranges.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ranges.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_the_server_forgot_is_requested_again() {
    let scene = Scene::new(8).await;
    scene.write(&[b"hello"]).await;
    let inbox = scene.inbox();
    scene
        .fake
        .fail("FetchDigest", Fault::Refuse(Code::NotFound));
    let lost = scene.fetch(&inbox).await;
    assert!(matches!(
        lost,
        Err(MailError::Remote(RemoteError::NotFound(..)))
    ));
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"hello"]);
    assert_eq!(scene.fake.with(|state| state.jobs.len()), 2);
}

/// Returns the calls that the fake server received in three fetches with new messages between them.
async fn observed(for_her: usize, others: usize) -> (Vec<String>, Scene, Inbox) {
    let scene = Scene::new(4).await;
    let inbox = scene.inbox();
    scene.fake.with(|state| state.limits.post_messages = 1000);
    let client = scene.fake.client();
    client.limits().await.unwrap();
    let mut log = Vec::new();
    for _ in 0..3 {
        for i in 0..for_her {
            scene.write(&[format!("letter {i}").as_bytes()]).await;
        }
        scene.write_to_others(others).await;
        let before = scene.fake.with(|state| state.log.len());
        scene.fetch(&inbox).await.unwrap();
        log.extend(scene.fake.with(|state| state.log[before..].to_vec()));
    }
    (log, scene, inbox)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_sees_the_same_whatever_was_found() {
    let (empty, ..) = observed(0, 7).await;
    let (some, scene, inbox) = observed(3, 4).await;
    assert_eq!(scene.contents(&inbox).len(), 9);
    let (overflowed, scene, inbox) = observed(7, 0).await;
    assert_eq!(scene.contents(&inbox), Vec::<Vec<u8>>::new());
    let kept = inbox.kept().unwrap();
    assert_eq!(kept.len(), 3);
    assert!(
        kept.iter()
            .all(|kept| (kept.overflowed, kept.bound) == (Some(7), 4))
    );
    let calls = ["GetBoard", "CreateJob", "WatchJob", "FetchDigest"];
    assert!(
        calls
            .iter()
            .all(|call| empty.iter().any(|line| line.starts_with(call)))
    );
    assert!(!empty.iter().any(|line| line.starts_with("CancelJob")));
    assert_eq!(empty, some);
    assert_eq!(empty, overflowed);

    // Only a person's act requests the range again.
    assert_eq!(inbox.raise_bound(4).unwrap(), 0);
    assert_eq!(inbox.raise_bound(8).unwrap(), 3);
    assert_eq!(inbox.raise_bound(8).unwrap(), 0);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(
        (scene.contents(&inbox).len(), inbox.kept().unwrap()),
        (21, vec![])
    );
    assert_eq!(scene.fake.with(|state| state.jobs.len()), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_digest_keeps_its_range() {
    let scene = Scene::new(8).await;
    let inbox = scene.inbox();
    scene.write(&[b"hello"]).await;
    scene.fake.with(|state| state.spoils = true);
    let taken = scene.fetch(&inbox).await.unwrap();
    assert!(matches!(&taken[0].outcome, Outcome::Kept(kept) if kept.overflowed.is_none()));
    assert_eq!(inbox.raise_bound(100).unwrap(), 0);
    let jobs = scene.fake.count("CreateJob");
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.fake.count("CreateJob"), jobs);
    assert_eq!(inbox.retry_damaged().unwrap(), 1);
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox), [b"hello"]);
    assert_eq!(inbox.kept().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_delivers_once_and_goes_on_after_a_kill() {
    let scene = Scene::new(8).await;
    let reader = Reader::new(&scene.identity).unwrap();
    let mut expected = Vec::new();
    for tick in 0..4 {
        let letter = format!("letter {tick}").into_bytes();
        scene.write(&[&letter]).await;
        expected.push(letter);
        let inbox = scene.inbox();
        // The answer is lost for good: the digest was made, and nobody here has it.
        let calls = scene.fake.with(|state| state.log.len());
        // The first tick requests the board and opens the session before it requests the digest.
        let at = calls + if tick == 0 { 2 } else { 0 };
        scene.fake.with(|state| state.dies_at = Some((at, true)));
        let lost = cut(&scene.client, &scene.identity, inbox.requests()).await;
        assert!(lost.is_err());
        scene.fake.with(|state| state.dies_at = None);
        drop(inbox);
        let inbox = scene.inbox();
        cut(&scene.client, &scene.identity, inbox.requests())
            .await
            .unwrap();
        inbox.take_in(&reader).unwrap();
        assert_eq!(scene.contents(&inbox), expected);
        drop(inbox);
    }
    assert_eq!(scene.fake.with(|state| state.sessions.len()), 1);
    let inbox = scene.inbox();
    omr_mail::close_session(&scene.client, inbox.requests())
        .await
        .unwrap();
    // An ordinary fetch continues after the session.
    scene.write(&[b"after"]).await;
    scene.fetch(&inbox).await.unwrap();
    assert_eq!(scene.contents(&inbox).len(), 5);
}

/// More messages than a session has room for: nothing is lost, and the next session has more room.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_session_is_followed_by_a_larger_one() {
    let scene = Scene::new(8).await;
    let reader = Reader::new(&scene.identity).unwrap();
    let inbox = scene.inbox();
    scene.write(&[b"first"]).await;
    scene.write_to_others(1040).await;
    scene.write(&[b"last"]).await;
    for (letters, rooms) in [
        (1, &["1024"][..]),
        (2, &["1024", "4096"]),
        (2, &["1024", "4096"]),
    ] {
        cut(&scene.client, &scene.identity, inbox.requests())
            .await
            .unwrap();
        inbox.take_in(&reader).unwrap();
        assert_eq!(scene.contents(&inbox).len(), letters);
        let room = |line: &String| {
            Some(
                line.strip_prefix("OpenSession")?
                    .rsplit(' ')
                    .next()?
                    .to_owned(),
            )
        };
        let asked: Vec<String> = scene
            .fake
            .with(|state| state.log.iter().filter_map(room).collect());
        assert_eq!(asked, rooms);
    }
    assert_eq!(scene.fake.count("CloseSession"), 1);
    assert_eq!(scene.fake.with(|state| state.sessions.len()), 1);
}

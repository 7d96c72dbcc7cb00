//! Sessions over the network.

use crate::world::{BOUND, Client, Person, Running, config, messages, post};
use bytes::Bytes;
use omr_api::v1;
use omr_server::store_config;
use omr_store::{Change, Store};
use std::fs;
use std::path::Path;
use tonic::{Code, Status};

fn open(key: &[u8; 32]) -> v1::OpenSessionRequest {
    v1::OpenSessionRequest {
        request_id: vec![9; 16].into(),
        key_hash: key.to_vec().into(),
        start: 0,
        bound: BOUND,
        indices_only: false,
        room: 0,
    }
}

async fn cut(client: &mut Client, id: &Bytes, number: u64) -> Result<Vec<u8>, Status> {
    Ok(cut_hashed(client, id, number).await?.0)
}

/// Returns a digest and the running hash of the log that is sent with every piece of it.
async fn cut_hashed(
    client: &mut Client,
    id: &Bytes,
    number: u64,
) -> Result<(Vec<u8>, Bytes), Status> {
    let request = v1::CutSessionRequest {
        session_id: id.clone(),
        number,
    };
    let mut pieces = client.detection.cut_session(request).await?.into_inner();
    let (mut digest, mut hashes) = (Vec::new(), Vec::new());
    while let Some(piece) = pieces.message().await? {
        digest.extend_from_slice(&piece.data);
        hashes.push(piece.log_hash);
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "one hash in all pieces");
    Ok((digest, hashes.remove(0)))
}

async fn session(client: &mut Client, id: &Bytes) -> v1::Session {
    let request = v1::GetSessionRequest {
        session_id: id.clone(),
    };
    let answer = client.detection.get_session(request).await.unwrap();
    answer.into_inner().session.unwrap()
}

/// Returns the running hash of the log at a length, from GetBoard.
async fn log_hash(client: &mut Client, length: u64) -> Bytes {
    let request = v1::GetBoardRequest {
        lengths: vec![length],
    };
    let answer = client.board.get_board(request).await.unwrap().into_inner();
    let hash = answer.log_hashes[0].clone();
    assert_eq!(hash.len(), 32, "the hash at {length}");
    hash
}

/// Waits until a session has processed all messages before `next`.
async fn reach(client: &mut Client, id: &Bytes, next: u64) -> v1::Session {
    loop {
        let session = session(client, id).await;
        assert_eq!(session.error, "");
        if session.next >= next {
            return session;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_digests_hold_every_message_once_also_across_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let person = Person::new(1);
    let all = messages(100, &person, &[2, 40, 41, 99]);
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let key = client.register(&person.instant).await;
    let opened = client
        .detection
        .open_session(open(&key))
        .await
        .unwrap()
        .into_inner();
    let id = opened.session.unwrap().session_id;
    let again = client
        .detection
        .open_session(open(&key))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(again.session.unwrap().session_id, id);
    client
        .board
        .post_messages(post(1, all[..41].to_vec()))
        .await
        .unwrap();
    reach(&mut client, &id, 41).await;
    let first = cut(&mut client, &id, 0).await.unwrap();
    assert_eq!(person.decode(&first), [(2, 2), (40, 40)]);
    client
        .board
        .post_messages(post(2, all[41..70].to_vec()))
        .await
        .unwrap();
    reach(&mut client, &id, 70).await;
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    client
        .board
        .post_messages(post(3, all[70..].to_vec()))
        .await
        .unwrap();
    let session = reach(&mut client, &id, 100).await;
    assert_eq!(session.cuts, 1);
    assert_eq!(
        cut(&mut client, &id, 0).await.unwrap(),
        first,
        "the last one again"
    );
    let early = cut(&mut client, &id, 5).await.unwrap_err();
    assert_eq!(early.code(), Code::FailedPrecondition, "{early}");
    let second = cut(&mut client, &id, 1).await.unwrap();
    assert_eq!(person.decode(&second), [(41, 41), (99, 99)]);
    let close = v1::CloseSessionRequest {
        session_id: id.clone(),
    };
    client.detection.close_session(close).await.unwrap();
    assert_eq!(
        cut(&mut client, &id, 2).await.unwrap_err().code(),
        Code::NotFound
    );
    server.stop().await;
}

/// Sessions state the hash at their next message, digests the hash at their end, also when the last one is fetched
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_cuts_name_the_running_hash_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let person = Person::new(1);
    let all = messages(70, &person, &[2, 40, 41]);
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let key = client.register(&person.instant).await;
    let opened = client
        .detection
        .open_session(open(&key))
        .await
        .unwrap()
        .into_inner()
        .session
        .unwrap();
    let id = opened.session_id;
    let first = post(1, all[..41].to_vec());
    client.board.post_messages(first).await.unwrap();
    let at_41 = reach(&mut client, &id, 41).await.log_hash;
    let (digest, end) = cut_hashed(&mut client, &id, 0).await.unwrap();
    let second = post(2, all[41..].to_vec());
    client.board.post_messages(second).await.unwrap();
    let at_70 = reach(&mut client, &id, 70).await.log_hash;
    for (length, hash) in [
        (0, &opened.log_hash),
        (41, &at_41),
        (41, &end),
        (70, &at_70),
    ] {
        assert_eq!(*hash, log_hash(&mut client, length).await, "at {length}");
    }
    let again = cut_hashed(&mut client, &id, 0).await.unwrap();
    assert_eq!(again, (digest.clone(), at_41.clone()));
    server.stop().await;

    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    assert_eq!(session(&mut client, &id).await.log_hash, at_70);
    let again = cut_hashed(&mut client, &id, 0).await.unwrap();
    assert_eq!(again, (digest, at_41.clone()));
    let (_, end) = cut_hashed(&mut client, &id, 1).await.unwrap();
    assert_eq!(end, at_70);
    server.stop().await;
    let store = Store::open(&store_config(&config(dir.path()))).unwrap();
    for (length, hash) in [(0, opened.log_hash), (41, at_41), (70, at_70)] {
        assert_eq!(store.hash_at(length).unwrap().unwrap()[..], hash[..]);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}

/// Session files of a board that continued are put into a data folder with an older board.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_stops_where_the_board_is_not_the_one_that_it_has_seen() {
    let dirs = tempfile::tempdir().unwrap();
    let (newer, older) = (dirs.path().join("newer"), dirs.path().join("older"));
    let person = Person::new(1);
    let all = messages(45, &person, &[2, 40, 41]);
    let server = Running::start(config(&newer)).await;
    let mut client = server.client().await;
    let key = client.register(&person.instant).await;
    let opened = client.detection.open_session(open(&key)).await;
    let id = opened.unwrap().into_inner().session.unwrap().session_id;
    let first = post(1, all[..20].to_vec());
    client.board.post_messages(first).await.unwrap();
    reach(&mut client, &id, 20).await;
    server.stop().await;
    copy_folder(&newer, &older);
    let server = Running::start(config(&newer)).await;
    let mut client = server.client().await;
    let second = post(2, all[20..41].to_vec());
    client.board.post_messages(second.clone()).await.unwrap();
    let seen = reach(&mut client, &id, 41).await.log_hash;
    server.stop().await;
    let file = {
        let store = Store::open(&store_config(&config(&newer))).unwrap();
        store.get("session-files", &id).unwrap().unwrap()
    };
    {
        let store = Store::open(&store_config(&config(&older))).unwrap();
        let change = Change::Put {
            table: "session-files".into(),
            key: id.to_vec(),
            value: file,
        };
        store.write(&[change]).unwrap();
    }
    let same = dirs.path().join("same");
    copy_folder(&older, &same);

    let server = Running::start(config(&older)).await;
    let mut client = server.client().await;
    let shorter = "has seen 41 messages with the running hash ";
    let stopped = session(&mut client, &id).await;
    assert!(stopped.error.contains(shorter), "{}", stopped.error);
    assert!(stopped.error.contains("found one of 20 messages: "));
    assert_eq!((stopped.next, stopped.log_hash), (41, seen.clone()));
    let others = (100..130).map(|seed| person.message(seed, 7)).collect();
    client.board.post_messages(post(3, others)).await.unwrap();
    let refused = cut(&mut client, &id, 0).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    let found = "found one of 50 messages, with the running hash ";
    assert!(refused.message().contains(found), "{refused}");
    let stopped = session(&mut client, &id).await;
    assert!(stopped.error.contains(found), "{}", stopped.error);
    assert_eq!((stopped.next, stopped.log_hash), (41, seen));
    server.stop().await;

    // Equal messages again: the session continues.
    let server = Running::start(config(&same)).await;
    let mut client = server.client().await;
    client.board.post_messages(second).await.unwrap();
    let third = post(4, all[41..].to_vec());
    client.board.post_messages(third).await.unwrap();
    while session(&mut client, &id).await.next < 45 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    reach(&mut client, &id, 45).await;
    let digest = cut(&mut client, &id, 0).await.unwrap();
    assert_eq!(person.decode(&digest), [(2, 2), (40, 40), (41, 41)]);
    server.stop().await;
}

/// Messages beyond the room wait for a cut, also across a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_room_for_so_many_messages_waits_when_it_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let person = Person::new(1);
    let all = messages(50, &person, &[2, 19, 20, 41]);
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let key = client.register(&person.instant).await;
    let request = v1::OpenSessionRequest {
        room: 20,
        ..open(&key)
    };
    let opened = client.detection.open_session(request.clone()).await;
    let id = opened.unwrap().into_inner().session.unwrap().session_id;
    let other = v1::OpenSessionRequest {
        room: 21,
        ..request
    };
    let refused = client.detection.open_session(other).await.unwrap_err();
    assert_eq!(refused.code(), Code::AlreadyExists, "{refused}");
    client.board.post_messages(post(1, all)).await.unwrap();
    assert_eq!(reach(&mut client, &id, 20).await.next, 20);
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(reach(&mut client, &id, 20).await.next, 20);
    let expected = [vec![(2, 2), (19, 19)], vec![(20, 20)], vec![(41, 41)]];
    for (number, (end, expected)) in [20, 40, 50].into_iter().zip(expected).enumerate() {
        assert_eq!(reach(&mut client, &id, end).await.next, end);
        let digest = cut(&mut client, &id, number as u64).await.unwrap();
        assert_eq!(person.decode(&digest), expected);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_take_turns_with_fewer_keys_in_memory_than_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let people: Vec<Person> = (0..3).map(Person::new).collect();
    let mut settings = config(dir.path());
    settings.detector.session_keys_in_memory = 1;
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for (i, person) in people.iter().enumerate() {
        let key = client.register(&person.instant).await;
        let request = v1::OpenSessionRequest {
            request_id: vec![i as u8; 16].into(),
            ..open(&key)
        };
        let opened = client
            .detection
            .open_session(request)
            .await
            .unwrap()
            .into_inner();
        ids.push(opened.session.unwrap().session_id);
    }
    for (round, (i, person)) in people.iter().enumerate().cycle().take(6).enumerate() {
        let message = person.message(round as u64, i as u8);
        client
            .board
            .post_messages(post(round as u8, vec![message]))
            .await
            .unwrap();
    }
    for (i, id) in ids.iter().enumerate() {
        reach(&mut client, id, 6).await;
        let digest = cut(&mut client, id, 0).await.unwrap();
        let (i, byte) = (i as u64, i as u8);
        assert_eq!(
            people[i as usize].decode(&digest),
            [(i, byte), (i + 3, byte)]
        );
    }
    server.stop().await;
}

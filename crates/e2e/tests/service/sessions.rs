//! Sessions.

use crate::world::{BOUND, Client, Person, Running, config, messages, post};
use omr_api::v1;
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

async fn cut(client: &mut Client, id: &bytes::Bytes, number: u64) -> Result<Vec<u8>, Status> {
    let request = v1::CutSessionRequest {
        session_id: id.clone(),
        number,
    };
    let mut pieces = client.detection.cut_session(request).await?.into_inner();
    let mut digest = Vec::new();
    while let Some(piece) = pieces.message().await? {
        digest.extend_from_slice(&piece.data);
    }
    Ok(digest)
}

/// Waits until a session has looked at all messages before `next`.
async fn reach(client: &mut Client, id: &bytes::Bytes, next: u64) -> v1::Session {
    loop {
        let request = v1::GetSessionRequest {
            session_id: id.clone(),
        };
        let session = client
            .detection
            .get_session(request)
            .await
            .unwrap()
            .into_inner()
            .session
            .unwrap();
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

/// What comes beyond the room waits for a cut, also across a restart.
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

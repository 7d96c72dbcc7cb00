//! Bound clues: signatures and one-time keys.

use crate::world::{
    BOARD, Client, PAYLOAD_BYTES, Person, Running, config, messages, post, request, served, set,
};
use chacha20::ChaCha20Rng;
use futures::StreamExt;
use omr_api::v1;
use omr_protocol::clue::{BoundClue, post_hash, post_key};
use omr_server::store_config;
use omr_server::tokens::Right;
use omr_store::{Message, MessageHashes, Post, Store};
use rand_core::SeedableRng;
use tonic::Code;

async fn refused(client: &mut Client, id: u8, messages: Vec<v1::Message>) -> (Code, String) {
    let answer = client.board.post_messages(post(id, messages)).await;
    let status = answer.unwrap_err();
    (status.code(), status.message().to_owned())
}

fn changed(message: &v1::Message, change: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) -> v1::Message {
    let (mut clue, mut payload) = (message.clue.to_vec(), message.payload.to_vec());
    change(&mut clue, &mut payload);
    v1::Message {
        clue: clue.into(),
        payload: payload.into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clues_that_are_not_signed_for_this_message_and_board_are_refused() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let alice = Person::new(1);
    let good = alice.message(0, 1);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let elsewhere = alice.message_on([1; 16], &mut rng, vec![1; PAYLOAD_BYTES]);
    let end = good.clue.len();
    for (what, wrong) in [
        ("signature", changed(&good, |clue, _| clue[end - 1] ^= 1)),
        ("key", changed(&good, |clue, _| clue[end - 96] ^= 1)),
        ("vector", changed(&good, |clue, _| clue[9] ^= 1)),
        ("payload", changed(&good, |_, payload| payload[3] ^= 1)),
        ("board", elsewhere),
    ] {
        let (code, text) = refused(&mut client, 1, vec![alice.message(9, 9), wrong]).await;
        assert_eq!(code, Code::InvalidArgument, "{what}: {text}");
        assert!(
            text.starts_with("message 1: expected a clue signed"),
            "{what}: {text}"
        );
    }
    let plain = changed(&good, |clue, _| clue[0] = 1);
    let (code, text) = refused(&mut client, 1, vec![plain]).await;
    assert_eq!(code, Code::InvalidArgument, "{text}");
    // Nothing was written: the id and the keys are free.
    let posted = client
        .board
        .post_messages(post(1, vec![good]))
        .await
        .unwrap();
    assert_eq!(posted.into_inner().first_index, 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_good_for_one_message_and_a_retry_for_one_post() {
    let (dir, server, mut client) = served(|_| ()).await;
    let alice = Person::new(1);
    let first = post(1, (0..20).map(|i| alice.message(i, 0)).collect());
    client.board.post_messages(first.clone()).await.unwrap();
    let used = first.messages[3].clone();
    let key = BoundClue::from_bytes(set().clue(), &used.clue).unwrap().key;
    assert_eq!(
        post_key(set().clue(), &BOARD, &used.clue, &used.payload).unwrap(),
        key
    );
    let replay = vec![alice.message(30, 1), used.clone()];
    let (code, text) = refused(&mut client, 2, replay).await;
    assert_eq!(code, Code::AlreadyExists, "{text}");
    assert!(
        text.starts_with("message 1 of the post") && text.ends_with("message 3"),
        "{text}"
    );
    let twice = vec![alice.message(31, 1), alice.message(31, 1)];
    assert_eq!(refused(&mut client, 3, twice).await.0, Code::AlreadyExists);
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    assert_eq!(
        refused(&mut client, 4, vec![used]).await.0,
        Code::AlreadyExists
    );
    let again = client
        .board
        .post_messages(first)
        .await
        .unwrap()
        .into_inner();
    assert_eq!((again.first_index, again.count), (0, 20));
    // Messages refused beside a used key are free.
    let posted = client
        .board
        .post_messages(post(5, vec![alice.message(30, 1)]))
        .await
        .unwrap();
    assert_eq!(posted.into_inner().first_index, 20);
    server.stop().await;
}

/// Posts without hashes and with separate ids, as an earlier build did.
fn post_bare(store: &Store, messages: &[v1::Message]) {
    for (id, message) in (100..).zip(messages) {
        let message = Message {
            clue: message.clue.to_vec(),
            payload: message.payload.to_vec(),
        };
        let post = Post::new([id; 16], String::new(), vec![message]);
        store.append(&[post]).unwrap().remove(0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_are_kept_at_posting_and_computed_again_if_they_are_missing() {
    let (dir, server, mut client) = served(|_| ()).await;
    let alice = Person::new(1);
    let all = messages(60, &alice, &[0, 33, 40, 59]);
    client.fill(all[..40].to_vec()).await;
    server.stop().await;
    let settings = config(dir.path());
    let tag = set().clue().tag();
    let hash = |message: &v1::Message| {
        post_hash(set().clue(), &BOARD, &message.clue, &message.payload).unwrap()
    };
    let hashes: Vec<_> = all.iter().map(|message| Some(hash(message))).collect();
    {
        let store = Store::open(&store_config(&settings)).unwrap();
        assert_eq!(store.kept_hashes(0..40, tag).unwrap(), hashes[..40]);
        post_bare(&store, &all[40..]);
        assert_eq!(store.kept_hashes(40..60, tag).unwrap(), [None; 20]);
        // The detector reads them: with this one, nobody finds the message.
        let wrong = MessageHashes::new(tag, vec![[0; 32]]);
        store.keep_hashes(33, &wrong).unwrap();
    }
    let server = Running::start(settings.clone()).await;
    let mut client = server.client().await;
    let bulk = client.register(&alice.bulk).await;
    let instant = client.register(&alice.instant).await;
    for (id, key) in [(1, bulk), (2, instant)] {
        let job = client.job(request(id, &[key], 0, 60)).await.unwrap();
        assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
        let found = alice.decode(&client.digest(&job).await);
        assert_eq!(found, [(0, 0), (40, 40), (59, 59)]);
    }
    server.stop().await;
    let store = Store::open(&store_config(&settings)).unwrap();
    let kept = store.kept_hashes(0..60, tag).unwrap();
    assert_eq!((kept[33], &kept[34..]), (Some([0; 32]), &hashes[34..]));
}

fn remote(server: &Running, token: Option<String>) -> omr_remote::Client {
    let endpoint = omr_remote::Endpoint {
        token,
        ..omr_remote::Endpoint::new(format!("http://{}", server.address))
    };
    omr_remote::Client::connect(&endpoint).unwrap()
}

/// Returns the payloads of the board, by the first byte of each.
async fn on_the_board(client: &omr_remote::Client) -> Vec<u8> {
    let len = client.board().await.unwrap().messages;
    let pieces: Vec<_> = client.read(0..len, v1::Part::Payloads).collect().await;
    let messages = pieces.into_iter().flat_map(|piece| piece.unwrap().messages);
    messages.map(|message| message.payload[0]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_arrives_whole_though_somebody_posted_one_of_its_nine_parts_first() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(config(dir.path())).await;
    let alice = Person::new(1);
    let parts: Vec<_> = (0..9).map(|i| alice.message(i, i as u8)).collect();
    let thief = remote(&server, None);
    thief.post(vec![alice.message(50, 50)]).await.unwrap();
    thief.post(vec![parts[4].clone()]).await.unwrap();
    let sender = remote(&server, None);
    let posted = sender.post(parts.clone()).await.unwrap();
    assert_eq!(posted.known, [4]);
    let indices: Vec<u64> = posted.ranges.into_iter().flatten().collect();
    assert_eq!(indices, [2, 3, 4, 5, 1, 6, 7, 8, 9]);
    assert_eq!(on_the_board(&sender).await, [50, 4, 0, 1, 2, 3, 5, 6, 7, 8]);
    // As a stream; two parts of each post are copied.
    let letters: Vec<Vec<_>> = (10..13u8)
        .map(|letter| {
            (0..5)
                .map(|i| alice.message(u64::from(letter) * 5 + i, letter))
                .collect()
        })
        .collect();
    let copies = letters
        .iter()
        .flat_map(|parts| [parts[0].clone(), parts[3].clone()]);
    thief.post(copies.collect()).await.unwrap();
    let streamed: Vec<_> = sender
        .post_stream(futures::stream::iter(letters))
        .collect()
        .await;
    for posted in streamed {
        let posted = posted.unwrap();
        assert_eq!((posted.len(), posted.known), (5, vec![0, 3]));
    }
    let mut all = on_the_board(&sender).await;
    all.sort_unstable();
    let expected = [0, 1, 2, 3, 4, 5, 6, 7, 8]
        .into_iter()
        .chain([10, 11, 12].into_iter().flat_map(|byte| [byte; 5]));
    assert_eq!(all, expected.chain([50]).collect::<Vec<u8>>());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_is_not_swallowed_by_another_under_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let account = crate::access::token(dir.path(), "sender", &[Right::Post]);
    let server = Running::start(config(dir.path())).await;
    let alice = Person::new(1);
    let (thief, sender) = (remote(&server, None), remote(&server, None));
    thief
        .post_as([7; 16], vec![alice.message(0, 66)])
        .await
        .unwrap();
    let letter = vec![alice.message(1, 1), alice.message(2, 2)];
    let error = sender.post_as([7; 16], letter.clone()).await.unwrap_err();
    assert!(
        matches!(error, omr_remote::RemoteError::OtherPost(_)),
        "{error}"
    );
    let posted = sender.post_under([7; 16], letter).await.unwrap();
    assert_eq!(posted.ranges, std::slice::from_ref(&(1..3)));
    assert!(posted.known.is_empty());
    assert_eq!(on_the_board(&sender).await, [66, 1, 2]);
    // Another account's copy of the whole post, including its id, is no acknowledgement either.
    let copied = vec![alice.message(3, 3)];
    thief.post_as([8; 16], copied.clone()).await.unwrap();
    let sender = remote(&server, Some(account));
    let posted = sender.post_under([8; 16], copied).await.unwrap();
    assert_eq!(posted.ranges, std::slice::from_ref(&(3..4)));
    assert_eq!(posted.known, [0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_states_the_kind_of_its_clues_and_another_is_refused() {
    let (dir, server, mut client) = served(|_| ()).await;
    let board = client
        .board
        .get_board(v1::GetBoardRequest::default())
        .await
        .unwrap()
        .into_inner()
        .board;
    assert_eq!(board.unwrap().clues(), v1::ClueKind::Bound);
    server.stop().await;
    let mut plain = config(dir.path());
    plain.board.clues = Some("plain".into());
    let error = omr_server::Server::start(plain.clone())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("plain clues") && error.contains("bound clues"),
        "{error}"
    );
    let other = tempfile::tempdir().unwrap();
    plain.data = other.path().to_owned();
    // Made by the server itself, and found by a client that requests no kind.
    for clues in [Some("plain".to_owned()), None] {
        plain.board.clues = clues;
        Running::start_bare(plain.clone()).await.stop().await;
    }
    let board = omr_store::Store::open(&omr_server::store_config(&plain)).unwrap();
    assert_eq!(board.board().clues, omr_store::Clues::Plain);
    plain.board.clues = Some("linear".into());
    let error = omr_server::Server::start(plain)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("linear"), "{error}");
}

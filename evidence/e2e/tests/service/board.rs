//! Posting and reading.

use crate::world::{PAYLOAD_BYTES, Person, Running, config, messages, post, served};
use omr_api::v1;
use tonic::Code;

/// The bytes of kind and parameter tag.
const CLUE_HEADER: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_posted_is_read_in_order_also_after_a_restart() {
    let (dir, server, mut client) = served(|_| ()).await;
    let posted = messages(120, &Person::new(1), &[3]);
    client.fill(posted.clone()).await;
    for (start, end) in [(0, 120), (15, 17), (119, 120), (7, 7)] {
        assert_eq!(
            read(&mut client, start, end).await,
            posted[start..end],
            "{start}..{end}"
        );
    }
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    assert_eq!(read(&mut client, 0, 120).await, posted);
    let board = client
        .board
        .get_board(v1::GetBoardRequest::default())
        .await
        .unwrap()
        .into_inner()
        .board;
    assert_eq!(board.unwrap().messages, 120);
    server.stop().await;
}

async fn read(client: &mut crate::world::Client, start: usize, end: usize) -> Vec<v1::Message> {
    let request = v1::ReadMessagesRequest {
        start: start as u64,
        end: end as u64,
        part: 0,
    };
    let mut stream = client
        .board
        .read_messages(request)
        .await
        .unwrap()
        .into_inner();
    let mut out = Vec::new();
    while let Some(piece) = stream.message().await.unwrap() {
        assert_eq!(piece.first_index, (start + out.len()) as u64);
        out.extend(piece.messages);
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_post_is_made_once() {
    let (dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    let first = post(7, vec![person.message(0, 1), person.message(1, 2)]);
    for _ in 0..3 {
        let answer = client
            .board
            .post_messages(first.clone())
            .await
            .unwrap()
            .into_inner();
        assert_eq!((answer.first_index, answer.count), (0, 2));
    }
    let next = client
        .board
        .post_messages(post(8, vec![person.message(2, 3)]))
        .await
        .unwrap();
    assert_eq!(next.into_inner().first_index, 2);
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    let answer = client
        .board
        .post_messages(first)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.first_index, 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_posts_are_refused_with_what_was_expected() {
    let (_dir, server, mut client) = served(|settings| {
        settings.limits.post_messages = 3;
    })
    .await;
    let good = Person::new(1).message(0, 1);
    let with = |change: fn(&mut v1::Message)| {
        let mut message = good.clone();
        change(&mut message);
        post(1, vec![message])
    };
    let zero = |message: &mut v1::Message| {
        let mut clue = message.clue.to_vec();
        clue[CLUE_HEADER..].fill(0);
        message.clue = clue.into();
    };
    let wrong = [
        (
            post(1, vec![]),
            "messages: expected 1 to 3, found 0".to_owned(),
        ),
        (post(1, vec![good.clone(); 4]), "found 4".into()),
        (
            with(|m| m.payload = vec![0; 5].into()),
            format!("payload: expected {PAYLOAD_BYTES} bytes, found 5"),
        ),
        (
            with(|m| m.clue = vec![0; 5].into()),
            "bytes, found 5".into(),
        ),
        (with(zero), "as uniform ones have, found 0.000e0".into()),
        (
            v1::PostMessagesRequest {
                post_id: vec![1; 15].into(),
                ..post(1, vec![good.clone()])
            },
            "post_id: expected 16 bytes, found 15".into(),
        ),
    ];
    for (request, text) in wrong {
        let error = client.board.post_messages(request).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
        assert!(error.message().contains(&text), "{text}: {error}");
    }
    for (start, end) in [(0, 1), (5, 4)] {
        let request = v1::ReadMessagesRequest {
            start,
            end,
            part: 0,
        };
        let error = client.board.read_messages(request).await.unwrap_err();
        assert_eq!(error.code(), Code::OutOfRange);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_posts_are_answered_and_subscribers_follow() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let posted = messages(40, &Person::new(1), &[]);
    client.fill(posted[..10].to_vec()).await;
    let subscribe = v1::SubscribeRequest {
        start: 4,
        part: v1::Part::Payloads.into(),
    };
    let mut subscription = client
        .board
        .subscribe(subscribe)
        .await
        .unwrap()
        .into_inner();
    let requests: Vec<v1::StreamPostsRequest> = posted[10..]
        .chunks(7)
        .enumerate()
        .map(|(i, chunk)| v1::StreamPostsRequest {
            post: Some(post(100 + i as u8, chunk.to_vec())),
        })
        .collect();
    let mut answers = client
        .board
        .stream_posts(futures::stream::iter(requests))
        .await
        .unwrap()
        .into_inner();
    let mut next = 10;
    while let Some(answer) = answers.message().await.unwrap() {
        let posted = answer.posted.unwrap();
        assert_eq!(posted.first_index, next);
        next += u64::from(posted.count);
    }
    assert_eq!(next, 40);
    let mut seen = Vec::new();
    while seen.len() < 36 {
        seen.extend(subscription.message().await.unwrap().unwrap().messages);
    }
    for (seen, posted) in seen.iter().zip(&posted[4..]) {
        assert_eq!((seen.clue.len(), &seen.payload), (0, &posted.payload));
    }
    server.stop().await;
    let error = subscription.message().await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
}

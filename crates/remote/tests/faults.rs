//! Retries: what the network loses is done once, what a server refuses is not tried again.
#![forbid(unsafe_code)]

mod fake;

use fake::{Fake, Fault, client};
use futures::StreamExt;
use omr_remote::v1::{CreateJobRequest, Message, OpenSessionRequest, Part};
use omr_remote::{Client, Endpoint, RemoteError, Retry, random_id};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::Code;

fn letter(byte: u8) -> Message {
    Message {
        clue: vec![byte; 8].into(),
        payload: vec![byte; 8].into(),
    }
}

fn letters(count: u8) -> Vec<Message> {
    (0..count).map(letter).collect()
}

/// Passes connections on; the first ones break after `limits` bytes from the server or to it.
async fn breaking(to: SocketAddr, limits: &'static [u64]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut limits = limits.iter().copied();
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(to).await.unwrap();
            let limit = limits.next().unwrap_or(u64::MAX);
            tokio::spawn(async move {
                let (from_near, to_near) = near.into_split();
                let (from_far, to_far) = far.into_split();
                // The first direction that ends drops both.
                tokio::select! {
                    () = pass(from_near, to_far, limit) => {}
                    () = pass(from_far, to_near, limit) => {}
                }
            });
        }
    });
    url
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut left: u64,
) {
    let mut buffer = [0; 512];
    while left > 0 {
        let most = left.min(512) as usize;
        let Ok(read @ 1..) = from.read(&mut buffer[..most]).await else {
            return;
        };
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        left -= read as u64;
    }
}

#[tokio::test]
async fn posts_are_made_once_whatever_is_lost() {
    let fake = Fake::plain().await;
    for fault in [
        Fault::Refuse(Code::Unavailable),
        Fault::LoseAnswer,
        Fault::Busy(1),
        Fault::LoseAnswer,
        Fault::Refuse(Code::DeadlineExceeded),
    ] {
        fake.fail("PostMessages", fault);
    }
    let posted = fake.client().post(letters(7)).await.unwrap();
    // Three messages a post at most.
    assert_eq!(posted.ranges, [0..3, 3..6, 6..7]);
    assert_eq!(fake.with(|state| state.messages.clone()), letters(7));
    assert_eq!(fake.count("PostMessages"), 8);
    assert_eq!(fake.with(|state| state.posts.len()), 3);
}

#[tokio::test]
async fn refusals_are_not_tried_again() {
    let fake = Fake::plain().await;
    for code in [
        Code::InvalidArgument,
        Code::PermissionDenied,
        Code::Unauthenticated,
        Code::NotFound,
        Code::Internal,
        Code::FailedPrecondition,
    ] {
        let before = fake.count("PostMessages");
        fake.fail("PostMessages", Fault::Refuse(code));
        let error = fake.client().post(letters(1)).await.unwrap_err();
        assert!(!error.is_passing(), "{error}");
        let fits = match code {
            Code::PermissionDenied => matches!(error, RemoteError::Denied(..)),
            Code::Unauthenticated => matches!(error, RemoteError::Unauthenticated(..)),
            Code::NotFound => matches!(error, RemoteError::NotFound(..)),
            _ => matches!(error, RemoteError::Refused { code: found, .. } if found == code),
        };
        assert!(fits, "{error:?}");
        assert_eq!(fake.count("PostMessages"), before + 1);
    }
}

#[tokio::test]
async fn a_dead_server_is_given_up() {
    let fake = Fake::plain().await;
    let endpoint = Endpoint {
        retry: Retry {
            total: Duration::from_millis(50),
            ..Retry::default()
        },
        ..Endpoint::new("http://127.0.0.1:1")
    };
    let client = Client::connect(&endpoint).unwrap();
    let error = client.board().await.unwrap_err();
    assert!(
        matches!(error, RemoteError::Unreachable { .. }),
        "{error:?}"
    );
    assert_eq!(fake.count(""), 0);
}

#[tokio::test]
async fn strangers_work_for_their_posts_and_tokens_need_not() {
    let fake = Fake::plain().await;
    fake.with(|state| state.work_bits = 10);
    fake.client().post(letters(2)).await.unwrap();
    client(&fake.url(), Some("secret"))
        .post(letters(2))
        .await
        .unwrap();
    let posts = fake.with(|state| state.post_requests.clone());
    let check = |at: usize| {
        let post = &posts[at];
        omr_api::check_posting_work(&[7; 16], &post.post_id, &post.messages, post.work, 10)
    };
    assert!(check(0));
    assert_eq!(posts[1].work, 0);
    let tokens = fake.with(|state| state.tokens.clone());
    assert_eq!(tokens, [None, Some("Bearer secret".to_owned())]);
}

#[tokio::test]
async fn streamed_posts_survive_breaks_in_order() {
    let fake = Fake::plain().await;
    fake.fail("StreamPosts", Fault::BreakAfter(2));
    fake.fail("StreamPosts", Fault::BreakAfter(0));
    fake.fail("StreamPosts", Fault::Refuse(Code::Unavailable));
    fake.fail("StreamPosts", Fault::BreakAfter(5));
    let posts = futures::stream::iter((0..20).map(|byte| vec![letter(byte)]));
    let ranges: Vec<_> = fake.client().post_stream(posts).collect().await;
    let starts: Vec<u64> = ranges
        .into_iter()
        .map(|posted| posted.unwrap().ranges[0].start)
        .collect();
    assert_eq!(starts, (0..20).collect::<Vec<_>>());
    assert_eq!(fake.with(|state| state.messages.clone()), letters(20));
}

/// A server on which somebody posted copies of some letters before their owner.
async fn outrun(copies: &[u8]) -> Fake {
    let fake = Fake::plain().await;
    fake.with(|state| state.once = true);
    let copies = copies.iter().copied().map(letter).collect();
    let thief = fake.client();
    thief.post_as([1; 16], copies).await.unwrap();
    fake
}

fn unordered(mut messages: Vec<Message>) -> Vec<u8> {
    messages.sort_by_key(|message| message.clue[0]);
    messages.iter().map(|message| message.clue[0]).collect()
}

#[tokio::test]
async fn a_copied_part_keeps_no_other_part_from_the_board() {
    let fake = outrun(&[4, 1]).await;
    let posted = fake.client().post(letters(9)).await.unwrap();
    assert_eq!(posted.known, [1, 4]);
    // Every message is where the answer says, in the order of the letter.
    let board = fake.with(|state| state.messages.clone());
    let indices: Vec<u64> = posted.ranges.iter().cloned().flatten().collect();
    let found: Vec<u8> = indices
        .iter()
        .map(|&index| board[index as usize].clue[0])
        .collect();
    assert_eq!(found, (0..9).collect::<Vec<u8>>());
    assert_eq!(board.len(), 9, "each message once");
    // The same post made again, whole, as after a crash.
    let again = fake.client().post(letters(9)).await.unwrap();
    assert_eq!(again.known, (0..9).collect::<Vec<_>>());
    assert_eq!(
        again.ranges.iter().cloned().flatten().collect::<Vec<_>>(),
        indices
    );
}

#[tokio::test]
async fn an_id_that_somebody_used_first_is_not_believed() {
    let fake = outrun(&[]).await;
    let thief = fake.client();
    thief.post_as([9; 16], vec![letter(200)]).await.unwrap();
    let error = fake
        .client()
        .post_as([9; 16], letters(3))
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::OtherPost(_)), "{error}");
    let posted = fake.client().post_under([9; 16], letters(3)).await.unwrap();
    assert_eq!(posted.ranges, std::slice::from_ref(&(1..4)));
    assert!(posted.known.is_empty());
    // With its own contents the id is as good as ever.
    let own = thief.post_as([9; 16], vec![letter(200)]).await.unwrap();
    assert_eq!(own, 0..1);
}

#[tokio::test]
async fn streamed_posts_leave_out_what_was_copied() {
    let fake = outrun(&[3, 10, 11]).await;
    fake.fail("StreamPosts", Fault::BreakAfter(4));
    let posts =
        futures::stream::iter((0..10).map(|post| vec![letter(2 * post), letter(2 * post + 1)]));
    let posted: Vec<_> = fake.client().post_stream(posts).collect().await;
    let known: Vec<usize> = posted
        .iter()
        .map(|posted| posted.as_ref().unwrap().known.len())
        .collect();
    assert_eq!(known, [0, 1, 0, 0, 0, 2, 0, 0, 0, 0]);
    let board = fake.with(|state| state.messages.clone());
    assert_eq!(unordered(board), (0..20).collect::<Vec<u8>>());
}

#[tokio::test]
async fn reading_and_following_go_on_where_they_broke() {
    let fake = Fake::plain().await;
    fake.with(|state| state.messages = letters(10));
    fake.fail("ReadMessages", Fault::BreakAfter(3));
    fake.fail("ReadMessages", Fault::BreakAfter(0));
    let read: Vec<_> = fake.client().read(2..9, Part::Unspecified).collect().await;
    let read: Vec<u64> = read
        .into_iter()
        .map(|piece| piece.unwrap().first_index)
        .collect();
    assert_eq!(read, (2..9).collect::<Vec<_>>());

    fake.fail("Subscribe", Fault::BreakAfter(4));
    let mut following = Box::pin(fake.client().subscribe(0, Part::Unspecified));
    for index in 0..15 {
        if index == 10 {
            fake.with(|state| state.messages = letters(15));
        }
        let piece = following.next().await.unwrap().unwrap();
        assert_eq!(
            (piece.first_index, &piece.messages[0]),
            (index, &letter(index as u8))
        );
    }
}

#[tokio::test]
async fn a_stream_that_was_silent_for_longer_than_patience_is_opened_again() {
    let fake = Fake::plain().await;
    let patience = Duration::from_secs(2);
    let endpoint = Endpoint {
        retry: Retry {
            total: patience,
            ..Retry::default()
        },
        ..Endpoint::new(fake.url())
    };
    let client = Client::connect(&endpoint).unwrap();
    fake.with(|state| state.messages = letters(5));
    for call in ["WatchJob", "Subscribe"] {
        let silence = patience + Duration::from_millis(500);
        fake.fail(call, Fault::SilentAfter(1, silence));
        fake.fail(call, Fault::Refuse(Code::Unavailable));
    }
    let request = CreateJobRequest {
        request_id: random_id().to_vec().into(),
        end: 5,
        ..CreateJobRequest::default()
    };
    let job = client.create_job(&request).await.unwrap().job_id;
    let following = client.subscribe(0, Part::Unspecified).take(5);
    let read = following.map(|piece| piece.unwrap().first_index).collect();
    let (watched, read): (_, Vec<u64>) = futures::join!(client.watch_job(&job, |_| {}), read);
    watched.unwrap();
    assert_eq!(read, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn an_upload_resumes_after_dropped_connections() {
    let fake = Fake::plain().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
    file.write_all(&bytes).unwrap();
    let url = breaking(fake.address, &[60_000, 3_000, 80_000]).await;
    let client = client(&url, None);
    let told = Mutex::new(Vec::new());
    let progress = |sent, total| told.lock().unwrap().push((sent, total));
    let hash = client.upload_key(file.path(), progress).await.unwrap();
    assert_eq!(&hash, blake3::hash(&bytes).as_bytes());
    fake.with(|state| {
        assert_eq!(state.uploads[&hash[..]].0, bytes);
        // Nothing that arrived is sent again; the fake checks that chunks follow.
        assert_eq!(state.chunk_bytes_seen, bytes.len() as u64);
    });
    assert!(fake.count("UploadChunks") >= 3);
    let told = told.into_inner().unwrap();
    assert!(
        told.iter()
            .all(|&(sent, total)| sent <= total && total == 200_000)
    );
    assert_eq!(told.last(), Some(&(200_000, 200_000)));

    let before = fake.count("UploadChunks");
    client.upload_key(file.path(), |_, _| {}).await.unwrap();
    assert_eq!(fake.count("UploadChunks"), before);
    client.register_key(hash).await.unwrap();
    client.revoke_key(hash).await.unwrap();
    assert!(fake.with(|state| state.registered.is_empty()));
}

#[tokio::test]
async fn a_digest_resumes_at_its_offset() {
    let fake = Fake::plain().await;
    fake.with(|state| state.messages = letters(3));
    fake.fail("CreateJob", Fault::LoseAnswer);
    fake.fail("WatchJob", Fault::BreakAfter(1));
    fake.fail("FetchDigest", Fault::BreakAfter(2));
    fake.fail("FetchDigest", Fault::BreakAfter(0));
    let client = fake.client();
    let request = CreateJobRequest {
        request_id: random_id().to_vec().into(),
        end: 3,
        ..CreateJobRequest::default()
    };
    let job = client.create_job(&request).await.unwrap();
    let mut states = 0;
    client
        .watch_job(&job.job_id, |_| states += 1)
        .await
        .unwrap();
    assert_eq!(states, 4);
    let digest = client.fetch_digest(&job.job_id).await.unwrap();
    assert_eq!(digest, (0..5000u32).map(|i| i as u8).collect::<Vec<_>>());
    let offsets = ["FetchDigest 0", "FetchDigest 1400", "FetchDigest 1400"];
    let log = fake.with(|state| state.log.clone());
    let fetches: Vec<_> = log
        .iter()
        .filter(|line| line.starts_with("Fetch"))
        .collect();
    assert_eq!(fetches, offsets.iter().collect::<Vec<_>>());
    assert_eq!(fake.with(|state| state.jobs.len()), 1);
}

#[tokio::test]
async fn a_cut_is_the_same_when_asked_again() {
    let fake = Fake::plain().await;
    let client = fake.client();
    let request = OpenSessionRequest {
        request_id: random_id().to_vec().into(),
        ..OpenSessionRequest::default()
    };
    fake.fail("OpenSession", Fault::LoseAnswer);
    let session = client.open_session(&request).await.unwrap();
    fake.with(|state| state.messages = letters(3));
    fake.fail("CutSession", Fault::BreakAfter(1));
    fake.fail("CutSession", Fault::LoseAnswer);
    let cut = client.cut_session(&session.session_id, 0).await.unwrap();
    assert_eq!(cut.digest.len(), 5000);
    let (board, hashes) = client.board_and_hashes(&[0, 3, 4]).await.unwrap();
    assert!(cut.log_hash.is_some());
    assert_eq!(hashes, [Some([0; 32]), cut.log_hash, None]);
    assert_eq!(board.log_hash[..], cut.log_hash.unwrap());
    let now = client.session(&session.session_id).await.unwrap();
    assert_eq!((now.cuts, now.next), (1, 3));
    client.close_session(&session.session_id).await.unwrap();
    assert!(fake.with(|state| state.sessions.is_empty()));
}

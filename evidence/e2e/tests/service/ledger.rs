//! Boards of ledgers: the same at every operator, and branches that replace each other.

use crate::access::token;
use crate::world::{
    Client, PARAMS, PAYLOAD_BYTES, Person, Running, config, post, request, set, with_token,
};
use chacha20::ChaCha20Rng;
use omr_api::v1;
use omr_protocol::{ClueKind, Sealing, ledger_board_id};
use omr_server::tokens::Right;
use rand_core::SeedableRng;
use tempfile::TempDir;
use tonic::{Code, Status};

const LEDGER: &str = "a ledger for tests";

fn board_id() -> [u8; 16] {
    let bytes = PAYLOAD_BYTES as u32;
    ledger_board_id(LEDGER, PARAMS, Sealing::None, bytes, ClueKind::Bound)
}

/// An operator of the ledger.
struct Operator {
    _dir: TempDir,
    server: Running,
    client: Client,
    feeder: String,
}

impl Operator {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.board.ledger = Some(LEDGER.into());
        config.board.fork_blocks = 4;
        let feeder = token(dir.path(), "feeder", &[Right::Feed]);
        let server = Running::start_bare(config).await;
        let client = server.client().await;
        Self {
            _dir: dir,
            server,
            client,
            feeder,
        }
    }

    async fn feed(&mut self, blocks: &[v1::LedgerBlock]) -> Result<v1::FeedBlocksResponse, Status> {
        let request = |block: &v1::LedgerBlock| v1::FeedBlocksRequest {
            block: Some(block.clone()),
        };
        let requests: Vec<_> = blocks.iter().map(request).collect();
        let stream = with_token(futures::stream::iter(requests), &self.feeder);
        Ok(self.client.board.feed_blocks(stream).await?.into_inner())
    }

    async fn board(&mut self) -> v1::Board {
        let asked = v1::GetBoardRequest::default();
        let answer = self.client.board.get_board(asked).await.unwrap();
        answer.into_inner().board.unwrap()
    }
}

/// A ledger's blocks, from height 100 on.
#[derive(Clone, Default)]
struct Ledger(Vec<v1::LedgerBlock>);

impl Ledger {
    /// Adds a block of messages to a person, which `salt` makes different from others.
    fn extend(&mut self, person: &Person, salt: u64, count: u64) {
        let (height, parent) = match self.0.last() {
            Some(tip) => (tip.height + 1, tip.hash.clone()),
            None => (100, vec![0; 32].into()),
        };
        let mut rng = ChaCha20Rng::seed_from_u64(salt);
        let message = |number: u64| v1::LedgerMessage {
            message: Some(person.message_on(board_id(), &mut rng, vec![salt as u8; PAYLOAD_BYTES])),
            id: vec![number as u8; 32].into(),
        };
        let messages = (0..count).map(message).collect();
        let hash = blake3::hash(&[&parent[..], &salt.to_le_bytes()].concat());
        self.0.push(v1::LedgerBlock {
            height,
            hash: hash.as_bytes().to_vec().into(),
            parent,
            messages,
        });
    }
}

#[tokio::test]
async fn operators_of_a_ledger_have_one_board() {
    let (person, stranger) = (Person::new(1), Person::new(2));
    let (mut first, mut second) = (Operator::start().await, Operator::start().await);
    let mut ledger = Ledger::default();
    for salt in 1..=4 {
        ledger.extend(if salt == 2 { &person } else { &stranger }, salt, salt % 3);
    }
    let mut other = Ledger(ledger.0[..2].to_vec());
    other.extend(&person, 50, 3);
    let fed = first.feed(&ledger.0).await.unwrap();
    assert_eq!((fed.appended, fed.tip, fed.left_out.len()), (4, 103, 0));
    // Blocks may come in any pieces, and again.
    for block in &ledger.0 {
        second.feed(std::slice::from_ref(block)).await.unwrap();
    }
    let again = second.feed(&ledger.0).await.unwrap();
    assert_eq!((again.appended, again.tip), (0, 103));
    let (one, two) = (first.board().await, second.board().await);
    assert_eq!(one.board_id, board_id().to_vec());
    assert_eq!((&one.ledger[..], one.messages), (LEDGER, 4));
    assert_eq!((one.board_id, one.log_hash), (two.board_id, two.log_hash));
    // One of them sees another branch, the other that branch alone.
    let key = first.client.register(&person.rounds).await;
    let fed = first.feed(&other.0).await.unwrap();
    assert_eq!(
        (fed.withdrawn_start, fed.withdrawn_end, fed.tip),
        (3, 4, 102)
    );
    let mut third = Operator::start().await;
    third.feed(&other.0).await.unwrap();
    let (one, three) = (first.board().await, third.board().await);
    assert_eq!((one.messages, &one.log_hash), (6, &three.log_hash));
    assert_ne!(one.history_id, three.history_id);
    assert_eq!((one.history_start, three.history_start), (3, 0));
    let asked = v1::GetBlocksRequest {
        start: 101,
        end: 200,
    };
    let blocks = first
        .client
        .board
        .get_blocks(asked)
        .await
        .unwrap()
        .into_inner()
        .blocks;
    let places: Vec<_> = blocks
        .iter()
        .map(|block| (block.height, block.start, block.end))
        .collect();
    assert_eq!(places, [(101, 1, 3), (102, 3, 6)]);
    assert_eq!(blocks[1].ids, [vec![0; 32], vec![1; 32], vec![2; 32]]);
    // Work on messages of the new branch.
    let asked = v1::CreateJobRequest {
        scheme: v1::Scheme::TwoRounds.into(),
        bound: 0,
        ..request(1, &[key], 0, 6)
    };
    let job = first.client.job(asked).await.unwrap();
    assert_eq!(job.state, i32::from(v1::JobState::Done), "{}", job.error);
    for operator in [first, second, third] {
        operator.server.stop().await;
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let person = Person::new(1);
    let mut operator = Operator::start().await;
    let mut ledger = Ledger::default();
    for salt in 1..=12 {
        ledger.extend(&person, salt, 4);
    }
    operator.feed(&ledger.0).await.unwrap();
    let board = operator.board().await;
    let refused = |status: Status| (status.code(), status.message().to_owned());
    let mut gap = ledger.0[11].clone();
    gap.height = 120;
    let mut stranger = ledger.0[11].clone();
    (stranger.hash, stranger.parent) = (vec![1; 32].into(), vec![2; 32].into());
    let mut short = ledger.0[11].clone();
    short.hash = vec![1; 5].into();
    for (blocks, code, text) in [
        (
            vec![gap],
            Code::FailedPrecondition,
            "expected the block at height 112, found one at 120",
        ),
        (
            vec![stranger],
            Code::FailedPrecondition,
            "block 111: expected the parent",
        ),
        (
            vec![short],
            Code::InvalidArgument,
            "block 111, hash: expected 32 bytes, found 5",
        ),
    ] {
        let (found, message) = refused(operator.feed(&blocks).await.unwrap_err());
        assert_eq!(found, code, "{message}");
        assert!(message.starts_with(text), "{message}");
    }
    let posted = operator
        .client
        .board
        .post_messages(post(1, vec![person.message(1, 1)]));
    assert_eq!(posted.await.unwrap_err().code(), Code::FailedPrecondition);
    let stream = futures::stream::iter([v1::FeedBlocksRequest::default()]);
    let stranger = operator.client.board.feed_blocks(stream).await.unwrap_err();
    assert_eq!(stranger.code(), Code::Unauthenticated);
    // A message that no board takes is left out; the block stays.
    let mut next = ledger.clone();
    next.extend(&person, 70, 3);
    let bad = next.0.last_mut().unwrap();
    bad.messages[1].message = Some(v1::Message {
        clue: vec![3; ClueKind::Bound.bytes(set().clue())].into(),
        payload: vec![0; PAYLOAD_BYTES].into(),
    });
    bad.messages.push(ledger.0[0].messages[0].clone());
    let fed = operator.feed(&next.0[12..]).await.unwrap();
    let places: Vec<_> = fed
        .left_out
        .iter()
        .map(|one| (one.height, one.position))
        .collect();
    assert_eq!(places, [(112, 1), (112, 3)]);
    assert!(
        fed.left_out[1].reason.contains("used before"),
        "{}",
        fed.left_out[1].reason
    );
    assert_eq!(operator.board().await.messages, board.messages + 2);
    operator.server.stop().await;
}

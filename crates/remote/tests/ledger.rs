//! Boards that follow ledgers, over a connection that fails.

mod fake;

use fake::{Fake, Fault};
use omr_remote::v1::{LedgerBlock, LedgerMessage, Message};
use omr_remote::{Followed, Ledger, RemoteError};
use std::ops::Range;
use tonic::Code;

/// A node's branch from height 10 on, which may change while it is read.
#[derive(Clone, Default)]
struct Node {
    blocks: Vec<LedgerBlock>,
    /// A branch that takes the place of the present one after this number of reads.
    next: Option<(usize, Vec<LedgerBlock>)>,
}

impl Ledger for Node {
    type Error = RemoteError;

    async fn block(&mut self, height: u64) -> Result<Option<LedgerBlock>, RemoteError> {
        match self.next.take() {
            Some((0, blocks)) => self.blocks = blocks,
            Some((reads, blocks)) => self.next = Some((reads - 1, blocks)),
            None => {}
        }
        let at = height.checked_sub(10).unwrap();
        Ok(self.blocks.get(at as usize).cloned())
    }
}

/// Replaces the blocks from `fork` on by `count` others, which `salt` makes different.
fn extend(blocks: &mut Vec<LedgerBlock>, fork: usize, count: usize, salt: u8) {
    blocks.truncate(fork);
    for _ in 0..count {
        let at = blocks.len();
        let parent = blocks
            .last()
            .map_or(vec![0; 32].into(), |last| last.hash.clone());
        let hash = blake3::hash(&[&parent[..], &[salt]].concat());
        let message = |number: u8| LedgerMessage {
            message: Some(Message {
                clue: vec![salt, at as u8, (at >> 8) as u8, number].into(),
                payload: vec![0; 5].into(),
            }),
            id: vec![number; 32].into(),
        };
        blocks.push(LedgerBlock {
            height: 10 + at as u64,
            hash: hash.as_bytes().to_vec().into(),
            parent,
            messages: (0..at as u8 % 3).map(message).collect(),
        });
    }
}

fn on_board(fake: &Fake) -> Vec<LedgerBlock> {
    fake.with(|state| state.blocks.clone())
}

#[tokio::test]
async fn a_board_takes_every_branch_of_its_ledger() {
    let (fake, mut node) = (Fake::plain().await, Node::default());
    let client = fake.client();
    assert_eq!(
        client.follow(&mut node, 10).await.unwrap(),
        Followed::default()
    );
    extend(&mut node.blocks, 0, 1_203, 1);
    fake.fail("FeedBlocks", Fault::LoseAnswer);
    fake.fail("GetBlocks", Fault::Refuse(Code::Unavailable));
    let followed = client.follow(&mut node, 10).await.unwrap();
    // The first call was repeated, and found its blocks on the board.
    assert_eq!((followed.appended, followed.withdrawn.len()), (703, 0));
    assert_eq!(on_board(&fake), node.blocks);
    let messages = fake.with(|state| state.messages.len() as u64);
    extend(&mut node.blocks, 1_200, 5, 2);
    let followed = client.follow(&mut node, 10).await.unwrap();
    let kept = node.blocks[..1_200]
        .iter()
        .map(|block| block.messages.len() as u64)
        .sum();
    assert_eq!(followed.appended, 5);
    assert_eq!(
        followed.withdrawn,
        vec![Range {
            start: kept,
            end: messages
        }]
    );
    assert_eq!(on_board(&fake), node.blocks);
    // A node that is behind withdraws nothing.
    let mut late = Node {
        blocks: node.blocks[..1_100].to_vec(),
        next: None,
    };
    assert_eq!(
        client.follow(&mut late, 10).await.unwrap(),
        Followed::default()
    );
    assert_eq!(on_board(&fake), node.blocks);
}

#[tokio::test]
async fn a_branch_that_changes_while_it_is_read_is_followed() {
    for reads in 0..40 {
        let (fake, mut node) = (Fake::plain().await, Node::default());
        let client = fake.client();
        extend(&mut node.blocks, 0, 20, 1);
        client.follow(&mut node, 10).await.unwrap();
        let mut other = node.blocks.clone();
        extend(&mut node.blocks, 10 + reads % 9, 15, 2);
        extend(&mut other, 7 * reads % 20, 30, 3);
        node.next = Some((reads, other));
        client.follow(&mut node, 10).await.unwrap();
        if node.next.is_none() {
            client.follow(&mut node, 10).await.unwrap();
        }
        assert_eq!(on_board(&fake), node.blocks, "{reads}");
    }
}

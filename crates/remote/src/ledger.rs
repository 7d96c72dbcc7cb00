//! Blocks of a ledger: feeding them to a board, and finding their places on it.

use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::v1::{
    FeedBlocksRequest, FeedBlocksResponse, GetBlocksRequest, LedgerBlock, LeftOut, PlacedBlock,
};
use std::ops::Range;

/// The greatest number of messages in one request of a stream.
const MESSAGES: usize = 256;
/// The greatest number of blocks of one call of [`Client::feed`] by [`Client::follow`].
const BLOCKS: usize = 500;
/// The number of bytes of messages after which such a call is made.
const BYTES: usize = 16 << 20;

/// A node of a ledger, or another source of its blocks.
pub trait Ledger {
    /// The error of a node that cannot be read, or of the board's server.
    type Error: From<RemoteError>;

    /// Returns the block at a height of the ledger's present branch, or `None` above its end.
    fn block(
        &mut self,
        height: u64,
    ) -> impl Future<Output = Result<Option<LedgerBlock>, Self::Error>> + Send;
}

/// The changes of one call of [`Client::follow`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The number of blocks that were appended.
    pub appended: u64,
    /// The former indices of the messages that were withdrawn, for each branch that was replaced.
    pub withdrawn: Vec<Range<u64>>,
    /// The messages of blocks that were left out, as every operator leaves them out.
    pub left_out: Vec<LeftOut>,
}

/// The end of a branch.
struct End {
    /// The height after the last block.
    height: u64,
    /// The hash of the last block; `None` if there is none.
    hash: Option<Bytes>,
}

impl Client {
    /// Appends consecutive blocks of the board's ledger, all or none. Blocks that are on the board already change nothing,
    /// so that a call can be repeated; a block at a height that another one has begins another branch.
    ///
    /// Errors: the server's; FAILED_PRECONDITION where the blocks do not follow those on the board, and where the fork is
    /// too deep.
    pub async fn feed(&self, blocks: Vec<LedgerBlock>) -> Result<FeedBlocksResponse, RemoteError> {
        let requests: Vec<FeedBlocksRequest> = blocks.into_iter().flat_map(pieces).collect();
        let feed = || async {
            let requests = futures::stream::iter(requests.clone());
            self.boards().feed_blocks(requests).await
        };
        self.unary("FeedBlocks", feed).await
    }

    /// Returns the last block on the board, or `None` if there are no blocks.
    ///
    /// Errors: the server's.
    pub async fn tip(&self) -> Result<Option<PlacedBlock>, RemoteError> {
        Ok(self.placed(0..0).await?.pop())
    }

    /// Returns the blocks on the board with these heights, lowest first; at most 1,000 of them.
    ///
    /// Errors: the server's.
    pub async fn blocks(&self, heights: Range<u64>) -> Result<Vec<PlacedBlock>, RemoteError> {
        if heights.is_empty() {
            return Ok(Vec::new());
        }
        self.placed(heights).await
    }

    /// Brings the board to the end of a ledger: appends the blocks after the last one that both have, and withdraws those
    /// of another branch. A board without blocks begins with the block at height `first`. A ledger whose end is on the
    /// board changes nothing, even if the board has later blocks. The call can be repeated after each failure.
    ///
    /// Errors: those of the ledger, and those of [`Client::feed`].
    pub async fn follow<L: Ledger>(
        &self,
        ledger: &mut L,
        first: u64,
    ) -> Result<Followed, L::Error> {
        let mut followed = Followed::default();
        let mut end = self.fork(ledger, first).await?;
        loop {
            let mut blocks: Vec<LedgerBlock> = Vec::new();
            let mut bytes = 0;
            let mut is_other_branch = false;
            while blocks.len() < BLOCKS && bytes < BYTES {
                let Some(block) = ledger.block(end.height).await? else {
                    break;
                };
                is_other_branch = end.hash.as_ref().is_some_and(|hash| *hash != block.parent);
                if is_other_branch {
                    break;
                }
                end = End {
                    height: end.height + 1,
                    hash: Some(block.hash.clone()),
                };
                bytes += bytes_of(&block);
                blocks.push(block);
            }
            let is_over = blocks.is_empty() && !is_other_branch;
            if is_over {
                return Ok(followed);
            }
            if !blocks.is_empty() {
                let fed = self.feed(blocks).await?;
                followed.appended += fed.appended;
                if fed.withdrawn_start < fed.withdrawn_end {
                    let withdrawn = fed.withdrawn_start..fed.withdrawn_end;
                    followed.withdrawn.push(withdrawn);
                }
                followed.left_out.extend(fed.left_out);
            }
            // The ledger took another branch while its blocks were read.
            if is_other_branch {
                end = self.fork(ledger, first).await?;
            }
        }
    }

    /// Returns the end of the blocks that are on the board and on the ledger's present branch.
    async fn fork<L: Ledger>(&self, ledger: &mut L, first: u64) -> Result<End, L::Error> {
        let Some(mut block) = self.tip().await? else {
            let hash = None;
            return Ok(End {
                height: first,
                hash,
            });
        };
        loop {
            let height = block.height;
            let own = ledger.block(height).await?;
            if own.is_some_and(|own| own.hash == block.hash) {
                return Ok(End {
                    height: height + 1,
                    hash: Some(block.hash),
                });
            }
            let before = self.blocks(height.saturating_sub(1)..height).await?.pop();
            block = match before {
                Some(before) => before,
                None => return Ok(End { height, hash: None }),
            };
        }
    }

    async fn placed(&self, heights: Range<u64>) -> Result<Vec<PlacedBlock>, RemoteError> {
        let get = || async {
            let Range { start, end } = heights.clone();
            self.boards()
                .get_blocks(GetBlocksRequest { start, end })
                .await
        };
        Ok(self.unary("GetBlocks", get).await?.blocks)
    }
}

/// Returns the number of bytes of a block's messages.
fn bytes_of(block: &LedgerBlock) -> usize {
    let contents = block.messages.iter().flat_map(|one| &one.message);
    contents
        .map(|content| content.clue.len() + content.payload.len())
        .sum()
}

/// Returns the requests for a block: several for one with many messages.
fn pieces(block: LedgerBlock) -> Vec<FeedBlocksRequest> {
    let LedgerBlock {
        height,
        hash,
        parent,
        mut messages,
    } = block;
    let mut pieces = Vec::new();
    loop {
        let rest = messages.split_off(messages.len().min(MESSAGES));
        let block = LedgerBlock {
            height,
            hash: hash.clone(),
            parent: parent.clone(),
            messages,
        };
        pieces.push(FeedBlocksRequest { block: Some(block) });
        if rest.is_empty() {
            return pieces;
        }
        messages = rest;
    }
}

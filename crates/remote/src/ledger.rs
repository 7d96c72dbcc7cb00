//! Blocks of a ledger: feeding them to a board, and finding their places on it.

use crate::{Client, RemoteError};
use omr_api::v1::{
    FeedBlocksRequest, FeedBlocksResponse, GetBlocksRequest, LedgerBlock, PlacedBlock,
};
use std::ops::Range;

/// The greatest number of messages in one request of a stream.
const MESSAGES: usize = 256;

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

//! The chain as a client sees it: a node's calls, the name of its ledger, and the checks of what it answers.

use crate::ZcashError;
use lightwallet_protocol::{
    BlockId, BlockRange, ChainSpec, CompactBlock, CompactTxStreamerClient, Empty,
};
use lightwallet_protocol::{PoolType, RawTransaction};
use omr_remote::v1;
use std::ops::Range;
use tonic::Code;
use tonic::transport::Channel;

/// The number of blocks within which a transaction is mined or expires, that of the network's wallets.
pub const EXPIRY: u64 = 40;

/// A connection to a node, or to a server of compact blocks beside one.
#[derive(Clone, Debug)]
pub struct Chain {
    calls: CompactTxStreamerClient<Channel>,
}

impl Chain {
    /// Connects to the node at a URL.
    ///
    /// Errors: `Connect`.
    pub async fn connect(url: &str) -> Result<Self, ZcashError> {
        let calls = CompactTxStreamerClient::connect(url.to_owned()).await;
        let calls = calls.map_err(|source| ZcashError::Connect {
            url: url.to_owned(),
            source,
        })?;
        Ok(Self { calls })
    }

    /// Returns the height of the last block.
    ///
    /// Errors: `Call`.
    pub async fn tip(&mut self) -> Result<u64, ZcashError> {
        let tip = self.calls.get_latest_block(ChainSpec {}).await;
        let tip = tip.map_err(ZcashError::call("GetLatestBlock"))?;
        Ok(tip.into_inner().height)
    }

    /// Returns the height of the first block that the node serves.
    ///
    /// Errors: `Call`.
    pub async fn first(&mut self) -> Result<u64, ZcashError> {
        Ok(self.info().await?.sapling_activation_height)
    }

    async fn info(&mut self) -> Result<lightwallet_protocol::LightdInfo, ZcashError> {
        let info = self.calls.get_lightd_info(Empty {}).await;
        Ok(info
            .map_err(ZcashError::call("GetLightdInfo"))?
            .into_inner())
    }

    /// Returns the name of the ledger for boards: the network, the hash of the first block that nodes serve, and the
    /// purpose.
    ///
    /// Errors: `Call`, `Block`.
    pub async fn ledger(&mut self) -> Result<String, ZcashError> {
        let info = self.info().await?;
        let height = info.sapling_activation_height;
        let first = self.block(height).await?;
        let first = first.ok_or_else(|| bad(height, "the first block", "none"))?;
        let hash = omr_protocol::hex(&first.hash);
        Ok(format!("zcash {} {hash} payments", info.chain_name))
    }

    /// Checks that a board is of the node's chain.
    ///
    /// Errors: `Network`, `Call`, `Block`.
    pub async fn check(&mut self, board: &v1::Board) -> Result<(), ZcashError> {
        let expected = self.ledger().await?;
        if board.ledger == expected {
            Ok(())
        } else {
            let found = board.ledger.clone();
            Err(ZcashError::Network { expected, found })
        }
    }

    /// Returns a block, or `None` above the end of the chain.
    ///
    /// Errors: `Call`, `Block`.
    pub async fn block(&mut self, height: u64) -> Result<Option<CompactBlock>, ZcashError> {
        let asked = BlockId {
            height,
            hash: Vec::new(),
        };
        match self.calls.get_block(asked).await {
            Ok(block) => Ok(Some(checked(block.into_inner(), height)?)),
            // Nodes differ in the code for a height above their end.
            Err(status) if matches!(status.code(), Code::NotFound | Code::OutOfRange) => Ok(None),
            Err(status) => Err(ZcashError::call("GetBlock")(status)),
        }
    }

    /// Returns the blocks of a range of heights.
    ///
    /// Errors: `Call`, `Block`.
    pub async fn blocks(&mut self, heights: Range<u64>) -> Result<Vec<CompactBlock>, ZcashError> {
        let end = |height| BlockId {
            height,
            hash: Vec::new(),
        };
        let asked = BlockRange {
            start: Some(end(heights.start)),
            end: Some(end(heights.end - 1)),
            pool_types: vec![PoolType::Orchard.into()],
        };
        let failed = ZcashError::call("GetBlockRange");
        let stream = self.calls.get_block_range(asked).await.map_err(&failed)?;
        let mut stream = stream.into_inner();
        let mut blocks = Vec::new();
        for height in heights {
            let block = stream.message().await.map_err(&failed)?;
            let block = block.ok_or_else(|| bad(height, "a block", "the end of the answer"))?;
            blocks.push(checked(block, height)?);
        }
        Ok(blocks)
    }

    /// Gives a transaction to the node.
    ///
    /// Errors: `Call`; `Transaction` if the node refuses the transaction.
    pub async fn send(&mut self, transaction: Vec<u8>) -> Result<(), ZcashError> {
        let sent = RawTransaction {
            data: transaction,
            height: 0,
        };
        let answer = self.calls.send_transaction(sent).await;
        let answer = answer
            .map_err(ZcashError::call("SendTransaction"))?
            .into_inner();
        if answer.error_code == 0 {
            Ok(())
        } else {
            Err(ZcashError::Transaction {
                expected: "one that the node takes".into(),
                found: answer.error_message,
            })
        }
    }
}

/// Checks the parts of a block on which its reader relies.
fn checked(block: CompactBlock, height: u64) -> Result<CompactBlock, ZcashError> {
    if block.height != height {
        return Err(bad(height, "this height", block.height));
    }
    for hash in [&block.hash, &block.prev_hash] {
        if hash.len() != 32 {
            return Err(bad(height, "hashes of 32 bytes", hash.len()));
        }
    }
    Ok(block)
}

fn bad(height: u64, expected: &'static str, found: impl ToString) -> ZcashError {
    ZcashError::Block {
        height,
        expected,
        found: found.to_string(),
    }
}

//! A fake of a node with a server of compact blocks: it speaks their protocol, and mines and reorganises on demand.
//!
//! It checks no proofs, signatures and balances. Block hashes are made up, as compact blocks have no headers.

use crate::ZcashError;
use crate::transaction;
use lightwallet_protocol as wire;
use omr_transactions::zcash_transactions;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use wire::{CompactBlock, CompactSaplingOutput, CompactTx};

/// The height of the first block.
const FIRST: u64 = 1_000;
/// The number of blocks before the demonstration begins.
const BLOCKS: u64 = 512;
/// The greatest number of blocks of an answer.
const RANGE: u64 = 10_000;
/// The greatest number of transactions that wait for a block.
const WAITING: usize = 1_000;

/// A fake node. Clones share their chain.
#[derive(Clone)]
pub struct Node {
    state: Arc<Mutex<State>>,
}

struct State {
    network: String,
    blocks: Vec<CompactBlock>,
    waiting: Vec<CompactTx>,
    /// A number that makes the hashes of a branch differ from those of others.
    branch: u32,
    /// The ranges of blocks for which clients have asked.
    asked: Vec<Range<u64>>,
}

impl Node {
    /// Makes a node whose chain begins with transactions of the main chain, one in a block, and empty blocks after them.
    ///
    /// Errors: `Data`.
    pub fn new(network: &str) -> Result<Self, ZcashError> {
        let mut state = State {
            network: network.to_owned(),
            blocks: Vec::new(),
            waiting: Vec::new(),
            branch: 0,
            asked: Vec::new(),
        };
        for one in zcash_transactions()? {
            let transaction = match transaction::read(one.bytes) {
                Ok(read) => compact(read.txid, read.actions),
                // Ids of version 5 with other parts are not computed here.
                Err(_) if one.bytes[0] == 4 && !one.sapling_outputs.is_empty() => {
                    let txid = Sha256::digest(Sha256::digest(one.bytes)).into();
                    let mut transaction = compact(txid, Vec::new());
                    transaction.outputs = one.sapling_outputs.iter().map(sapling).collect();
                    transaction
                }
                Err(_) => continue,
            };
            state.waiting.push(transaction);
            state.mine();
        }
        while (state.blocks.len() as u64) < BLOCKS {
            state.mine();
        }
        let state = Arc::new(Mutex::new(state));
        Ok(Self { state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete before anything could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Mines a block with all transactions that wait, and empty ones after it.
    pub fn mine(&self, blocks: usize) {
        let mut state = self.state();
        for _ in 0..blocks {
            state.mine();
        }
    }

    /// Replaces the last blocks by another branch, which is one block longer. Its first block is empty, the second has the
    /// transactions of the replaced ones but for `lost`.
    pub fn reorganise(&self, blocks: usize, lost: Option<[u8; 32]>) {
        let mut state = self.state();
        let kept = state.blocks.len().saturating_sub(blocks).max(1);
        let replaced = state.blocks.split_off(kept);
        state.branch += 1;
        state.mine();
        let again = replaced.iter().flat_map(|block| block.vtx.clone());
        let again = again.filter(|one| lost.is_none_or(|lost| one.txid != lost));
        state.waiting.splice(0..0, again);
        for _ in 0..replaced.len() {
            state.mine();
        }
    }

    /// Returns the ranges of blocks for which clients have asked since the last call.
    pub fn asked(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.state().asked)
    }

    /// Serves the chain until the task ends.
    ///
    /// Errors: `Connect`.
    pub async fn serve(self, listener: TcpListener) -> Result<(), ZcashError> {
        let url = format!("http://{}", listener.local_addr()?);
        let routes = tonic::transport::Server::builder()
            .add_service(wire::CompactTxStreamerServer::new(self))
            .serve_with_incoming(TcpListenerStream::new(listener));
        routes
            .await
            .map_err(|source| ZcashError::Connect { url, source })
    }
}

impl State {
    fn mine(&mut self) {
        let height = FIRST + self.blocks.len() as u64;
        let before = self.blocks.last();
        let prev_hash = before.map_or(vec![0; 32], |block| block.hash.clone());
        let mut vtx = std::mem::take(&mut self.waiting);
        let mut hash = Sha256::new();
        hash.update(&prev_hash);
        hash.update(self.network.as_bytes());
        hash.update(self.branch.to_le_bytes());
        for (index, transaction) in vtx.iter_mut().enumerate() {
            // Place 0 is that of the coinbase transaction, which pays nobody here.
            transaction.index = index as u64 + 1;
            hash.update(&transaction.txid);
        }
        self.blocks.push(CompactBlock {
            height,
            hash: hash.finalize().to_vec(),
            prev_hash,
            vtx,
            ..CompactBlock::default()
        });
    }

    fn tip(&self) -> u64 {
        FIRST + self.blocks.len() as u64 - 1
    }

    /// Returns copies of the blocks of a range of heights.
    fn blocks(&self, heights: Range<u64>) -> Result<Vec<CompactBlock>, Status> {
        let within = FIRST <= heights.start && heights.end <= self.tip() + 1;
        if !within || heights.is_empty() || heights.end - heights.start > RANGE {
            return Err(Status::out_of_range(format!(
                "expected at most {RANGE} blocks within {FIRST} to {}, found {} to {}",
                self.tip(),
                heights.start,
                heights.end - 1,
            )));
        }
        let place = |height| (height - FIRST) as usize;
        Ok(self.blocks[place(heights.start)..place(heights.end)].to_vec())
    }
}

fn compact(txid: [u8; 32], actions: Vec<wire::CompactOrchardAction>) -> CompactTx {
    CompactTx {
        txid: txid.to_vec(),
        actions,
        ..CompactTx::default()
    }
}

/// Returns an output of Sapling, given from its note commitment on, as it stands in compact blocks.
fn sapling(output: &&'static [u8]) -> CompactSaplingOutput {
    CompactSaplingOutput {
        cmu: output[..32].to_vec(),
        ephemeral_key: output[32..64].to_vec(),
        ciphertext: output[64..116].to_vec(),
    }
}

/// The type of answers of several parts.
type Parts<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

/// Returns the refusal of a call that no part of the demonstration makes.
fn absent<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("a fake node: it has no such call"))
}

#[tonic::async_trait]
impl wire::CompactTxStreamer for Node {
    type GetBlockRangeStream = Parts<CompactBlock>;
    type GetBlockRangeNullifiersStream = Parts<CompactBlock>;
    type GetTaddressTxidsStream = Parts<wire::RawTransaction>;
    type GetTaddressTransactionsStream = Parts<wire::RawTransaction>;
    type GetMempoolTxStream = Parts<CompactTx>;
    type GetMempoolStreamStream = Parts<wire::RawTransaction>;
    type GetSubtreeRootsStream = Parts<wire::SubtreeRoot>;
    type GetAddressUtxosStreamStream = Parts<wire::GetAddressUtxosReply>;

    async fn get_latest_block(
        &self,
        _: Request<wire::ChainSpec>,
    ) -> Result<Response<wire::BlockId>, Status> {
        let state = self.state();
        Ok(Response::new(wire::BlockId {
            height: state.tip(),
            hash: state.blocks[state.blocks.len() - 1].hash.clone(),
        }))
    }

    async fn get_block(
        &self,
        request: Request<wire::BlockId>,
    ) -> Result<Response<CompactBlock>, Status> {
        let height = request.into_inner().height;
        let found = self.state().blocks(height..height.saturating_add(1))?;
        let block = found.into_iter().next();
        block
            .map(Response::new)
            .ok_or_else(|| Status::not_found("no such block"))
    }

    async fn get_block_range(
        &self,
        request: Request<wire::BlockRange>,
    ) -> Result<Response<Self::GetBlockRangeStream>, Status> {
        let wire::BlockRange { start, end, .. } = request.into_inner();
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Status::invalid_argument("expected a start and an end"));
        };
        let heights = start.height..end.height.saturating_add(1);
        let mut state = self.state();
        let blocks = state.blocks(heights.clone())?;
        state.asked.push(heights);
        let blocks: Vec<_> = blocks.into_iter().map(Ok).collect();
        Ok(Response::new(tokio_stream::iter(blocks)))
    }

    async fn send_transaction(
        &self,
        request: Request<wire::RawTransaction>,
    ) -> Result<Response<wire::SendResponse>, Status> {
        let answer = |error_code, error_message| {
            Ok(Response::new(wire::SendResponse {
                error_code,
                error_message,
            }))
        };
        let read = match transaction::read(&request.into_inner().data) {
            Ok(read) => read,
            Err(error) => return answer(-22, error.to_string()),
        };
        let mut state = self.state();
        if state.waiting.len() >= WAITING {
            return answer(-26, format!("{WAITING} transactions wait already"));
        }
        if state.waiting.iter().all(|one| one.txid != read.txid) {
            state.waiting.push(compact(read.txid, read.actions));
        }
        answer(0, String::new())
    }

    async fn get_lightd_info(
        &self,
        _: Request<wire::Empty>,
    ) -> Result<Response<wire::LightdInfo>, Status> {
        let state = self.state();
        Ok(Response::new(wire::LightdInfo {
            vendor: "a fake node".into(),
            chain_name: state.network.clone(),
            sapling_activation_height: FIRST,
            block_height: state.tip(),
            ..wire::LightdInfo::default()
        }))
    }

    async fn get_block_nullifiers(
        &self,
        _: Request<wire::BlockId>,
    ) -> Result<Response<CompactBlock>, Status> {
        absent()
    }

    async fn get_block_range_nullifiers(
        &self,
        _: Request<wire::BlockRange>,
    ) -> Result<Response<Self::GetBlockRangeNullifiersStream>, Status> {
        absent()
    }

    async fn get_transaction(
        &self,
        _: Request<wire::TxFilter>,
    ) -> Result<Response<wire::RawTransaction>, Status> {
        absent()
    }

    async fn get_taddress_txids(
        &self,
        _: Request<wire::TransparentAddressBlockFilter>,
    ) -> Result<Response<Self::GetTaddressTxidsStream>, Status> {
        absent()
    }

    async fn get_taddress_transactions(
        &self,
        _: Request<wire::TransparentAddressBlockFilter>,
    ) -> Result<Response<Self::GetTaddressTransactionsStream>, Status> {
        absent()
    }

    async fn get_taddress_balance(
        &self,
        _: Request<wire::AddressList>,
    ) -> Result<Response<wire::Balance>, Status> {
        absent()
    }

    async fn get_taddress_balance_stream(
        &self,
        _: Request<tonic::Streaming<wire::Address>>,
    ) -> Result<Response<wire::Balance>, Status> {
        absent()
    }

    async fn get_mempool_tx(
        &self,
        _: Request<wire::GetMempoolTxRequest>,
    ) -> Result<Response<Self::GetMempoolTxStream>, Status> {
        absent()
    }

    async fn get_mempool_stream(
        &self,
        _: Request<wire::Empty>,
    ) -> Result<Response<Self::GetMempoolStreamStream>, Status> {
        absent()
    }

    async fn get_tree_state(
        &self,
        _: Request<wire::BlockId>,
    ) -> Result<Response<wire::TreeState>, Status> {
        absent()
    }

    async fn get_latest_tree_state(
        &self,
        _: Request<wire::Empty>,
    ) -> Result<Response<wire::TreeState>, Status> {
        absent()
    }

    async fn get_subtree_roots(
        &self,
        _: Request<wire::GetSubtreeRootsArg>,
    ) -> Result<Response<Self::GetSubtreeRootsStream>, Status> {
        absent()
    }

    async fn get_address_utxos(
        &self,
        _: Request<wire::GetAddressUtxosArg>,
    ) -> Result<Response<wire::GetAddressUtxosReplyList>, Status> {
        absent()
    }

    async fn get_address_utxos_stream(
        &self,
        _: Request<wire::GetAddressUtxosArg>,
    ) -> Result<Response<Self::GetAddressUtxosStreamStream>, Status> {
        absent()
    }

    async fn ping(
        &self,
        _: Request<wire::Duration>,
    ) -> Result<Response<wire::PingResponse>, Status> {
        absent()
    }
}

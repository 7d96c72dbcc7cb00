//! The bridge between senders, a node and a board: it takes announcements of payments, and feeds each block of the node to
//! the board with the announcements of its outputs.

use crate::ZcashError;
use crate::chain::{Chain, EXPIRY};
use lightwallet_protocol::CompactBlock;
use omr_protocol::clue::post_key;
use omr_protocol::{ClueKind, ParamSet};
use omr_remote::v1::{LedgerBlock, LedgerMessage, Message};
use omr_remote::{Client, Followed, Ledger};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use wire::bridge_server::{Bridge as Calls, BridgeServer};

/// The bridge's own protocol.
pub(crate) mod wire {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    tonic::include_proto!("omr.zcash.v1");
}

/// The greatest number of announcements that are kept.
const ANNOUNCED: usize = 100_000;
/// The number of blocks for which an announcement is kept, in a block or not: within it a reorganisation can move the
/// payment. Boards allow forks of this many blocks.
pub const KEPT_BLOCKS: u64 = 100;

/// An output: the transaction's id and the position among its Orchard actions.
type Output = ([u8; 32], u32);

/// A bridge. Clones share their announcements.
#[derive(Clone)]
pub struct Bridge {
    chain: Chain,
    board: Client,
    set: Arc<ParamSet>,
    board_id: [u8; 16],
    payload_bytes: usize,
    first: u64,
    announced: Arc<Mutex<BTreeMap<Output, Announced>>>,
}

struct Announced {
    message: Message,
    /// The height of the chain when the announcement came.
    height: u64,
}

impl Bridge {
    /// Makes a bridge between a node and a board of its chain. The client needs the right `feed`.
    ///
    /// Errors: `Network`, `Call`, `Block`, `Remote`, `Mail`.
    pub async fn new(mut chain: Chain, board: Client) -> Result<Self, ZcashError> {
        let found = board.board().await?;
        chain.check(&found).await?;
        let place = omr_mail::board_place(&found)?;
        let set = ParamSet::named(&place.params).map_err(omr_mail::MailError::from)?;
        omr_mail::check_clues(&found, set.clue(), ClueKind::Bound)?;
        let first = chain.first().await?;
        Ok(Self {
            chain,
            board,
            set: Arc::new(set),
            board_id: place.board_id,
            payload_bytes: place.payload_bytes,
            first,
            announced: Arc::default(),
        })
    }

    fn announced(&self) -> MutexGuard<'_, BTreeMap<Output, Announced>> {
        // Every change is complete before anything could panic.
        let locked = self.announced.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the board to the end of the node's chain.
    ///
    /// Errors: `Call`, `Block`, `Remote`.
    pub async fn step(&self) -> Result<Followed, ZcashError> {
        let mut bridge = self.clone();
        let followed = self.board.follow(&mut bridge, self.first).await?;
        let tip = bridge.chain.tip().await?;
        let kept = |one: &Announced| one.height + EXPIRY + KEPT_BLOCKS >= tip;
        self.announced().retain(|_, one| kept(one));
        Ok(followed)
    }

    /// Takes announcements until the task ends.
    ///
    /// Errors: `Connect`.
    pub async fn serve(self, listener: TcpListener) -> Result<(), ZcashError> {
        let url = format!("http://{}", listener.local_addr()?);
        let routes = tonic::transport::Server::builder()
            .add_service(BridgeServer::new(self))
            .serve_with_incoming(TcpListenerStream::new(listener));
        routes
            .await
            .map_err(|source| ZcashError::Connect { url, source })
    }

    /// Returns the announcements of a block's outputs, in the order of the outputs.
    fn messages(&self, block: &CompactBlock) -> Vec<LedgerMessage> {
        let announced = self.announced();
        let mut messages = Vec::new();
        for transaction in &block.vtx {
            let Ok(txid) = <[u8; 32]>::try_from(&transaction.txid[..]) else {
                continue;
            };
            let outputs = (txid, 0)..(txid, transaction.actions.len() as u32);
            messages.extend(announced.range(outputs).map(|(_, one)| LedgerMessage {
                message: Some(one.message.clone()),
                id: txid.to_vec().into(),
            }));
        }
        messages
    }
}

impl Ledger for Bridge {
    type Error = ZcashError;

    async fn block(&mut self, height: u64) -> Result<Option<LedgerBlock>, ZcashError> {
        let block = self.chain.block(height).await?;
        Ok(block.map(|block| LedgerBlock {
            height,
            messages: self.messages(&block),
            hash: block.hash.into(),
            parent: block.prev_hash.into(),
        }))
    }
}

#[tonic::async_trait]
impl Calls for Bridge {
    async fn announce(
        &self,
        request: Request<wire::AnnounceRequest>,
    ) -> Result<Response<wire::AnnounceResponse>, Status> {
        let asked = request.into_inner();
        let found = asked.txid.len();
        let txid = asked.txid.try_into().map_err(|_| {
            Status::invalid_argument(format!("txid: expected 32 bytes, found {found}"))
        })?;
        let (expected, found) = (self.payload_bytes, asked.payload.len());
        if found != expected {
            return Err(Status::invalid_argument(format!(
                "payload: expected {expected} bytes, found {found}"
            )));
        }
        // A message that the board would leave out must not take the place of the output's own.
        post_key(self.set.clue(), &self.board_id, &asked.clue, &asked.payload)
            .map_err(|error| Status::invalid_argument(format!("clue: {error}")))?;
        let height = self.chain.clone().tip().await;
        let height = height.map_err(|error| Status::unavailable(error.to_string()))?;
        let message = Message {
            clue: asked.clue.into(),
            payload: asked.payload.into(),
        };
        let mut announced = self.announced();
        let is_full = announced.len() >= ANNOUNCED;
        match announced.get(&(txid, asked.output)) {
            Some(known) if known.message == message => {}
            Some(_) => return Err(Status::already_exists("the output was announced before")),
            None if is_full => {
                return Err(Status::resource_exhausted("too many announcements"));
            }
            None => {
                announced.insert((txid, asked.output), Announced { message, height });
            }
        }
        Ok(Response::new(wire::AnnounceResponse {}))
    }
}

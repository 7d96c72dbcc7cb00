//! Senders: a transaction for the node, and a sealed pointer with a clue for the bridge.

use crate::ZcashError;
use crate::address::PaymentAddress;
use crate::bridge::wire::{AnnounceRequest, bridge_client::BridgeClient};
use crate::chain::{Chain, EXPIRY};
use crate::pointer::Pointer;
use crate::transaction::{Payment, payment};
use omr_client::letter::Writer;
use omr_client::os_rng;
use omr_mail::MailError;
use omr_protocol::{ClueKey, ClueKind, ParamSet};
use omr_remote::Client;
use tonic::transport::Channel;

/// The connections of a sender.
pub struct Sender {
    chain: Chain,
    board: Client,
    bridge: BridgeClient<Channel>,
}

impl Sender {
    /// Connects to a bridge, beside a node and a board.
    ///
    /// Errors: `Connect`.
    pub async fn connect(chain: Chain, board: Client, bridge: &str) -> Result<Self, ZcashError> {
        let connected = BridgeClient::connect(bridge.to_owned()).await;
        let bridge = connected.map_err(|source| ZcashError::Connect {
            url: bridge.to_owned(),
            source,
        })?;
        Ok(Self {
            chain,
            board,
            bridge,
        })
    }

    /// Announces a payment to the bridge, and then sends the transaction to the node.
    ///
    /// Errors: `Network`, `Memo`, `Call`, `Block`, `Transaction`, `Orchard`, `Mail`, `Letter`, `Remote`.
    pub async fn pay(
        &mut self,
        to: &PaymentAddress,
        zatoshis: u64,
        memo: &str,
    ) -> Result<Payment, ZcashError> {
        let expiry = self.chain.tip().await? + 1 + EXPIRY;
        let paid = payment(to.orchard, zatoshis, expiry as u32)?;
        // The announcement comes first: it is there when its block comes, and nobody else knows the transaction's id.
        self.announce(to, paid.txid, paid.output, memo).await?;
        self.chain.send(paid.bytes.clone()).await?;
        Ok(paid)
    }

    /// Announces an output to the bridge, of a transaction that nobody has sent yet: by its id, in the order of the network,
    /// and the position among its Orchard actions.
    ///
    /// Errors: `Network`, `Memo`, `Call`, `Block`, `Mail`, `Letter`, `Remote`.
    pub async fn announce(
        &mut self,
        to: &PaymentAddress,
        txid: [u8; 32],
        output: u32,
        memo: &str,
    ) -> Result<(), ZcashError> {
        let board = self.board.board().await?;
        self.chain.check(&board).await?;
        let place = omr_mail::board_place(&board)?;
        omr_mail::check_sealing(to.letters.terms.map(|terms| terms.sealing), place.sealing)?;
        let set = ParamSet::named(&place.params).map_err(MailError::from)?;
        omr_mail::check_clues(&board, set.clue(), ClueKind::Bound)?;
        let key = ClueKey::from_bytes(set.clue(), &to.letters.clue_key);
        let writer = Writer::new(set.clue(), &key.map_err(MailError::from)?, place)?;
        let pointer = Pointer {
            lowest: self.chain.tip().await? + 1,
            txid,
            output,
            memo: memo.to_owned(),
        };
        let parts = writer.parts(&pointer.to_bytes()?, &mut os_rng())?;
        let message = writer.message(&mut os_rng(), &parts.concat())?;
        let announced = self.bridge.announce(AnnounceRequest {
            txid: txid.to_vec(),
            output,
            clue: message.clue,
            payload: message.payload,
        });
        announced.await.map_err(ZcashError::call("Announce"))?;
        Ok(())
    }
}

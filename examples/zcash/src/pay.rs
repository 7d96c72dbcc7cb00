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
        let (paid, announcement) = self.prepare(to, zatoshis, memo).await?;
        // The announcement comes first: one that is there when its block comes is never late.
        let announced = self.bridge.announce(announcement).await;
        announced.map_err(ZcashError::call("Announce"))?;
        self.chain.send(paid.bytes.clone()).await?;
        Ok(paid)
    }

    /// Makes a transaction and its announcement.
    ///
    /// Errors: those of [`Sender::pay`].
    pub(crate) async fn prepare(
        &mut self,
        to: &PaymentAddress,
        zatoshis: u64,
        memo: &str,
    ) -> Result<(Payment, AnnounceRequest), ZcashError> {
        let board = self.board.board().await?;
        self.chain.check(&board).await?;
        let place = omr_mail::board_place(&board)?;
        omr_mail::check_sealing(to.letters.terms.map(|terms| terms.sealing), place.sealing)?;
        let set = ParamSet::named(&place.params).map_err(MailError::from)?;
        omr_mail::check_clues(&board, set.clue(), ClueKind::Bound)?;
        let key = ClueKey::from_bytes(set.clue(), &to.letters.clue_key);
        let key = key.map_err(MailError::from)?;
        let writer = Writer::new(set.clue(), &key, place)?;
        let lowest = self.chain.tip().await? + 1;
        let paid = payment(to.orchard, zatoshis, (lowest + EXPIRY) as u32)?;
        let pointer = Pointer {
            lowest,
            txid: paid.txid,
            output: paid.output,
            memo: memo.to_owned(),
        };
        let parts = writer.parts(&pointer.to_bytes()?, &mut os_rng())?;
        let message = match &parts[..] {
            [part] => writer.message(&mut os_rng(), part)?,
            _ => {
                return Err(ZcashError::Memo {
                    most: Pointer::MEMO_BYTES,
                    found: memo.len(),
                });
            }
        };
        let announcement = AnnounceRequest {
            txid: paid.txid.to_vec(),
            output: paid.output,
            clue: message.clue,
            payload: message.payload,
        };
        Ok((paid, announcement))
    }
}

//! The recipients, the senders, and their posts.

use crate::commands::board;
use crate::commands::demo::Demo;
use crate::commands::keygen::Wanted;
use crate::error::{CliError, InputError};
use omr_client::{BoundSender, ClueSeed, os_rng};
use omr_console::Ui;
use omr_detector::Progress;
use omr_protocol::clue::message_hash;
use omr_protocol::{ClueKey, ClueKind, ClueParams, ParamSet, Sealing};
use omr_store::{Message, MessageHashes};
use omr_transactions::RealPayloads;
use rand_core::Rng;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const TRANSACTION: u64 = 1000;

/// The recipient who requests a digest, and the others.
pub(super) struct Cast {
    /// The addresses, beginning with that of the recipient who requests a digest.
    addresses: Vec<ClueKey>,
    messages: u64,
    /// The messages for that recipient.
    pub(super) pertinent: BTreeSet<u64>,
    pub(super) keygen_s: f64,
    pub(super) addresses_s: f64,
}

/// The cost of posting.
pub(super) struct Posting {
    pub(super) clues_s: f64,
    pub(super) append_s: f64,
    pub(super) board_bytes: u64,
}

impl Cast {
    /// Makes all keys, writes those of the recipient who requests a digest into `dir`, and draws the messages for that
    /// recipient.
    ///
    /// Errors: `Params`, `Write`, `Exists`.
    pub(super) fn new(set: &ParamSet, args: &Demo, dir: &Path) -> Result<Self, CliError> {
        let start = Instant::now();
        let wanted = Wanted {
            words: None,
            set,
            scheme: Some(args.scheme),
            clues: ClueKind::Bound,
            epoch: None,
            passphrase: None,
            force: false,
        };
        let (address, _) = wanted.make(dir)?;
        let keygen_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut addresses = vec![address];
        addresses.par_extend(
            (1..args.recipients)
                .into_par_iter()
                .map_init(os_rng, |rng, _| {
                    omr_client::identity(set.clue(), ClueKind::Bound, rng).1
                }),
        );
        let addresses_s = start.elapsed().as_secs_f64();
        let mut pertinent = BTreeSet::new();
        while pertinent.len() < args.pertinent as usize {
            pertinent.insert(os_rng().next_u64() % args.messages);
        }
        Ok(Self {
            addresses,
            messages: args.messages,
            pertinent,
            keygen_s,
            addresses_s,
        })
    }

    /// Posts real payload `i` as message `i`, for that recipient or for the others in turn.
    ///
    /// Errors: those of the board.
    pub(super) fn post(
        &self,
        params: &Arc<ClueParams>,
        payloads: &RealPayloads,
        dir: &Path,
        ui: &Ui,
    ) -> Result<Posting, CliError> {
        let (bytes, clues) = (payloads.payload_bytes(), ClueKind::Bound);
        let board = board::create(dir, params, Sealing::None, bytes, clues)?;
        let board_id = board.config().board_id;
        let sender = |key| BoundSender::new(params, key, board_id);
        let senders: Vec<BoundSender> = self.addresses.iter().map(sender).collect();
        let bar = ui.bar();
        bar.stage("post", self.messages);
        let mut posting = Posting {
            clues_s: 0.0,
            append_s: 0.0,
            board_bytes: 0,
        };
        for start in (0..self.messages).step_by(TRANSACTION as usize) {
            let range = start..(start + TRANSACTION).min(self.messages);
            let clock = Instant::now();
            let messages = self
                .messages(params, payloads, &senders, range)
                .map_err(CliError::input(dir))?;
            let hash = |message: &Message| {
                message_hash(params, &board_id, &message.clue, &message.payload)
            };
            let hashes = MessageHashes::new(params.tag(), messages.par_iter().map(hash).collect());
            posting.clues_s += clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            board
                .append_hashed(&messages, &hashes)
                .map_err(InputError::from)
                .map_err(CliError::input(dir))?;
            posting.append_s += clock.elapsed().as_secs_f64();
            bar.advance(messages.len() as u64);
        }
        let stat = board
            .stat()
            .map_err(InputError::from)
            .map_err(CliError::input(dir))?;
        posting.board_bytes = stat.bytes_on_disk;
        Ok(posting)
    }

    fn messages(
        &self,
        params: &ClueParams,
        payloads: &RealPayloads,
        senders: &[BoundSender],
        range: Range<u64>,
    ) -> Result<Vec<Message>, InputError> {
        let message = |rng: &mut _, index: u64| {
            let payload = payloads.payload(index as usize);
            let sender = &senders[self.recipient(index)];
            let bound = loop {
                let bound = sender.clue(&ClueSeed::generate(rng), &payload);
                if bound.clue.check_norm(params).is_ok() {
                    break bound;
                }
            };
            Ok(Message {
                clue: bound.to_bytes(params),
                payload,
            })
        };
        range.into_par_iter().map_init(os_rng, message).collect()
    }

    fn recipient(&self, message: u64) -> usize {
        if self.pertinent.contains(&message) {
            0
        } else {
            1 + (message % (self.addresses.len() as u64 - 1)) as usize
        }
    }
}

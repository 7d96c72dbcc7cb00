//! Messages as senders make them: real sealed payloads, clues of real samples. They are made in advance and each is
//! used often, with its own number at the end of its payload, so that all are distinct and each states its expected
//! content. Every use has its own one-time key and signature, as the board requires; no recipient finds it.

use crate::trials::TrialError;
use crate::trials::chaos::people::board_id;
use omr_client::seal::{SealKey, SealPublic, seal};
use omr_client::{BoundSender, ClueSeed, identity, os_rng};
use omr_protocol::clue::{Binding, BoundClue, OFFSET_LEN};
use omr_protocol::{ClueKey, ClueKind, ParamSet, Sealing};
use omr_remote::v1::{Board, Message};
use rand_core::Rng;
use rayon::prelude::*;

/// The bytes of a message's number, the last of its payload.
const NUMBER_BYTES: usize = 8;
/// The number of addresses that the messages are to.
const ADDRESSES: usize = 8;

/// Messages to strangers.
pub(crate) struct Pool {
    set: ParamSet,
    board_id: [u8; 16],
    /// The seed of the one-time keys.
    seed: [u8; 32],
    made: Vec<(BoundClue, Vec<u8>)>,
}

impl Pool {
    /// Makes `count` messages to strangers, for this board.
    ///
    /// Errors: `Own`.
    pub(crate) fn new(set: &ParamSet, board: &Board, count: usize) -> Result<Self, TrialError> {
        let mut rng = os_rng();
        let keys: Vec<ClueKey> = (0..ADDRESSES)
            .map(|_| identity(set.clue(), ClueKind::Bound, &mut rng).1)
            .collect();
        let writers: Vec<Writer<'_>> = keys
            .iter()
            .map(|key| Writer::new(set, board, key))
            .collect::<Result<_, TrialError>>()?;
        let make = |number: usize| {
            let (clue, payload) = writers[number % ADDRESSES].made()?;
            Ok::<_, TrialError>((clue, payload))
        };
        let made: Result<Vec<_>, TrialError> = (0..count).into_par_iter().map(make).collect();
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Ok(Self {
            board_id: board_id(board)?,
            seed,
            made: made?,
            set: ParamSet::named(set.name()).map_err(TrialError::own)?,
        })
    }

    /// Returns the message with this number.
    pub(crate) fn message(&self, number: u64) -> Message {
        let (clue, payload) = &self.made[(number % self.made.len() as u64) as usize];
        let mut payload = payload.clone();
        let at = payload.len() - NUMBER_BYTES;
        payload[at..].copy_from_slice(&number.to_le_bytes());
        let to = Binding::new(&self.board_id, &payload);
        // One number always yields one message.
        let one_time = blake3::keyed_hash(&self.seed, &number.to_le_bytes());
        let params = self.set.clue();
        let b: Vec<u64> = clue.clue.b.iter().map(|&b| b.into()).collect();
        let a = clue.clue.a.clone();
        let bound = BoundClue::bind(params, a, &b, &[0; OFFSET_LEN], to, one_time.as_bytes());
        Message {
            clue: bound.to_bytes(params).into(),
            payload: payload.into(),
        }
    }

    /// Returns the number in a message; it may be another message's.
    pub(crate) fn number(message: &Message) -> Option<u64> {
        let last = message.payload.last_chunk::<NUMBER_BYTES>()?;
        Some(u64::from_le_bytes(*last))
    }
}

/// A sender to one recipient.
pub(crate) struct Writer<'a> {
    set: &'a ParamSet,
    sender: BoundSender,
    sealing_key: SealKey,
    context: Vec<u8>,
    content: usize,
}

impl<'a> Writer<'a> {
    /// Prepares an address of the board.
    ///
    /// Errors: `Own`.
    pub(crate) fn new(set: &'a ParamSet, board: &Board, key: &ClueKey) -> Result<Self, TrialError> {
        let sealing: Sealing = board.sealing.parse().map_err(TrialError::own)?;
        let bytes = board.payload_bytes as usize;
        let least = sealing.overhead() + NUMBER_BYTES;
        if bytes < least {
            return Err(TrialError::Broken(format!(
                "expected a board with payloads of at least {least} bytes, found {bytes}"
            )));
        }
        let public = SealPublic::from_bytes(&key.seal).map_err(TrialError::own)?;
        Ok(Self {
            set,
            sender: BoundSender::new(set.clue(), key, board_id(board)?),
            sealing_key: public.key(sealing),
            context: [&board.board_id[..], board.params_id.as_bytes()].concat(),
            content: bytes - sealing.overhead(),
        })
    }

    /// Returns a message of random content.
    ///
    /// Errors: `Own`.
    pub(crate) fn message(&self) -> Result<Message, TrialError> {
        let (clue, payload) = self.made()?;
        Ok(Message {
            clue: clue.to_bytes(self.set.clue()).into(),
            payload: payload.into(),
        })
    }

    fn made(&self) -> Result<(BoundClue, Vec<u8>), TrialError> {
        let mut rng = os_rng();
        let mut content = vec![0; self.content];
        rng.fill_bytes(&mut content);
        let mut payload = Vec::new();
        seal(&self.sealing_key, &self.context, &content, &mut payload).map_err(TrialError::own)?;
        let clue = self.sender.clue(&ClueSeed::generate(&mut rng), &payload);
        Ok((clue, payload))
    }
}

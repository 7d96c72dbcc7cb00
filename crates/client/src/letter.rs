//! Files as messages of a board, and payloads as what they are part of.

use crate::Sender;
use crate::fragment::{FragmentError, Incomplete, MessageId, Reassembler, split};
use crate::seal::{SealError, SealPublic, SealSecret, open, seal};
use omr_protocol::{ClueError, ClueKey, ClueParams, Sealing};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Why a letter was not written, or a payload not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LetterError {
    /// Sealing, or opening.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Splitting, or a malformed part.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    /// A clue that a board would not take.
    #[error(transparent)]
    Clue(#[from] ClueError),
}

/// What sealing is bound to and how large payloads are: one board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The board.
    pub board_id: [u8; 16],
    /// Its parameter set.
    pub params: String,
    /// How payloads are sealed.
    pub sealing: Sealing,
    /// Bytes of a payload.
    pub payload_bytes: usize,
}

impl Place {
    /// The additional data of a sealed payload: it opens on this board and nowhere else.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        [&self.board_id[..], self.params.as_bytes()].concat()
    }
}

/// A message as it is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The clue.
    pub clue: Vec<u8>,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Turns files into messages for one recipient on one board. `Sync`: parts can be sealed on many threads.
pub struct Writer<'a> {
    params: &'a ClueParams,
    sender: Sender<'a>,
    seal: SealPublic,
    place: Place,
    context: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Prepares an address of the board's parameter set.
    ///
    /// Errors: `Seal`.
    pub fn new(params: &'a ClueParams, to: &ClueKey, place: Place) -> Result<Self, LetterError> {
        Ok(Self {
            params,
            sender: Sender::new(params, to),
            seal: SealPublic::from_bytes(&to.seal)?,
            context: place.context(),
            place,
        })
    }

    /// The parts of a file before sealing.
    ///
    /// Errors: `Fragment`.
    pub fn parts(
        &self,
        file: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Vec<u8>>, LetterError> {
        let overhead = self.place.sealing.overhead();
        let capacity = self.place.payload_bytes.saturating_sub(overhead);
        Ok(split(file, capacity, rng)?)
    }

    /// Seals a part and adds a fresh clue.
    ///
    /// Errors: `Seal`, `Clue`.
    pub fn message(&self, rng: &mut impl CryptoRng, part: &[u8]) -> Result<Written, LetterError> {
        let mut payload = Vec::with_capacity(self.place.payload_bytes);
        let sealing = self.place.sealing;
        seal(&self.seal, sealing, &self.context, part, &mut payload)?;
        let clue = self.sender.gen_clue(rng);
        clue.check_norm(self.params)?;
        Ok(Written {
            clue: clue.to_bytes(self.params),
            payload,
        })
    }
}

/// What a payload turns out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A file of its own.
    Whole(Vec<u8>),
    /// A part of a file: opened, to be put together by a [`Reassembler`].
    PartOf(MessageId, Zeroizing<Vec<u8>>),
}

/// Opens a payload of a board and tells what it is.
///
/// Errors: `Seal`, `Fragment`.
pub fn read(secret: &SealSecret, place: &Place, payload: &[u8]) -> Result<Piece, LetterError> {
    let part = open(secret, place.sealing, &place.context(), payload)?;
    // A part alone in a collection tells what it is.
    let mut alone = Reassembler::new();
    alone.push(&part)?;
    let (whole, parts) = alone.finish();
    Ok(match parts.first() {
        Some(Incomplete { id, .. }) => Piece::PartOf(*id, part),
        None => Piece::Whole(whole.concat()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{identity, os_rng};
    use omr_protocol::ParamSet;

    fn place(board: u8) -> Place {
        Place {
            board_id: [board; 16],
            params: "insecure-tiny-v2".into(),
            sealing: Sealing::HpkeX25519,
            payload_bytes: 200,
        }
    }

    #[test]
    fn what_is_written_is_read_on_its_board_alone() {
        let set = ParamSet::named("insecure-tiny-v2").unwrap();
        let mut rng = os_rng();
        let (secret, address) = identity(set.clue(), &mut rng);
        let writer = Writer::new(set.clue(), &address, place(1)).unwrap();
        for file in [&b"short"[..], &[7; 500]] {
            let parts = writer.parts(file, &mut rng).unwrap();
            let mut files = Reassembler::new();
            for part in &parts {
                let message = writer.message(&mut rng, part).unwrap();
                assert_eq!(message.payload.len(), 200);
                let seal = secret.seal_secret();
                assert!(matches!(
                    read(seal, &place(2), &message.payload),
                    Err(LetterError::Seal(SealError::Rejected))
                ));
                match read(seal, &place(1), &message.payload).unwrap() {
                    Piece::Whole(bytes) => assert_eq!((&bytes[..], parts.len()), (file, 1)),
                    Piece::PartOf(_, part) => files.push(&part).unwrap(),
                }
            }
            if parts.len() > 1 {
                assert_eq!(files.finish().0, [file]);
            }
        }
    }
}

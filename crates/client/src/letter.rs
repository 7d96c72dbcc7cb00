//! Files as messages of a board, and payloads as what they are part of.

use crate::bound::CLUE_SEED_BYTES;
use crate::fragment::{
    FragmentError, Incomplete, MessageId, Reassembler, Shape, Whole, shape_named, split_named,
};
use crate::seal::{SealError, SealPublic, SealSecret, open, seal};
use crate::{BoundSender, ClueSeed, Fingerprint, Retrieved, SecretKey, Sender};
use omr_marks::{publish, published};
use omr_protocol::clue::FingerprintKey;
use omr_protocol::{ClueKey, ClueKind, ClueParams, Sealing};
use omr_ring::Xof;
use rand_core::{CryptoRng, Rng};
use std::hint::black_box;
use std::sync::Arc;
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

    /// Bytes of a part for an address that takes such clues: what sealing leaves, without the seed of a bound clue.
    /// An unsealed payload has no room for a seed: its recipient cannot make the clue again.
    #[must_use]
    pub fn capacity(&self, clues: ClueKind) -> usize {
        let seed = match (clues, self.sealing) {
            (ClueKind::Plain, _) | (_, Sealing::None) => 0,
            (ClueKind::Bound, _) => CLUE_SEED_BYTES,
        };
        self.payload_bytes
            .saturating_sub(self.sealing.overhead() + seed)
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

/// What makes clues of a kind.
enum Clues {
    Plain(Sender),
    Bound(BoundSender),
}

/// Turns files into messages for one recipient on one board. `Sync`: parts can be sealed on many threads.
pub struct Writer {
    params: Arc<ClueParams>,
    clues: Clues,
    seal: SealPublic,
    place: Place,
    context: Vec<u8>,
    capacity: usize,
}

impl Writer {
    /// Prepares an address of the board's parameter set. Its kind decides which clues are made.
    ///
    /// Errors: `Seal`.
    pub fn new(params: &Arc<ClueParams>, to: &ClueKey, place: Place) -> Result<Self, LetterError> {
        Ok(Self {
            params: params.clone(),
            clues: match to.kind {
                ClueKind::Plain => Clues::Plain(Sender::new(params, to)),
                ClueKind::Bound => Clues::Bound(BoundSender::new(params, to, place.board_id)),
            },
            seal: SealPublic::from_bytes(&to.seal)?,
            context: place.context(),
            capacity: place.capacity(to.kind),
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
        self.named_parts(None, file, rng)
    }

    /// The parts of a file with its name, see [`split_named`]. On a board that does not seal payloads everybody could
    /// read the name: it is left out.
    ///
    /// Errors: `Fragment`.
    pub fn named_parts(
        &self,
        name: Option<&str>,
        file: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Vec<u8>>, LetterError> {
        Ok(split_named(
            self.sealed_name(name),
            file,
            self.capacity,
            rng,
        )?)
    }

    /// How [`Self::named_parts`] splits a file of so many bytes.
    ///
    /// Errors: `Fragment`.
    pub fn shape(&self, name: Option<&str>, bytes: u64) -> Result<Shape, LetterError> {
        Ok(shape_named(self.sealed_name(name), bytes, self.capacity)?)
    }

    fn sealed_name<'b>(&self, name: Option<&'b str>) -> Option<&'b str> {
        name.filter(|_| self.place.sealing != Sealing::None)
    }

    /// Seals a part and adds a fresh clue. A sealed payload carries the seed of its bound clue in front of the part. A
    /// clue that boards would refuse for its norm is drawn again, and the part is sealed again.
    ///
    /// Errors: `Seal`.
    pub fn message(&self, rng: &mut impl CryptoRng, part: &[u8]) -> Result<Written, LetterError> {
        let sender = match &self.clues {
            Clues::Plain(sender) => {
                let payload = self.sealed(part)?;
                let clue = sender.gen_clue(rng).to_bytes(&self.params);
                return Ok(Written { clue, payload });
            }
            Clues::Bound(sender) => sender,
        };
        loop {
            let seed = ClueSeed::generate(rng);
            let payload = match self.place.sealing {
                Sealing::None => self.sealed(part)?,
                _ => self.sealed(&Zeroizing::new([seed.as_bytes(), part].concat()))?,
            };
            let bound = sender.clue(&seed, &payload);
            if bound.clue.check_norm(&self.params).is_ok() {
                let clue = bound.to_bytes(&self.params);
                return Ok(Written { clue, payload });
            }
        }
    }

    fn sealed(&self, plaintext: &[u8]) -> Result<Vec<u8>, LetterError> {
        let mut payload = Vec::with_capacity(self.place.payload_bytes);
        let sealing = self.place.sealing;
        seal(&self.seal, sealing, &self.context, plaintext, &mut payload)?;
        Ok(payload)
    }
}

/// What a payload turns out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A file of its own.
    Whole(Whole),
    /// A part of a file: opened, to be put together by a [`Reassembler`].
    PartOf(MessageId, Zeroizing<Vec<u8>>),
}

/// Opens what digests of one board bring. It has its own copy of the secrets that opening takes.
pub struct Reader {
    seal: SealSecret,
    sealing: Sealing,
    context: Vec<u8>,
    payload_bytes: usize,
    /// Makes bound clues of sealed payloads again.
    clues: Option<BoundSender>,
}

/// An opened payload: its place on the board and what it is.
pub type Opened = (u64, Result<Piece, LetterError>);

impl Reader {
    /// A reader of the board's parameter set.
    pub fn new(params: &Arc<ClueParams>, secret: &SecretKey, place: &Place) -> Self {
        let address = secret
            .address
            .as_ref()
            .filter(|_| place.sealing != Sealing::None);
        Self {
            seal: secret.seal.clone(),
            sealing: place.sealing,
            context: place.context(),
            payload_bytes: place.payload_bytes,
            clues: address.map(|key| BoundSender::new(params, key, place.board_id)),
        }
    }

    /// Opens payloads and tells what they are, in their order.
    ///
    /// Sealed payloads of bound clues are left out without a sign unless they open and their clue is what an honest
    /// sender makes of the seed in them: others were posted to see how the recipient reacts, and 674 answers tell
    /// her secret. Nothing that others may see, times and counts included, should depend on whether there were any.
    ///
    /// Time:   with sealed payloads of bound clues that of `places` messages (the most that the digest can hold)
    ///         until what honest ones hold is looked at.
    /// Errors: of a message: `Seal`, `Fragment`.
    pub fn open(&self, found: &[Retrieved], places: usize) -> Vec<Opened> {
        let Some(clues) = &self.clues else {
            let open = |message: &Retrieved| {
                let payload = message.payload.as_ref()?;
                let part = open(&self.seal, self.sealing, &self.context, payload);
                let piece = part.map_err(LetterError::from).and_then(piece);
                Some((message.index, piece))
            };
            return found.iter().filter_map(open).collect();
        };
        let open = |message| self.honest(clues, message);
        let opened: Vec<_> = found.iter().map(open).collect();
        self.pad(places.saturating_sub(found.len()));
        let honest = found.iter().zip(opened);
        let honest = honest.filter_map(|(message, part)| Some((message.index, piece(part?))));
        honest.collect()
    }

    /// Takes the time of so many more places of a digest that [`Self::open`] was not told of.
    pub fn pad(&self, places: usize) {
        let Some(clues) = self.clues.as_ref().filter(|_| places > 0) else {
            return;
        };
        let decoy = self.decoy();
        for _ in 0..places {
            black_box(self.honest(clues, black_box(&decoy)));
        }
    }

    /// What stands for a message where there is none: it does not open.
    fn decoy(&self) -> Retrieved {
        let mut payload = vec![0; self.payload_bytes];
        Xof::stream("omr decoy v1", &[0; 32], &[]).fill_bytes(&mut payload);
        Retrieved::new(0, Some(payload), None)
    }

    /// The part in a payload, if it opens and its clue was made honestly.
    fn honest(&self, clues: &BoundSender, message: &Retrieved) -> Option<Zeroizing<Vec<u8>>> {
        let payload = message.payload.as_deref().unwrap_or_default();
        let plaintext = open(&self.seal, self.sealing, &self.context, payload);
        let plaintext = plaintext.unwrap_or_default();
        let (seed, part) = plaintext.split_first_chunk().unwrap_or((&[0; 32], &[]));
        let none = Fingerprint {
            key: FingerprintKey::new(&[0; 32]),
            value: 0,
        };
        let posted = message.fingerprint.unwrap_or(none);
        let agrees = clues.agrees(&ClueSeed::from_bytes(*seed), payload, &posted);
        let honest = agrees & message.fingerprint.is_some() & (plaintext.len() >= seed.len());
        // Public to those who see what the recipient does next: only honest letters are shown, and what they contain is
        // put together in the open.
        published(honest).then(|| {
            let mut part = Zeroizing::new(part.to_vec());
            publish(&mut part);
            part
        })
    }
}

/// What a part is.
///
/// Errors: `Fragment`.
fn piece(part: Zeroizing<Vec<u8>>) -> Result<Piece, LetterError> {
    // A part alone in a collection tells what it is.
    let mut alone = Reassembler::new();
    alone.push(&part)?;
    let (whole, parts) = alone.finish();
    Ok(match parts.first() {
        Some(Incomplete { id, .. }) => Piece::PartOf(*id, part),
        None => Piece::Whole(whole.into_iter().next().unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{identity, os_rng};
    use omr_protocol::ParamSet;
    use omr_protocol::clue::{Binding, BoundClue, Hashed};

    const KEY: [u8; 32] = [9; 32];

    fn place(board: u8) -> Place {
        Place {
            board_id: [board; 16],
            params: "insecure-tiny-v4".into(),
            sealing: Sealing::HpkeX25519,
            payload_bytes: 200,
        }
    }

    /// What a digest says of a message of board 1.
    fn retrieved(params: &ClueParams, kind: ClueKind, message: &Written) -> Retrieved {
        let key = FingerprintKey::new(&KEY);
        let to = Binding::new(&[1; 16], &message.payload);
        let fingerprint = (kind == ClueKind::Bound).then(|| Fingerprint {
            key,
            value: Hashed::new(params, to, &message.clue).fingerprint(&key),
        });
        Retrieved::new(5, Some(message.payload.clone()), fingerprint)
    }

    #[test]
    fn what_is_written_is_read_on_its_board_alone() {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let mut rng = os_rng();
        for kind in [ClueKind::Plain, ClueKind::Bound] {
            let (secret, address) = identity(set.clue(), kind, &mut rng);
            let writer = Writer::new(set.clue(), &address, place(1)).unwrap();
            let reader = |board| Reader::new(set.clue(), &secret, &place(board));
            for file in [&b"short"[..], &[7; 500]] {
                let parts = writer.parts(file, &mut rng).unwrap();
                let mut files = Reassembler::new();
                for part in &parts {
                    let message = writer.message(&mut rng, part).unwrap();
                    assert_eq!(message.payload.len(), 200);
                    assert_eq!(message.clue.len(), kind.bytes(set.clue()));
                    let found = [retrieved(set.clue(), kind, &message)];
                    let elsewhere = reader(2).open(&found, 3).pop();
                    match kind {
                        ClueKind::Bound => assert!(elsewhere.is_none()),
                        ClueKind::Plain => assert!(matches!(
                            elsewhere,
                            Some((5, Err(LetterError::Seal(SealError::Rejected))))
                        )),
                    }
                    match reader(1).open(&found, 3).pop().unwrap().1.unwrap() {
                        Piece::Whole(whole) => {
                            assert_eq!((&whole.bytes[..], parts.len()), (file, 1))
                        }
                        Piece::PartOf(_, part) => files.push(&part).unwrap(),
                    }
                }
                if parts.len() > 1 {
                    assert_eq!(files.finish().0[0].bytes, file);
                }
            }
        }
    }

    #[test]
    fn a_clue_that_does_not_follow_from_its_seed_is_dropped() {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let mut rng = os_rng();
        let (secret, address) = identity(set.clue(), ClueKind::Bound, &mut rng);
        let writer = Writer::new(set.clue(), &address, place(1)).unwrap();
        let part = &writer.parts(b"hello", &mut rng).unwrap()[0];
        let honest = writer.message(&mut rng, part).unwrap();
        // Signed with its key, for this payload, but of another seed than the sealed one.
        let sender = BoundSender::new(set.clue(), &address, [1; 16]);
        let crafted = sender.clue(&ClueSeed::generate(&mut rng), &honest.payload);
        let to = Binding::new(&[1; 16], &honest.payload);
        crafted.verify(set.clue(), to).unwrap();
        let mut mauled = BoundClue::from_bytes(set.clue(), &honest.clue).unwrap();
        mauled.clue.b[0] ^= 1;
        let of = |clue: &BoundClue| Written {
            clue: clue.to_bytes(set.clue()),
            payload: honest.payload.clone(),
        };
        let find = |message: &Written| retrieved(set.clue(), ClueKind::Bound, message);
        let mut found = vec![find(&of(&crafted)), find(&of(&mauled)), find(&honest)];
        found[2].index = 6;
        let mut bare = find(&honest);
        bare.fingerprint = None;
        found.push(bare);
        let mut unopened = find(&honest);
        unopened.payload = Some(vec![1; 200]);
        found.push(unopened);
        let reader = Reader::new(set.clue(), &secret, &place(1));
        let opened = reader.open(&found, 2);
        assert_eq!(opened.len(), 1);
        assert!(matches!(&opened[0], (6, Ok(Piece::Whole(whole))) if whole.bytes == b"hello"));
    }
}

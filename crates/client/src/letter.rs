//! Turning files into messages of a board, and payloads back into files or parts of files.

use crate::bound::CLUE_SEED_BYTES;
use crate::fragment::{
    Fields, FragmentError, Incomplete, MessageId, Reassembler, Shape, Whole, file_name,
    shape_named, split_fields, split_named,
};
use crate::header::{Addressee, Header, HeaderError, Signer};
use crate::periods::PeriodSecrets;
use crate::seal::{SealError, SealKey, SealPublic, SealSecret, open, seal};
use crate::{BoundSender, ClueSeed, Fingerprint, Retrieved, SecretKey, Sender};
use omr_marks::{publish, published};
use omr_protocol::clue::FingerprintKey;
use omr_protocol::periods::PeriodKeys;
use omr_protocol::{ClueKey, ClueKind, ClueParams, Sealing};
use omr_ring::Xof;
use rand_core::{CryptoRng, Rng};
use std::hint::black_box;
use std::sync::Arc;
use zeroize::Zeroizing;

/// An error of writing a letter or reading a payload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LetterError {
    /// Sealing or opening failed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Splitting failed, or a part is malformed.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    /// The header of a letter cannot be sent.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The properties of a board to which sealing is bound and which determine the size of payloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The board.
    pub board_id: [u8; 16],
    /// The board's parameter set.
    pub params: String,
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// Length in bytes of a payload.
    pub payload_bytes: usize,
}

impl Place {
    /// Returns the additional data of a sealed payload, with which it opens on this board only.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        [&self.board_id[..], self.params.as_bytes()].concat()
    }

    /// Returns the length in bytes of a part for an address with this kind of clues: the payload without the sealing's
    /// overhead and without the seed of a bound clue. An unsealed payload contains no seed, so its recipient cannot
    /// make the clue again.
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

/// A message that is ready to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The clue.
    pub clue: Vec<u8>,
    /// The payload.
    pub payload: Vec<u8>,
}

/// The sender of one kind of clues.
enum Clues {
    Plain(Sender),
    Bound(BoundSender),
}

/// A writer of messages for one recipient on one board. It is `Sync`, so that parts can be sealed on several threads.
pub struct Writer {
    params: Arc<ClueParams>,
    clues: Clues,
    seal: SealKey,
    addressee: Addressee,
    place: Place,
    context: Vec<u8>,
    capacity: usize,
}

impl Writer {
    /// Prepares an address of the board's parameter set. The address determines the kind of clues.
    ///
    /// Errors: `Seal`.
    pub fn new(params: &Arc<ClueParams>, to: &ClueKey, place: Place) -> Result<Self, LetterError> {
        Ok(Self {
            params: params.clone(),
            clues: match to.kind {
                ClueKind::Plain => Clues::Plain(Sender::new(params, to)),
                ClueKind::Bound => Clues::Bound(BoundSender::new(params, to, place.board_id)),
            },
            seal: SealPublic::from_bytes(&to.seal)?.key(place.sealing),
            addressee: Addressee::new(&place.board_id, &place.params, &to.seal),
            context: place.context(),
            capacity: place.capacity(to.kind),
            place,
        })
    }

    /// Seals to the key of a period, if the list has one for the board's sealing, in place of the address's permanent
    /// key.
    ///
    /// Errors: `Seal`.
    pub fn in_period(self, keys: &PeriodKeys, period: u32) -> Result<Self, LetterError> {
        let sealing = self.place.sealing;
        let seal = match keys.key(sealing, period) {
            Some(key) => SealKey::from_bytes(sealing, key)?,
            None => self.seal,
        };
        Ok(Self { seal, ..self })
    }

    /// Returns the length in bytes of a part, see [`Place::capacity`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the parts of a file before sealing.
    ///
    /// Errors: `Fragment`.
    pub fn parts(
        &self,
        file: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Vec<u8>>, LetterError> {
        self.named_parts(None, file, rng)
    }

    /// Returns the parts of a file with its name before sealing, see [`split_named`]. The name is left out if the board
    /// does not seal payloads, because everybody could read it.
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

    /// Returns the parts of a file with a name and a header before sealing; with a signer, the header names the sender
    /// and is signed. The name is left out if the file fits one part only without it. A file without a header and a
    /// signer has the parts of [`Self::named_parts`].
    ///
    /// Errors: `Fragment`; `Header` for texts that cannot be sent, and for a board that does not seal payloads, because
    /// everybody could read the header.
    pub fn letter_parts(
        &self,
        name: Option<&str>,
        header: &Header,
        signer: Option<&Signer>,
        file: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Vec<u8>>, LetterError> {
        if header.is_empty() && signer.is_none() {
            return self.named_parts(name, file, rng);
        }
        if self.place.sealing == Sealing::None {
            return Err(HeaderError::Unsealed.into());
        }
        let safe = name.and_then(file_name);
        let mut parts = |name: Option<&str>| -> Result<Vec<Vec<u8>>, LetterError> {
            let header = match signer {
                Some(signer) => header.signed(signer, &self.addressee, name, file)?,
                None => header.to_bytes()?,
            };
            let fields = Fields {
                name,
                header: Some(&header),
            };
            Ok(split_fields(&fields, file, self.capacity, rng)?)
        };
        let named = parts(safe.as_deref())?;
        if safe.is_some() && named.len() > 1 {
            let bare = parts(None)?;
            if bare.len() == 1 {
                return Ok(bare);
            }
        }
        Ok(named)
    }

    /// Returns the shape in which [`Self::named_parts`] splits a file of `bytes` bytes.
    ///
    /// Errors: `Fragment`.
    pub fn shape(&self, name: Option<&str>, bytes: u64) -> Result<Shape, LetterError> {
        Ok(shape_named(self.sealed_name(name), bytes, self.capacity)?)
    }

    fn sealed_name<'b>(&self, name: Option<&'b str>) -> Option<&'b str> {
        name.filter(|_| self.place.sealing != Sealing::None)
    }

    /// Seals a part and adds a fresh clue. A sealed payload contains the seed of its bound clue in front of the part.
    /// If boards would refuse the clue for its norm, clue and payload are made again with a new seed.
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
        seal(&self.seal, &self.context, plaintext, &mut payload)?;
        Ok(payload)
    }
}

/// The content of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A complete file.
    Whole(Whole),
    /// An opened part of a file with this id, for a [`Reassembler`].
    PartOf(MessageId, Zeroizing<Vec<u8>>),
}

/// An opener of the payloads that digests of one board contain. It has its own copy of the secrets that it needs.
pub struct Reader {
    /// The permanent sealing secret, and those of periods. Each of them is tried, whichever opens a payload.
    seals: Vec<SealSecret>,
    sealing: Sealing,
    context: Vec<u8>,
    payload_bytes: usize,
    /// Makes the bound clues of sealed payloads again.
    clues: Option<BoundSender>,
}

/// An opened payload: its place on the board and its content.
pub type Opened = (u64, Result<Piece, LetterError>);

impl Reader {
    /// Makes a reader for a board of the parameter set.
    pub fn new(params: &Arc<ClueParams>, secret: &SecretKey, place: &Place) -> Self {
        let address = secret
            .address
            .as_ref()
            .filter(|_| place.sealing != Sealing::None);
        Self {
            seals: vec![secret.seal.clone()],
            sealing: place.sealing,
            context: place.context(),
            payload_bytes: place.payload_bytes,
            clues: address.map(|key| BoundSender::new(params, key, place.board_id)),
        }
    }

    /// Opens payloads that are sealed to the keys of the periods up to `last`, too.
    #[must_use]
    pub fn with_periods(mut self, secrets: &PeriodSecrets, last: u32) -> Self {
        if self.sealing != Sealing::None {
            self.seals.extend(secrets.secrets(last));
        }
        self
    }

    /// Opens a payload with the secret that fits. All secrets are tried.
    ///
    /// Errors: those of [`open`] with the permanent secret, if none fits.
    fn unsealed(&self, payload: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let mut opened = Err(SealError::Rejected);
        for secret in self.seals.iter().rev() {
            let now = open(secret, self.sealing, &self.context, payload);
            opened = opened.or(now);
        }
        opened
    }

    /// Opens payloads, in their order.
    ///
    /// Sealed payloads of bound clues are silently left out unless they open and their clue is the one that an honest
    /// sender derives from the seed in the payload. Others were posted to observe how the recipient reacts, and 674
    /// reactions reveal the clue secret. Nothing that others may see, including times and counts, should depend on
    /// whether there were any.
    ///
    /// Time:   with sealed payloads of bound clues, that of `places` messages (the largest number in the digest), each
    /// opened with every secret, until the content of honest ones is examined.
    /// Errors: for each message: `Seal`, `Fragment`.
    pub fn open(&self, found: &[Retrieved], places: usize) -> Vec<Opened> {
        let Some(clues) = &self.clues else {
            let open = |message: &Retrieved| {
                let payload = message.payload.as_ref()?;
                let piece = self
                    .unsealed(payload)
                    .map_err(LetterError::from)
                    .and_then(piece);
                Some((message.index, piece))
            };
            return found.iter().filter_map(open).collect();
        };
        let parts: Vec<_> = found
            .iter()
            .map(|message| self.honest(clues, message))
            .collect();
        self.pad(places.saturating_sub(found.len()));
        found
            .iter()
            .zip(parts)
            .filter_map(|(message, part)| Some((message.index, piece(part?))))
            .collect()
    }

    /// Takes the time of `places` further places of digests, which [`Self::open`] did not include.
    pub fn pad(&self, places: usize) {
        let Some(clues) = self.clues.as_ref().filter(|_| places > 0) else {
            return;
        };
        let decoy = self.decoy();
        for _ in 0..places {
            black_box(self.honest(clues, black_box(&decoy)));
        }
    }

    /// Returns a stand-in for a missing message, which does not open.
    fn decoy(&self) -> Retrieved {
        let mut payload = vec![0; self.payload_bytes];
        Xof::stream("omr decoy v1", &[0; 32], &[]).fill_bytes(&mut payload);
        Retrieved::new(0, Some(payload), None)
    }

    /// Returns the part in a payload, if it opens and its clue was made honestly.
    fn honest(&self, clues: &BoundSender, message: &Retrieved) -> Option<Zeroizing<Vec<u8>>> {
        let payload = message.payload.as_deref().unwrap_or_default();
        let plaintext = self.unsealed(payload).unwrap_or_default();
        let (seed, part) = plaintext.split_first_chunk().unwrap_or((&[0; 32], &[]));
        let none = Fingerprint {
            key: FingerprintKey::new(&[0; 32]),
            value: 0,
        };
        let posted = message.fingerprint.unwrap_or(none);
        let agrees = clues.agrees(&ClueSeed::from_bytes(*seed), payload, &posted);
        let honest = agrees & message.fingerprint.is_some() & (plaintext.len() >= seed.len());
        // Public to observers of the recipient's next actions: only honest letters are shown, and their contents are
        // processed in variable time.
        published(honest).then(|| {
            let mut content = Zeroizing::new(part.to_vec());
            publish(&mut content);
            content
        })
    }
}

/// Returns the content of an opened payload.
///
/// Errors: `Fragment`.
fn piece(part: Zeroizing<Vec<u8>>) -> Result<Piece, LetterError> {
    // A collection with this part only shows whether the part is a whole file.
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

    /// Returns the message as a digest of board 1 contains it.
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
    fn messages_are_read_on_their_board_only() {
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
    fn keys_of_periods_open_what_was_sealed_to_them() {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let mut rng = os_rng();
        for (kind, sealing) in [
            (ClueKind::Bound, Sealing::HpkeX25519),
            (ClueKind::Plain, Sealing::HpkeX25519),
            (ClueKind::Bound, Sealing::XWing),
        ] {
            let (secret, address) = identity(set.clue(), kind, &mut rng);
            let place = Place {
                sealing,
                payload_bytes: 1400,
                ..place(1)
            };
            let periods = PeriodSecrets::generate(5, &mut rng);
            let keys = periods.keys(&secret, sealing, 5, 2);
            let mut opens = |sealed_in: u32, last: Option<u32>| {
                let writer = Writer::new(set.clue(), &address, place.clone()).unwrap();
                let writer = writer.in_period(&keys, sealed_in).unwrap();
                let part = &writer.parts(b"hello", &mut rng).unwrap()[0];
                let message = writer.message(&mut rng, part).unwrap();
                let mut reader = Reader::new(set.clue(), &secret, &place);
                if let Some(last) = last {
                    reader = reader.with_periods(&periods, last);
                }
                let opened = reader.open(&[retrieved(set.clue(), kind, &message)], 3);
                matches!(&opened[..], [(5, Ok(Piece::Whole(whole)))] if whole.bytes == b"hello")
            };
            assert!(opens(5, Some(5)) && opens(5, Some(6)) && opens(6, Some(6)));
            assert!(!opens(5, None) && !opens(6, Some(5)) && !opens(5, Some(4)));
            // Without a key of the period, the permanent one is used.
            assert!(opens(4, None) && opens(7, None) && opens(7, Some(6)));
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
        // Signed with its key, for this payload, but with another seed than the sealed one.
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

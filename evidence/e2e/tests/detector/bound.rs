//! Clues bound to their payload, from the key's file to the digest.

use crate::world::{Board, World, tiny};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::{Keys, Recipient, keygen};
use omr_client::{BoundSender, ClueSeed, DecodeError};
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, MessageSource, Messages, Quiet};
use omr_protocol::Mismatch;
use omr_protocol::clue::{
    Binding, BoundClue, FingerprintKey, Hashed, HashesOf, KeptHashes, OFFSET_LEN,
};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan};
use omr_protocol::{Clue, ClueKind, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use std::error::Error;
use std::ops::Range;

const BOARD: [u8; 16] = [5; 16];

type SourceError = Box<dyn Error + Send + Sync>;
type Bytes = Result<Vec<u8>, SourceError>;

/// A board whose clues have the length of bound ones.
struct Bound(Board);

impl MessageSource for Bound {
    fn clue_bytes(&self) -> usize {
        BoundClue::bytes(&tiny().clue)
    }

    fn clues(&mut self, range: Range<u64>) -> Bytes {
        self.0.clues(range)
    }

    fn payloads(&mut self, range: Range<u64>) -> Bytes {
        self.0.payloads(range)
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(8)
}

fn keys() -> Keys {
    let mut keys = keygen(tiny(), ClueKind::Bound, &mut rng());
    let key = &keys.detection;
    let mut bytes = Vec::new();
    key.write(tiny(), &mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, key.file_bytes(tiny()));
    keys.detection = DetectionKey::read(tiny(), &bytes[..]).unwrap();
    keys
}

/// Returns strangers' clues for a board of 70 messages.
fn strangers() -> Bound {
    let mut board = Board::new(70, 6);
    for (i, clue) in board.clues.iter_mut().enumerate() {
        clue[0] = 2;
        clue.extend([i as u8; 96]);
    }
    Bound(board)
}

fn digest(keys: Keys, board: &mut Bound, payloads: bool) -> Vec<u64> {
    let plan = DigestPlan::new(tiny(), 0..70, 9, payloads.then_some(6)).unwrap();
    let detector = Detector::new(tiny().clone(), keys.detection);
    let seed = [3; SEED_BYTES];
    let out = detector.digest(board, &plan, BOARD, Sealing::None, seed, &Quiet);
    let digest = out.unwrap().digest;
    let found = Recipient::new(tiny().recipient(), &keys.secret)
        .decode(&digest)
        .unwrap();
    let file = digest.to_bytes(tiny()).unwrap();
    assert_eq!(Digest::from_bytes(tiny(), &file).unwrap(), digest);
    assert_eq!(digest.header.plan.has_fingerprints(), payloads);
    for message in &found {
        let payload = &board.0.payloads[message.index as usize];
        assert_eq!(message.payload.as_ref(), payloads.then_some(payload));
        let to = Binding::new(&BOARD, payload);
        let clue = Hashed::new(&tiny().clue, to, &board.0.clues[message.index as usize]);
        let expected = payloads.then(|| clue.fingerprint(&FingerprintKey::new(&seed)));
        assert_eq!(message.fingerprint.map(|found| found.value), expected);
    }
    found.into_iter().map(|message| message.index).collect()
}

#[test]
fn bound_clues_reach_their_recipient_and_what_is_changed_does_not() {
    for payloads in [true, false] {
        let keys = keys();
        let mut board = strangers();
        let (clue, params) = (keys.clue.clone(), &tiny().clue);
        let sender = BoundSender::new(params, &clue, BOARD);
        let mut post = |index: usize, payload: &[u8]| {
            let clue = sender.clue(&ClueSeed::generate(&mut rng()), payload);
            board.0.clues[index] = clue.to_bytes(params);
        };
        let own: Vec<Vec<u8>> = Board::new(70, 6).payloads;
        for index in [0, 7, 33, 69] {
            post(index, &own[index]);
        }
        post(20, &own[21]); // a clue of another payload
        let elsewhere = BoundSender::new(params, &clue, [6; 16]);
        let moved = elsewhere.clue(&ClueSeed::generate(&mut rng()), &own[40]);
        board.0.clues[40] = moved.to_bytes(params);
        board.0.clues[41][0] = 1; // a plain clue among bound ones
        // Zero, a clue aimed at nobody, and one aimed at somebody else.
        let w = [1; OFFSET_LEN];
        for (index, w) in [(50, [0; OFFSET_LEN]), (51, w)] {
            let to = Binding::new(&BOARD, &own[index]);
            let coordinates = vec![0; params.spec().coordinates];
            let zero = vec![0; params.spec().n];
            let forged = BoundClue::bind(params, zero, &coordinates, &w, to, &[9; 32]);
            board.0.clues[index] = forged.to_bytes(params);
        }
        assert_eq!(digest(keys, &mut board, payloads), [0, 7, 33, 69]);
    }
}

#[test]
fn a_board_of_other_clues_than_the_key_takes_is_refused_before_any_work() {
    let world = World::shared();
    let mut plain = Board::new(60, 6);
    plain.post(&world.clue_key, &[4]);
    let plan = DigestPlan::new(tiny(), 0..60, 5, Some(6)).unwrap();
    let bound_detector = Detector::new(tiny().clone(), keys().detection);
    let refused = |detector: &Detector, source: &mut dyn MessageSource| {
        let seed = [3; SEED_BYTES];
        let out = detector.digest(source, &plan, BOARD, Sealing::None, seed, &Quiet);
        match out.err().expect("an error") {
            DetectorError::ClueKind(Mismatch { expected, found }) => [expected, found],
            other => panic!("{other}"),
        }
    };
    let kinds = [ClueKind::Bound, ClueKind::Plain];
    assert_eq!(refused(&bound_detector, &mut plain), kinds);
    let mut kinds = kinds;
    kinds.reverse();
    assert_eq!(refused(&world.detector, &mut strangers()), kinds);
    assert_eq!(
        BoundClue::bytes(&tiny().clue),
        Clue::bytes(&tiny().clue) + 96
    );
}

#[test]
fn a_digest_without_fingerprints_is_refused_by_a_key_of_bound_clues() {
    let (keys, mut board) = (keys(), strangers());
    let plan = DigestPlan::new(tiny(), 0..70, 9, Some(6)).unwrap();
    let detector = Detector::new(tiny().clone(), keys.detection);
    let seed = [3; SEED_BYTES];
    let out = detector.digest(&mut board, &plan, BOARD, Sealing::None, seed, &Quiet);
    let mut digest = out.unwrap().digest;
    digest.header.plan = digest.header.plan.for_clues(tiny(), ClueKind::Plain);
    let error = Recipient::new(tiny().recipient(), &keys.secret).decode(&digest);
    assert!(matches!(
        error,
        Err(DecodeError::Clues(Mismatch {
            expected: ClueKind::Bound,
            found: ClueKind::Plain
        }))
    ));
}

#[test]
fn the_length_of_a_key_depends_on_its_offset() {
    let keys = keys();
    let mut bytes = Vec::new();
    keys.detection.write(tiny(), &mut bytes).unwrap();
    let of = |clues| DetectionKey::file_bytes_of(tiny(), clues);
    assert_eq!(bytes.len() as u64, of(ClueKind::Bound));
    let plain = keygen(tiny(), ClueKind::Plain, &mut rng()).detection;
    assert_eq!(plain.file_bytes(tiny()), of(ClueKind::Plain));
    // The packing key has a body for each residue of the offset.
    let ring = &tiny().opening.packing;
    let bits = 64 - ring.modulus(0).value().leading_zeros() as usize;
    let offset = OFFSET_LEN * ring.n() * bits / 8;
    assert_eq!(of(ClueKind::Bound), of(ClueKind::Plain) + offset as u64);
    assert!(DetectionKey::read(tiny(), &bytes[..bytes.len() - 1]).is_err());
}

/// A source without payloads.
struct Without(Bound);

impl MessageSource for Without {
    fn clue_bytes(&self) -> usize {
        self.0.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Bytes {
        self.0.clues(range)
    }

    fn payloads(&mut self, _: Range<u64>) -> Bytes {
        Ok(Vec::new())
    }
}

#[test]
fn a_source_without_the_payloads_is_refused() {
    let plan = DigestPlan::new(tiny(), 0..70, 9, None).unwrap();
    let detector = Detector::new(tiny().clone(), keys().detection);
    let mut source = Without(strangers());
    let seed = [3; SEED_BYTES];
    let out = detector.digest(&mut source, &plan, BOARD, Sealing::None, seed, &Quiet);
    let error = out.err().expect("an error").to_string();
    assert!(error.contains("70") && error.contains("found 0"), "{error}");
}

/// The answer of a board to a request for the hashes of its messages.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Hashes {
    None,
    Right,
    OfAnotherSet,
    OfAnotherBoard,
    OneTooFew,
}

/// A board that kept hashes at posting, and counts how often its payloads are read.
struct Hashed70 {
    board: Bound,
    hashes: Hashes,
    payloads: usize,
}

impl MessageSource for Hashed70 {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Bytes {
        self.board.clues(range)
    }

    fn payloads(&mut self, range: Range<u64>) -> Bytes {
        self.payloads += 1;
        self.board.payloads(range)
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        let board = &self.board.0;
        let hash = |index: u64| {
            let to = Binding::new(&BOARD, &board.payloads[index as usize]);
            Hashed::new(&tiny().clue, to, &board.clues[index as usize]).hash()
        };
        let of = HashesOf::new(&tiny().clue, &BOARD);
        let wrong = vec![[7; 32]; (range.end - range.start) as usize];
        Ok(match self.hashes {
            Hashes::None => None,
            Hashes::Right => Some(KeptHashes::new(of, range.map(hash).collect())),
            Hashes::OfAnotherSet => {
                let tag = [of.tag[0] ^ 1; 4];
                Some(KeptHashes::new(HashesOf { tag, ..of }, wrong))
            }
            Hashes::OfAnotherBoard => {
                let board_id = [6; 16];
                Some(KeptHashes::new(HashesOf { board_id, ..of }, wrong))
            }
            Hashes::OneTooFew => Some(KeptHashes::new(of, range.skip(1).map(hash).collect())),
        })
    }
}

#[test]
fn kept_hashes_give_the_same_digest_and_payloads_are_read_no_more_than_it_holds_them() {
    let (params, made) = (&tiny().clue, keys());
    let sender = BoundSender::new(params, &made.clue, BOARD);
    let detector = Detector::new(tiny().clone(), made.detection);
    for payloads in [true, false] {
        let plan = DigestPlan::new(tiny(), 0..70, 9, payloads.then_some(6)).unwrap();
        let digest = |hashes| {
            let mut board = strangers();
            for index in [0, 7, 33, 69] {
                let clue = sender.clue(&ClueSeed::generate(&mut rng()), &board.0.payloads[index]);
                board.0.clues[index] = clue.to_bytes(params);
            }
            board.0.clues[41][0] = 1; // one that does not parse
            let mut source = Hashed70 {
                board,
                hashes,
                payloads: 0,
            };
            let seed = [3; SEED_BYTES];
            let out = detector.digest(&mut source, &plan, BOARD, Sealing::None, seed, &Quiet);
            let digest = out.map(|out| out.digest.to_bytes(tiny()).unwrap());
            (digest, source.payloads)
        };
        let (expected, read) = digest(Hashes::None);
        let expected = expected.unwrap();
        assert_eq!(read, 1);
        for hashes in [Hashes::Right, Hashes::OfAnotherSet, Hashes::OfAnotherBoard] {
            let (found, read) = digest(hashes);
            assert!(found.unwrap() == expected, "{hashes:?}");
            let needed = payloads || hashes != Hashes::Right;
            assert_eq!(read, usize::from(needed), "{hashes:?}");
        }
        let error = digest(Hashes::OneTooFew).0.unwrap_err().to_string();
        assert!(error.contains("bytes of hashes"), "{error}");
    }
}

#[test]
fn clues_that_are_bound_to_nothing_need_no_hashes() {
    let world = World::shared();
    let digest = |hashes: Option<KeptHashes>| {
        let mut board = Board::new(60, 6);
        board.post(&world.clue_key, &[4, 9]);
        let (clues, payloads) = (board.clues.concat(), board.payloads.concat());
        let mut messages = Messages::new(0..60, clues, payloads).unwrap();
        if let Some(hashes) = hashes {
            messages = messages.with_hashes(hashes).unwrap();
        }
        let out = world.digest(&mut messages, 0..60, 5, 6).unwrap();
        out.digest.to_bytes(tiny()).unwrap()
    };
    let of = HashesOf::new(&tiny().clue, &[6; 16]);
    let garbage = KeptHashes::new(of, vec![[1; 32]; 60]);
    assert!(digest(None) == digest(Some(garbage)));
}

//! Clues bound to their payload, from the key's file to the digest.

use crate::world::{World, expected, params, tiny};
use chacha20::ChaCha20Rng;
use omr_client::identity;
use omr_client::instantomr::detection_key;
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, MessageSource, Quiet};
use omr_lab::measure::Workload;
use omr_protocol::ClueKind;
use omr_protocol::clue::{Binding, FingerprintKey, Hashed, KeptHashes};
use omr_protocol::instantomr::InstantKey;
use rand_core::SeedableRng;
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

#[test]
fn bound_clues_reach_their_recipient_and_what_is_changed_does_not() {
    for payloads in [true, false] {
        reaches_its_recipient(payloads);
    }
}

fn reaches_its_recipient(payloads: bool) {
    let set = tiny();
    let params = set.instantomr().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(12);
    let (secret, clue) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let key = detection_key(params, &secret, &mut rng).unwrap();
    let mut file = Vec::new();
    key.write(params, &mut file).unwrap();
    let of = |clues| InstantKey::file_bytes_of(params, clues);
    assert_eq!(file.len() as u64, of(ClueKind::Bound));
    let key = InstantKey::read(params, &file[..]).unwrap();
    assert_eq!(of(ClueKind::Bound), of(ClueKind::Plain) + 242);
    let world = World {
        set,
        detector: Arc::new(InstantDetector::new(params.clone(), key)),
        secret,
        clue,
    };
    let mut session = world.session(0, payloads);
    let board = world.board(70, 5).bound_to([3; 16]);
    let mut all = Changed {
        clues: Vec::new(),
        board,
    };
    all.clues = all.board.clues(0..70).unwrap();
    let bytes = MessageSource::clue_bytes(&all.board);
    let mut expected = expected(&all.board, 0..70);
    // A copy with another payload, and one made for another board.
    let own = expected[0].index as usize;
    let free = (0..70)
        .find(|i| !all.board.pertinent().contains(i))
        .unwrap() as usize;
    let copy = all.clues[own * bytes..][..bytes].to_vec();
    all.clues[free * bytes..][..bytes].copy_from_slice(&copy);
    let elsewhere = world.board(70, 5).bound_to([4; 16]);
    let moved = expected.remove(1).index;
    let clue = { elsewhere }.clues(moved..moved + 1).unwrap();
    all.clues[moved as usize * bytes..][..bytes].copy_from_slice(&clue);
    let nothing = |_: &Session| Ok::<(), DetectorError>(());
    session.advance(&mut all, 70, &Quiet, nothing).unwrap();
    assert_eq!(session.unusable_clues, 0);
    let mut found = world.decode(&world.digest(&session)).unwrap();
    for (found, expected) in found.iter_mut().zip(&mut expected) {
        let payload = expected.payload.take_if(|_| !payloads);
        let payload = payload.as_ref().or(expected.payload.as_ref()).unwrap();
        let to = Binding::new(&[3; 16], payload);
        let clue = &all.clues[found.index as usize * bytes..][..bytes];
        let key = FingerprintKey::new(&session.header().seed);
        let hashed = Hashed::new(set.clue(), to, clue).fingerprint(&key);
        let fingerprint = found.fingerprint.take().map(|found| found.value);
        assert_eq!(fingerprint, payloads.then_some(hashed));
    }
    assert_eq!(found, expected);
}

#[test]
fn kept_hashes_give_the_same_digest_without_payloads_where_it_holds_none() {
    for payloads in [true, false] {
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        let (secret, clue) = identity(tiny().clue(), ClueKind::Bound, &mut rng);
        let key = detection_key(params(), &secret, &mut rng).unwrap();
        let world = World {
            set: tiny(),
            detector: Arc::new(InstantDetector::new(params().clone(), key)),
            secret,
            clue,
        };
        let digest = |kept: bool| {
            let mut source = Counted {
                board: world.board(70, 5).bound_to([3; 16]),
                kept,
                payloads: 0,
            };
            let mut session = world.session(0, payloads);
            let nothing = |_: &Session| Ok::<(), DetectorError>(());
            session.advance(&mut source, 70, &Quiet, nothing).unwrap();
            let digest = world.digest(&session).to_bytes(params()).unwrap();
            (digest, source.payloads)
        };
        let (expected, read) = digest(false);
        assert_eq!(read, 2);
        let (found, read) = digest(true);
        assert!(found == expected);
        assert_eq!(read, if payloads { 2 } else { 0 });
    }
}

/// A board that kept hashes at posting, or none, and counts how often its payloads are read.
struct Counted {
    board: Workload,
    kept: bool,
    payloads: usize,
}

impl MessageSource for Counted {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        self.board.clues(range)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        self.payloads += 1;
        self.board.payloads(range)
    }

    fn hashes(
        &mut self,
        range: Range<u64>,
    ) -> Result<Option<KeptHashes>, Box<dyn Error + Send + Sync>> {
        if self.kept {
            self.board.hashes(range)
        } else {
            Ok(None)
        }
    }
}

/// A board with changed clues.
struct Changed {
    clues: Vec<u8>,
    board: Workload,
}

impl MessageSource for Changed {
    fn clue_bytes(&self) -> usize {
        self.board.clue_bytes()
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let bytes = self.clue_bytes();
        Ok(self.clues[range.start as usize * bytes..range.end as usize * bytes].to_vec())
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        self.board.payloads(range)
    }
}

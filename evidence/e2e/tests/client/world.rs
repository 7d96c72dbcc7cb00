//! A recipient with a detector, and boards in memory, with insecure tiny parameters.

use chacha20::ChaCha20Rng;
use omr_client::sophomr::{Recipient, keygen};
use omr_client::{SecretKey, Sender};
use omr_detector::sophomr::Detector;
use omr_detector::{MessageSource, Quiet};
use omr_protocol::sophomr::{Digest, DigestPlan, Params};
use omr_protocol::{Clue, ClueKey, ClueKind, SEED_BYTES, Sealing};
use rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

pub(crate) fn tiny() -> &'static Arc<Params> {
    static TINY: LazyLock<Arc<Params>> =
        LazyLock::new(|| Params::named("insecure-tiny-v4").unwrap());
    &TINY
}

pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// The seed of every digest's placements.
pub(crate) const PLACEMENT: [u8; SEED_BYTES] = [5; SEED_BYTES];

/// A board in memory.
pub(crate) struct Board {
    clues: Vec<Vec<u8>>,
    payloads: Vec<Vec<u8>>,
}

impl MessageSource for Board {
    fn clue_bytes(&self) -> usize {
        Clue::bytes(&tiny().clue)
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(self.clues[range.start as usize..range.end as usize].concat())
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(self.payloads[range.start as usize..range.end as usize].concat())
    }
}

impl Board {
    /// Returns `messages` messages with random payloads; those at `pertinent` are for the owner of `key`.
    pub(crate) fn new(
        key: &ClueKey,
        messages: usize,
        pertinent: &[u64],
        payload_bytes: usize,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let sender = Sender::new(&tiny().clue, key);
        let mut board = Self {
            clues: Vec::new(),
            payloads: Vec::new(),
        };
        for index in 0..messages as u64 {
            let clue = if pertinent.contains(&index) {
                sender.gen_clue(rng)
            } else {
                stranger(tiny(), rng)
            };
            board.clues.push(clue.to_bytes(&tiny().clue));
            let mut payload = vec![0; payload_bytes];
            rng.fill_bytes(&mut payload);
            board.payloads.push(payload);
        }
        board
    }

    pub(crate) fn payload(&self, index: u64) -> &[u8] {
        &self.payloads[index as usize]
    }
}

/// Returns a uniform clue, which is for no recipient here.
pub(crate) fn stranger(params: &Params, rng: &mut ChaCha20Rng) -> Clue {
    let spec = &params.spec().clue;
    let q = spec.posted_modulus();
    let mut row = |count: usize| (0..count).map(|_| (rng.next_u64() % q) as u32).collect();
    Clue {
        a: row(spec.n),
        b: row(spec.coordinates),
    }
}

/// A recipient with a detector.
pub(crate) struct World {
    pub(crate) secret: SecretKey,
    pub(crate) clue_key: ClueKey,
    detector: Detector,
}

impl World {
    pub(crate) fn new(seed: u8) -> Self {
        let keys = keygen(tiny(), ClueKind::Plain, &mut rng(seed));
        let detector = Detector::new(tiny().clone(), keys.detection);
        Self {
            secret: keys.secret,
            clue_key: keys.clue,
            detector,
        }
    }

    /// Returns the recipient that most tests share.
    pub(crate) fn shared() -> &'static Self {
        static WORLD: LazyLock<World> = LazyLock::new(|| World::new(1));
        &WORLD
    }

    pub(crate) fn recipient(&self) -> Recipient {
        Recipient::new(tiny().recipient(), &self.secret)
    }

    pub(crate) fn board(&self, messages: usize, pertinent: &[u64], payload_bytes: usize) -> Board {
        Board::new(
            &self.clue_key,
            messages,
            pertinent,
            payload_bytes,
            &mut rng(7),
        )
    }

    /// Returns the digest of a whole board.
    pub(crate) fn digest(&self, board: &mut Board, bound: usize, payload: bool) -> Digest {
        let payload = payload.then(|| board.payloads[0].len());
        let range = 0..board.clues.len() as u64;
        let plan = DigestPlan::new(tiny(), range, bound, payload).unwrap();
        let out = self
            .detector
            .digest(board, &plan, [3; 16], Sealing::None, PLACEMENT, &Quiet)
            .unwrap();
        assert_eq!(out.unusable_clues, 0);
        out.digest
    }
}

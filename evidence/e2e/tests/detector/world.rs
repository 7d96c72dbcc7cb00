//! Boards in memory and a recipient with a detector, with insecure tiny parameters.

use chacha20::ChaCha20Rng;
use omr_client::sophomr::{Keys, Recipient, keygen};
use omr_client::{Retrieved, SecretKey, Sender};
use omr_detector::sophomr::{Detector, Output};
use omr_detector::{DetectorError, MessageSource, Quiet};
use omr_protocol::sophomr::{DetectionKey, DigestPlan, Params};
use omr_protocol::{Clue, ClueKey, ClueKind, SEED_BYTES, Sealing};
use rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// The number of messages in a batch.
pub(crate) const SLOTS: u64 = 2048;

pub(crate) fn tiny() -> &'static Arc<Params> {
    static TINY: LazyLock<Arc<Params>> =
        LazyLock::new(|| Params::named("insecure-tiny-v4").unwrap());
    &TINY
}

/// A board in memory, message by message.
#[derive(Clone)]
pub(crate) struct Board {
    pub(crate) params: &'static Params,
    pub(crate) clues: Vec<Vec<u8>>,
    pub(crate) payloads: Vec<Vec<u8>>,
}

impl Board {
    /// Returns a board with random payloads and clues for nobody.
    pub(crate) fn new(messages: u64, payload_bytes: usize) -> Self {
        Self::of(tiny(), messages, payload_bytes)
    }

    /// Returns a board with random payloads and clues for nobody, of another set.
    pub(crate) fn of(params: &'static Params, messages: u64, payload_bytes: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(messages);
        let payload = |rng: &mut ChaCha20Rng| {
            let mut payload = vec![0; payload_bytes];
            rng.fill_bytes(&mut payload);
            payload
        };
        Self {
            params,
            clues: (0..messages)
                .map(|_| stranger(params, &mut rng).to_bytes(&params.clue))
                .collect(),
            payloads: (0..messages).map(|_| payload(&mut rng)).collect(),
        }
    }

    /// Makes some messages pertinent.
    pub(crate) fn post(&mut self, key: &ClueKey, indices: &[u64]) {
        let mut rng = ChaCha20Rng::seed_from_u64(99);
        let sender = Sender::new(&self.params.clue, key);
        for &index in indices {
            self.clues[index as usize] = sender.gen_clue(&mut rng).to_bytes(&self.params.clue);
        }
    }

    /// Returns the messages that the recipient should receive.
    pub(crate) fn retrieved(&self, indices: &[u64]) -> Vec<Retrieved> {
        let message =
            |&index: &u64| Retrieved::new(index, Some(self.payloads[index as usize].clone()), None);
        indices.iter().map(message).collect()
    }

    pub(crate) fn range(&self) -> Range<u64> {
        0..self.clues.len() as u64
    }
}

/// Returns a uniform clue.
fn stranger(params: &Params, rng: &mut ChaCha20Rng) -> Clue {
    let spec = &params.spec().clue;
    let q = spec.posted_modulus();
    let mut row = |count: usize| (0..count).map(|_| (rng.next_u64() % q) as u32).collect();
    Clue {
        a: row(spec.n),
        b: row(spec.coordinates),
    }
}

impl MessageSource for Board {
    fn clue_bytes(&self) -> usize {
        Clue::bytes(&self.params.clue)
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(self.clues[range.start as usize..range.end as usize].concat())
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(self.payloads[range.start as usize..range.end as usize].concat())
    }
}

/// A recipient with a detector.
pub(crate) struct World {
    pub(crate) secret: SecretKey,
    pub(crate) clue_key: ClueKey,
    pub(crate) detection: Vec<u8>,
    pub(crate) detector: Detector,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(tiny(), seed)
    }

    pub(crate) fn of(params: &Arc<Params>, seed: u64) -> Self {
        let Keys {
            secret,
            clue: clue_key,
            detection,
        } = keygen(
            params,
            ClueKind::Plain,
            &mut ChaCha20Rng::seed_from_u64(seed),
        );
        let mut bytes = Vec::new();
        detection.write(params, &mut bytes).unwrap();
        let key = DetectionKey::read(params, &bytes[..]).unwrap();
        let detector = Detector::new(params.clone(), key);
        Self {
            secret,
            clue_key,
            detection: bytes,
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

    /// Digests `range` of a board with payloads.
    pub(crate) fn digest(
        &self,
        source: &mut dyn MessageSource,
        range: Range<u64>,
        bound: usize,
        payload_bytes: usize,
    ) -> Result<Output, DetectorError> {
        let plan = DigestPlan::new(tiny(), range, bound, Some(payload_bytes)).unwrap();
        self.detector.digest(
            source,
            &plan,
            [6; 16],
            Sealing::HpkeX25519,
            [7; SEED_BYTES],
            &Quiet,
        )
    }

    /// Posts `indices`, digests the whole board and expects exactly these messages.
    #[track_caller]
    pub(crate) fn finds_exactly(&self, mut board: Board, indices: &[u64]) {
        board.post(&self.clue_key, indices);
        let expected = board.retrieved(indices);
        let (range, bytes) = (board.range(), board.payloads[0].len());
        let out = self
            .digest(&mut board, range, indices.len() + 2, bytes)
            .unwrap();
        assert_eq!(self.recipient().decode(&out.digest).unwrap(), expected);
    }
}

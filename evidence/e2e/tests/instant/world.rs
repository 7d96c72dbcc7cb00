//! A board in memory and a recipient with detectors.

use chacha20::ChaCha20Rng;
use omr_client::instantomr::{InstantRecipient, detection_key};
use omr_client::{DecodeError, Retrieved, SecretKey, identity};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, Quiet};
use omr_lab::measure::Workload;
use omr_protocol::instantomr::{InstantDigest, InstantParams, InstantPlan};
use omr_protocol::{ClueKey, ClueKind, DigestHeader, ParamSet, Request, Sealing};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

pub(crate) const PAYLOAD_BYTES: usize = 20;
pub(crate) const BOUND: usize = 12;

pub(crate) fn tiny() -> &'static ParamSet {
    static TINY: LazyLock<ParamSet> =
        LazyLock::new(|| ParamSet::named("insecure-tiny-hybrid-v4").unwrap());
    &TINY
}

pub(crate) fn params() -> &'static Arc<InstantParams> {
    tiny().instantomr().unwrap()
}

pub(crate) struct World {
    pub(crate) set: &'static ParamSet,
    pub(crate) secret: SecretKey,
    pub(crate) clue: ClueKey,
    pub(crate) detector: Arc<InstantDetector>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(tiny(), seed)
    }

    pub(crate) fn of(set: &'static ParamSet, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (secret, clue) = identity(set.clue(), ClueKind::Plain, &mut rng);
        let params = set.instantomr().unwrap();
        let key = detection_key(params, &secret, &mut rng).unwrap();
        Self {
            set,
            detector: Arc::new(InstantDetector::new(params.clone(), key)),
            secret,
            clue,
        }
    }

    pub(crate) fn params(&self) -> &'static Arc<InstantParams> {
        self.set.instantomr().unwrap()
    }

    /// Returns a board with messages for the recipient.
    pub(crate) fn board(&self, messages: u64, pertinent: usize) -> Workload {
        let clue = omr_protocol::ClueParams::named(self.set.name()).unwrap();
        let key = self.clue.clone();
        Workload::new(clue, key, messages, pertinent, PAYLOAD_BYTES, 5)
    }

    pub(crate) fn header(
        &self,
        start: u64,
        bound: usize,
        payloads: bool,
    ) -> DigestHeader<InstantPlan> {
        let request = Request::new(start..start, bound, payloads.then_some(PAYLOAD_BYTES));
        DigestHeader {
            key_id: self.detector.key_id(),
            board_id: [3; 16],
            sealing: Sealing::None,
            plan: InstantPlan::new(self.params(), request).unwrap(),
            seed: [8; 32],
        }
    }

    pub(crate) fn session(&self, start: u64, payloads: bool) -> Session {
        let header = self.header(start, BOUND, payloads);
        Session::new(self.detector.clone(), header)
    }

    /// Returns a session of payloads with its own bound.
    pub(crate) fn session_with(&self, bound: usize) -> Session {
        let header = self.header(0, bound, true);
        Session::new(self.detector.clone(), header)
    }

    /// Writes a digest's file and reads it.
    pub(crate) fn digest(&self, session: &Session) -> InstantDigest {
        let digest = session.digest();
        let bytes = digest.to_bytes(self.params()).unwrap();
        let announced = InstantDigest::file_bytes(&digest.header.plan, self.params());
        assert_eq!(bytes.len() as u64, announced);
        let read = InstantDigest::from_bytes(self.params(), &bytes).unwrap();
        assert_eq!(read, digest);
        read
    }

    pub(crate) fn decode(&self, digest: &InstantDigest) -> Result<Vec<Retrieved>, DecodeError> {
        InstantRecipient::new(self.params(), &self.secret).decode(digest)
    }
}

/// Processes messages up to `end`.
pub(crate) fn advance(session: &mut Session, board: &mut Workload, end: u64) {
    let nothing = |_: &Session| Ok::<(), DetectorError>(());
    session.advance(board, end, &Quiet, nothing).unwrap();
}

/// Returns the recipient's messages of a range.
pub(crate) fn expected(board: &Workload, range: std::ops::Range<u64>) -> Vec<Retrieved> {
    let mine = board.pertinent().iter().filter(|i| range.contains(i));
    mine.map(|&index| Retrieved::new(index, Some(board.payload(index)), None))
        .collect()
}

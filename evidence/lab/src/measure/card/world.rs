//! Recipients of a board in memory.

use super::CardBench;
use crate::measure::digest::{BenchError, DigestBench, timed};
use chacha20::ChaCha20Rng;
use omr_detector::sophomr::{Detector, Output, digests};
use omr_detector::{MessageSource, Messages, Progress};
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{ClueKey, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use std::sync::Arc;

/// Recipients of a board in memory.
pub(super) struct World {
    plan: DigestPlan,
    /// The files of the detection keys.
    keys: Vec<Vec<u8>>,
    board: Messages,
}

impl World {
    pub(super) fn new(bench: &CardBench, params: &Arc<Params>) -> Result<Self, BenchError> {
        let (setting, digest) = (&bench.setting, DigestBench::new(bench.setting.clone()));
        let mut rng = ChaCha20Rng::seed_from_u64(setting.start.seed);
        let (mut keys, mut addresses) = (Vec::new(), Vec::<ClueKey>::new());
        for _ in 0..bench.keys() {
            let made = digest.keys(params, &mut rng);
            let mut file = Vec::new();
            made.detection.write(params, &mut file)?;
            keys.push(file);
            addresses.push(made.clue);
        }
        let digest = DigestBench {
            pertinent: (setting.messages as usize / addresses.len()).min(50),
            ..digest
        };
        let mut board = digest.board(&params.clue, addresses);
        let all = 0..setting.messages;
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| std::io::Error::other(error);
        let clues = board.clues(all.clone()).map_err(failed)?;
        let payloads = board.payloads(all.clone()).map_err(failed)?;
        Ok(Self {
            plan: DigestPlan::new(params, all.clone(), setting.shape.bound, setting.payload())?,
            keys,
            board: Messages::new(all, clues, payloads)?,
        })
    }

    /// Returns the file of a detection key.
    pub(super) fn key(&self, recipient: usize) -> &[u8] {
        &self.keys[recipient]
    }

    /// Returns the digests of these recipients, and the seconds of all.
    pub(super) fn digests(
        &mut self,
        of: &[&Detector],
        progress: &dyn Progress,
    ) -> Result<(Vec<Output>, f64), BenchError> {
        let (board, seed) = (&mut self.board, [7; SEED_BYTES]);
        let (plan, sealing) = (&self.plan, Sealing::None);
        let (made, seconds) = timed(|| digests(of, board, plan, [0; 16], sealing, seed, progress));
        Ok((made?, seconds))
    }
}

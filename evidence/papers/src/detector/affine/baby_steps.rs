//! The encrypted secrets rotated by 0, 1, 2, ... slots.

use super::{PAD, piece};
use crate::clear::{DetectionKey, Params};
use crate::detector::check_stopped;
use omr_bgv::{Ciphertext, Evaluator};
use omr_detector::{DetectorError, Progress};
use omr_ring::{BUFFER_WORDS, Buffer, Kernels};
use rayon::prelude::*;

/// The encrypted secrets rotated by 0, 1, 2, ... slots. They belong to the recipient and serve every batch.
pub struct BabySteps {
    /// The rows of each limb, divided among buffers: piece by piece, step by step, body and mask of each
    /// secret.
    limbs: Vec<Vec<Buffer>>,
    pub(super) piece: usize,
    steps: usize,
    /// The number of rows of a step.
    pub(super) parts: usize,
}

impl BabySteps {
    /// Returns the number of buffers of a limb, and the words of each. If there are several, each has at least
    /// [`BUFFER_WORDS`] words, so that later stages can reuse them.
    fn shares(params: &Params) -> (usize, usize) {
        let (n, piece, circuit) = (params.ring.n(), piece(params), params.circuit());
        let rows = 2 * circuit.secrets * circuit.baby_steps(params.spec());
        let words = n / piece * rows * (piece + PAD);
        let most_shares = (words / BUFFER_WORDS).clamp(1, n / piece);
        let shares = 1 << most_shares.ilog2();
        (shares, words / shares)
    }

    /// Returns the lengths, in words, of the buffers of all steps.
    pub(crate) fn buffers(params: &Params) -> Vec<usize> {
        let (shares, words) = Self::shares(params);
        vec![words; shares * params.chain.basis(0).len()]
    }

    /// Rotates the secrets by one slot after another, with one key.
    ///
    /// Errors: the evaluator's; `Stopped`.
    pub fn new(
        ev: &Evaluator,
        params: &Params,
        key: &DetectionKey,
        progress: &dyn Progress,
    ) -> Result<Self, DetectorError> {
        let steps = params.circuit().baby_steps(params.spec());
        progress.stage("baby steps", steps as u64);
        let (shares, words) = Self::shares(params);
        let limbs = params.chain.basis(0).len();
        let mut baby = Self {
            limbs: (0..limbs)
                .map(|_| (0..shares).map(|_| Buffer::any(words)).collect())
                .collect(),
            piece: piece(params),
            steps,
            parts: 2 * key.secrets.len(),
        };
        let mut step: Vec<Ciphertext> = key.secrets.clone();
        for i in 0..steps {
            // Both tasks only read the step; together they leave no thread idle.
            let next = || {
                if i + 1 == steps {
                    return Ok(None);
                }
                let secrets: Vec<&Ciphertext> = step.iter().collect();
                ev.automorphism_all(&secrets, &key.step).map(Some)
            };
            let store = || baby.store(params.ring.kernels(), i, &step);
            let ((), next) = rayon::join(store, next);
            progress.advance(1);
            check_stopped(progress)?;
            if let Some(next) = next? {
                step = next;
            }
        }
        Ok(baby)
    }

    fn store(&mut self, kernels: &Kernels, step: usize, secrets: &[Ciphertext]) {
        let (piece, stride) = (self.piece, self.piece + PAD);
        let first = self.parts * step;
        let tile = self.parts * self.steps * stride;
        self.limbs
            .par_iter_mut()
            .enumerate()
            .for_each(|(limb, shares)| {
                let count = shares.len();
                let parts = secrets.iter().flat_map(|secret| secret.parts());
                for (i, part) in parts.enumerate() {
                    let row = part.row(limb);
                    for (words, residues) in shares.iter_mut().zip(row.chunks(row.len() / count)) {
                        let words = &mut words[(first + i) * stride..];
                        kernels.spread(words, tile, residues, piece);
                    }
                }
            });
    }

    /// Returns the rows of one piece of a limb.
    pub(super) fn tile(&self, limb: usize, index: usize) -> &[u64] {
        let tile = self.parts * self.steps * (self.piece + PAD);
        let shares = &self.limbs[limb];
        let in_share = shares[0].len() / tile;
        &shares[index / in_share][index % in_share * tile..][..tile]
    }
}

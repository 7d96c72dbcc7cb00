use super::{PAD, SHARES, lengths, piece};
use crate::progress::go_on;
use crate::{DetectorError, Progress};
use omr_bgv::Evaluator;
use omr_protocol::{DetectionKey, Params, ParamsSpec};
use omr_ring::{Buffer, Eval, Kernels, Poly};
use rayon::prelude::*;

/// The encrypted secret turned by 0, 1, ..., `baby` slots. Belongs to the recipient; serves every
/// batch.
pub struct BabySteps {
    /// For each limb, in [`SHARES`]: piece by piece, step by step, body and mask.
    limbs: Vec<Vec<Buffer>>,
    pub(super) piece: usize,
    steps: usize,
}

impl BabySteps {
    /// Turns the secret, one step after another with one key.
    pub fn new(
        ev: &Evaluator,
        params: &Params,
        key: &DetectionKey,
        progress: &dyn Progress,
    ) -> Result<Self, DetectorError> {
        let steps = params.spec().baby + ParamsSpec::COORDINATES - 1;
        progress.stage("baby steps", steps as u64);
        let [words, _] = lengths(params);
        let limbs = params.chain.basis(0).len();
        let mut baby = Self {
            limbs: (0..limbs)
                .map(|_| (0..SHARES).map(|_| Buffer::any(words)).collect())
                .collect(),
            piece: piece(params),
            steps,
        };
        let mut step = key.secret.clone();
        for i in 0..steps {
            // Both read the step: together, they leave no thread idle between tasks.
            let next = || match i + 1 < steps {
                true => ev.automorphism(&step, &key.step).map(Some),
                false => Ok(None),
            };
            let store = || baby.store(params.ring.kernels(), i, step.parts());
            let ((), next) = rayon::join(store, next);
            progress.advance(1);
            go_on(progress)?;
            if let Some(next) = next? {
                step = next;
            }
        }
        Ok(baby)
    }

    fn store(&mut self, kernels: &Kernels, step: usize, parts: &[Poly<Eval>]) {
        let (piece, stride) = (self.piece, self.piece + PAD);
        let tile = 2 * self.steps * stride;
        self.limbs
            .par_iter_mut()
            .enumerate()
            .for_each(|(limb, shares)| {
                for (i, part) in parts.iter().enumerate() {
                    let row = part.row(limb);
                    for (words, residues) in shares.iter_mut().zip(row.chunks(row.len() / SHARES)) {
                        let words = &mut words[(2 * step + i) * stride..];
                        kernels.spread(words, tile, residues, piece);
                    }
                }
            });
    }

    /// The rows of one piece of a limb.
    pub(super) fn tile(&self, limb: usize, index: usize) -> &[u64] {
        let tile = 2 * self.steps * (self.piece + PAD);
        let shares = &self.limbs[limb];
        let in_share = shares[0].len() / tile;
        &shares[index / in_share][index % in_share * tile..][..tile]
    }
}

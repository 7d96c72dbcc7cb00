//! A sender of plain clues to one recipient.

use omr_marks::publish;
use omr_protocol::{Clue, ClueKey, ClueParams};
use omr_ring::{Eval, NarrowGaussian, Poly};
use omr_rlwe::Secret;
use rand_core::CryptoRng;
use std::sync::Arc;
use zeroize::Zeroize;

/// A sender to one recipient, whose address is prepared for many clues.
pub struct Sender {
    params: Arc<ClueParams>,
    alpha: Poly<Eval>,
    /// The betas, one for each clue secret.
    betas: Vec<Poly<Eval>>,
    /// The distribution of errors; `None` if posting without the lowest bits is the error.
    errors: Option<NarrowGaussian>,
}

impl Sender {
    /// Prepares an address.
    pub fn new(params: &Arc<ClueParams>, key: &ClueKey) -> Self {
        let ring = &params.ring;
        let basis = ring.everything();
        let transform = |rows: Vec<u64>| ring.forward(Poly::from_rows(ring.n(), &basis, rows));
        let beta = |beta: &[u32]| transform(beta.iter().map(|&x| u64::from(x)).collect());
        Self {
            params: params.clone(),
            alpha: transform(key.alpha(params)),
            betas: key.beta.chunks(ring.n()).map(beta).collect(),
            errors: params
                .spec()
                .draws_errors()
                .then(|| NarrowGaussian::new(params.spec().sigma)),
        }
    }

    /// Makes a fresh clue as the set posts it: `a = alpha x + e1`, and for every clue secret in turn the first
    /// coordinates of `beta x + e2`. If boards would refuse a clue for its norm, it is discarded and another is drawn.
    pub fn gen_clue(&self, rng: &mut impl CryptoRng) -> Clue {
        loop {
            let mut clue = self.candidate(rng);
            // Public: everybody sees this clue, or it is discarded.
            publish(&mut clue.a);
            publish(&mut clue.b);
            if clue.check_norm(&self.params).is_ok() {
                return clue;
            }
        }
    }

    /// Makes a clue without checking its norm. Boards refuse one in 2^16.
    ///
    /// Time: constant.
    pub fn candidate(&self, rng: &mut impl CryptoRng) -> Clue {
        let [a, b] = self.sample(rng);
        let spec = self.params.spec();
        let post = |residues: Vec<u64>| residues.into_iter().map(|x| spec.posted(x)).collect();
        Clue {
            a: post(a),
            b: post(b),
        }
    }

    /// Returns `alpha x + e1` and the first coordinates of each `beta x + e2`, as residues modulo q.
    pub(crate) fn sample(&self, rng: &mut impl CryptoRng) -> [Vec<u64>; 2] {
        let (ring, spec) = (&self.params.ring, self.params.spec());
        let randomness = Secret::fixed_weight(rng, spec.n, spec.weight, f64::INFINITY);
        let x = randomness.poly(ring, &ring.everything());
        let mut sample = |key: &Poly<Eval>, count: usize| -> Vec<u64> {
            let mut transformed = key.clone();
            ring.mul_assign(&mut transformed, &x);
            let mut product = ring.inverse(transformed);
            let q = self.params.q();
            let mut sums = product.row(0)[..count].to_vec();
            product.zeroize();
            if let Some(gaussian) = &self.errors {
                let mut errors = gaussian.sample(rng, count);
                let add = |(sum, &error): (&mut u64, &i64)| *sum = q.add(*sum, q.from_i64(error));
                sums.iter_mut().zip(&errors).for_each(add);
                errors.zeroize();
            }
            sums
        };
        let a = sample(&self.alpha, spec.n);
        let secrets = spec.secrets();
        let b = self
            .betas
            .iter()
            .zip(&secrets)
            .flat_map(|(beta, own)| sample(beta, own.coordinates.len()))
            .collect();
        [a, b]
    }
}

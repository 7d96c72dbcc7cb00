//! Sums of encrypted symbols.
//!
//! Let `m_j` be the small ciphertexts of the product of a vector and an encrypted symbol. No plaintext comes between
//! the constants and the sum over all automorphisms and classes, which is (notation of `codes.rs`)
//!
//! `Y = sum_(g,u) V(g, u) = sum_g sigma_g(sum_j D_(g,j) m_j)`, `D_(g,j) = sum_u sigma_g^-1(c_(g,u)) w_u^j`.
//!
//! So a symbol takes `width * n / n'` products with plaintexts that all symbols share, and as many key switches as
//! automorphisms: with `g = +-5^i`, by Horner's rule, `width - 2` turns and one swap, for all batches together.

use crate::codes::{ClassWeights, Exponent, Scratch, image};
use crate::keys::turn;
use crate::{CodeTables, Keys, Round, Setting};
use omr_ring::parallel::{self, *};
use omr_ring::{Eval, Poly, Ring};
use omr_rlwe::Rlwe;
use std::ops::Range;

/// The constants `D_(g,j)` of one batch and round, encoded: `width * n / n'` small polynomials.
pub struct Functionals {
    /// By g, `(sign, i)` at `sign * width/2 + i`, then by j.
    constants: Vec<Vec<Poly<Eval>>>,
}

impl CodeTables {
    /// The constants of a batch and round for [`encrypted_sum`].
    ///
    /// Panics: when the batch has no nodes.
    pub fn functionals(&self, setting: Setting, round: &Round) -> Functionals {
        let half = round.shape().width() / 2;
        let weights = self.weights(setting, round);
        let theta = round.theta(setting);
        let of_g = |scratch: &mut Scratch, g: usize| {
            let (sign, i) = (g / half, g % half);
            let mut turned = vec![0; theta.len()];
            let inverse = Exponent {
                sign,
                i: (theta.len() / 2 - i) % (theta.len() / 2),
            };
            image(setting, &theta, inverse, &mut turned);
            self.constants(setting, &weights, &turned, scratch)
        };
        let constants = (0..2 * half)
            .into_par_iter()
            .map_init(|| Scratch::new(setting), of_g);
        Functionals {
            constants: constants.collect(),
        }
    }

    /// `D_(g,j)` for all j; `theta`: `sigma_g^-1` of it over the small evaluation domain.
    fn constants(
        &self,
        setting: Setting,
        weights: &[ClassWeights],
        theta: &[u64],
        scratch: &mut Scratch,
    ) -> Vec<Poly<Eval>> {
        let (n, p) = (setting.small().n(), setting.p());
        let kernels = setting.small().kernels();
        let mut values = vec![vec![0; n]; weights.len()];
        let mut step = vec![0; n];
        for (u, weights) in weights.iter().enumerate() {
            scratch.sums(self, weights, theta, Exponent::ONE);
            image(setting, self.classes().roots(u), Exponent::ONE, &mut step);
            for values in &mut values {
                kernels.add_assign(p, values, &scratch.value);
                kernels.mul_assign(p, &mut scratch.value, &step);
            }
        }
        let basis = setting.packing.small_basis();
        let mut coeffs = vec![0; n];
        let encoded = |mut values: Vec<u64>| {
            setting
                .small_plain
                .interpolate_into(&mut values, &mut coeffs);
            let p = p.value() as u32;
            setting.small().lift_plain(&coeffs, p, &basis)
        };
        values.into_iter().map(encoded).collect()
    }
}

/// The sums of one encrypted symbol: `x^(e_t) * L * v`, added up over all entries of all batches, in the
/// coefficients `0, stride, 2 stride, ...` (the others hold nothing of use), ready for [`pack`](crate::pack).
///
/// Shape: for each batch its constants, all of one round, and the small ciphertexts of the product of symbol and vector,
/// [`Setting::classes`] of them.
/// Panics: without a batch, or when there are fewer or more of them.
pub fn encrypted_sum(setting: Setting, keys: Keys, batches: &[(&Functionals, &[Rlwe])]) -> Rlwe {
    let (ring, p) = (setting.small(), setting.p());
    let whole = |&(_, small): &(_, &[Rlwe])| small.len() == setting.classes();
    assert!(batches.iter().all(whole), "one ciphertext a class");
    let half = batches[0].0.constants.len() / 2;
    let horner = |all: Range<usize>| {
        let products: Vec<Rlwe> = all
            .into_par_iter()
            .map(|g| product(ring, batches, g))
            .collect();
        let next = |sum: Rlwe, product: Rlwe| add(ring, turn(ring, &sum, keys.turn, p), &product);
        let sum = products.into_iter().rev().reduce(next);
        sum.expect("half of a width")
    };
    let (plus, minus) = parallel::join(|| horner(0..half), || horner(half..2 * half));
    add(ring, plus, &turn(ring, &minus, keys.swap, p))
}

/// `sum_j D_(g,j) m_j` over all batches.
fn product(ring: &Ring, batches: &[(&Functionals, &[Rlwe])], g: usize) -> Rlwe {
    let part = |pick: fn(&Rlwe) -> &Poly<Eval>| {
        let terms: Vec<_> = batches
            .iter()
            .flat_map(|(functionals, small)| functionals.constants[g].iter().zip(*small))
            .map(|(constant, ct)| (constant, pick(ct)))
            .collect();
        ring.sum_of_products(&terms)
    };
    Rlwe::new(part(|ct| &ct.c0), part(|ct| &ct.c1))
}

fn add(ring: &Ring, mut sum: Rlwe, other: &Rlwe) -> Rlwe {
    ring.add_assign(&mut sum.c0, &other.c0);
    ring.add_assign(&mut sum.c1, &other.c1);
    sum
}

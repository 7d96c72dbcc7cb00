//! The compression constants: which sums each coefficient of a product picks up.
//!
//! Let `m_j` be the small ciphertexts of one batch: the pertinency of the slot over small root
//! `phi` in class u is `PV_u(phi) = sum_j w_u^j m_j(phi)`, `w_u` the large root. For the `width`
//! automorphisms `g = +-5^i` let
//!
//! `V(g, u) = sum_j [c_(g,u) * sigma_g(w_u^j)] * sigma_g(m_j)`,
//! `c_(g,u)(theta) = n'/width * sum_t (theta^stride)^t x^(e_t)`, x the node of `(theta^g, u)`.
//!
//! Then `Y = sum_(g,u) sigma_g(L_u) * V(g, u)`, for plaintexts `L_u` of one symbol by class, has as
//! coefficient of `X^(stride t)` the sum of `x^(e_t) * L * PV` over all slots: over the g, the
//! `theta^stride` run through all primitive 2 width-th roots, and the inverse transform that reads
//! a coefficient cancels against the sum over t.

use omr_protocol::DetectionKey;
use omr_protocol::{DigestPlan, Params, SlotClasses};
use omr_ring::{Modulus, Ring};
use omr_rlwe::Rlwe;
use rayon::prelude::*;

/// The multiplied pertinency ciphertexts `V(g, u)` of one batch and round, in slot order.
///
/// Row order: part (body, mask), limb, then term; term `(sign, i, u)` at
/// `(sign * width/2 + i) * classes + u`.
pub(crate) struct Codes {
    pub(crate) terms: usize,
    rows: Vec<Vec<u64>>,
}

impl Codes {
    /// The row of one term.
    pub(crate) fn row(&self, part: usize, limb: usize, limbs: usize, term: usize) -> &[u64] {
        &self.rows[(part * limbs + limb) * self.terms + term]
    }
}

/// What all batches and rounds share.
pub(crate) struct CodeTables {
    classes: SlotClasses,
    inverse: Vec<u32>,
    exponent: Vec<u32>,
}

/// One batch and round.
pub(crate) struct Round<'a> {
    pub(crate) plan: &'a DigestPlan,
    pub(crate) batch: usize,
    pub(crate) first_exponent: usize,
    /// Multiplies every sum: undoes the scales gathered before and after.
    pub(crate) unscale: u64,
}

impl CodeTables {
    pub(crate) fn new(params: &Params) -> Self {
        let p = params.p().value();
        let mut inverse = vec![0u32; p as usize];
        inverse[1] = 1;
        for i in 2..p {
            let rest = u64::from(inverse[(p % i) as usize]);
            inverse[i as usize] = ((p - p / i) * rest % p) as u32;
        }
        let order = params.small_plain.order();
        let exponent = (0..params.small.n())
            .map(|s| order.exponent(s) as u32)
            .collect();
        Self {
            classes: SlotClasses::new(params),
            inverse,
            exponent,
        }
    }

    pub(crate) fn classes(&self) -> &SlotClasses {
        &self.classes
    }

    /// All `V(g, u)` of a batch from its small ciphertexts.
    pub(crate) fn codes(
        &self,
        params: &Params,
        key: &DetectionKey,
        round: &Round,
        small: &[Rlwe],
        advance: &(dyn Fn(u64) + Sync),
    ) -> Codes {
        let (ring, p) = (&params.small, params.p());
        let (classes, half) = (self.classes.classes(), round.plan.width() / 2);
        let limbs = params.small_basis().len();
        let terms = round.plan.width() * classes;
        let mut rows: Vec<Vec<u64>> = vec![Vec::new(); 2 * limbs * terms];
        let weights: Vec<ClassWeights> = (0..classes)
            .into_par_iter()
            .map(|u| self.weights(params, round, u))
            .collect();
        let theta = self.theta(params, round.plan.stride());
        let mut turned = small.to_vec();
        for i in 0..half {
            if i > 0 {
                turned = turned
                    .par_iter()
                    .map(|ct| turn(ring, ct, &key.turn, p))
                    .collect();
            }
            let swapped: Vec<Rlwe> = turned
                .par_iter()
                .map(|ct| turn(ring, ct, &key.swap, p))
                .collect();
            let tasks: Vec<(usize, usize)> = (0..2)
                .flat_map(|sign| (0..classes).map(move |u| (sign, u)))
                .collect();
            let made: Vec<(usize, Vec<Vec<u64>>)> = tasks
                .into_par_iter()
                .map(|(sign, u)| {
                    let images = if sign == 0 { &turned } else { &swapped };
                    let row = self.term(params, &weights[u], &theta, images, u, (sign, i));
                    ((sign * half + i) * classes + u, row)
                })
                .collect();
            for (term, parts) in made {
                for (k, row) in parts.into_iter().enumerate() {
                    rows[k * terms + term] = row;
                }
            }
            advance(1);
        }
        Codes { terms, rows }
    }

    /// `theta^stride` at each small slot.
    fn theta(&self, params: &Params, stride: usize) -> Vec<u32> {
        let order = 2 * params.small.n();
        self.exponent
            .iter()
            .map(|&e| params.small_plain.root(e as usize * stride % order) as u32)
            .collect()
    }

    fn weights(&self, params: &Params, round: &Round, u: usize) -> ClassWeights {
        let p = params.p();
        let width = round.plan.width();
        let per_slot = p.mul(round.unscale, round.plan.stride() as u64);
        let nodes: Vec<u32> = self
            .classes
            .slots(u)
            .iter()
            .map(|&z| params.nodes.node(round.batch, z as usize))
            .collect();
        let lead = nodes
            .iter()
            .map(|&x| p.mul(per_slot, p.pow(x.into(), round.first_exponent as u64)) as u32)
            .collect();
        let top = nodes
            .iter()
            .map(|&x| p.sub(p.neg(p.pow(x.into(), width as u64)), 1) as u32)
            .collect();
        ClassWeights {
            nodes,
            lead,
            top,
            width: width as u64,
        }
    }

    /// One `V(g, u)`: rows by part and limb, in slot order.
    fn term(
        &self,
        params: &Params,
        weights: &ClassWeights,
        theta: &[u32],
        images: &[Rlwe],
        u: usize,
        g: (usize, usize),
    ) -> Vec<Vec<u64>> {
        let (ring, p, n) = (&params.small, params.p(), params.small.n());
        let roots = self.classes.roots(u);
        let mut value = vec![0u32; n];
        let mut step = vec![0u32; n];
        for slot in 0..n {
            let from = image_slot(slot, n, g);
            value[slot] = weights.sum(p, &self.inverse, from, theta[slot]);
            step[slot] = roots[from];
        }
        let basis = params.small_basis();
        let mut scratch = vec![0u64; n];
        let mut coeffs = vec![0u32; n];
        let mut constants = Vec::with_capacity(images.len());
        for j in 0..images.len() {
            if j > 0 {
                for (v, &w) in value.iter_mut().zip(&step) {
                    *v = p.mul((*v).into(), w.into()) as u32;
                }
            }
            params
                .small_plain
                .encode_into(&value, &mut scratch, &mut coeffs);
            constants.push(ring.lift_plain(&coeffs, p.value() as u32, &basis));
        }
        let mut out = Vec::with_capacity(2 * basis.len());
        for part in 0..2 {
            for limb in 0..basis.len() {
                let factors: Vec<&[u64]> = images
                    .iter()
                    .map(|ct| {
                        if part == 0 {
                            ct.c0.row(limb)
                        } else {
                            ct.c1.row(limb)
                        }
                    })
                    .collect();
                let plain: Vec<&[u64]> = constants.iter().map(|c| c.row(limb)).collect();
                ring.kernels()
                    .dot(ring.modulus(limb), &mut scratch, &plain, &factors);
                let order = params.small_plain.order().positions();
                let mut row = vec![0; n];
                ring.kernels().gather(&mut row, &scratch, order);
                out.push(row);
            }
        }
        out
    }
}

/// The small slot that `sigma_g`, `g = (-1)^sign 5^i`, reads from.
fn image_slot(slot: usize, n: usize, (sign, i): (usize, usize)) -> usize {
    let half = n / 2;
    let (row, column) = (slot / half, slot % half);
    (row ^ sign) * half + (column + i) % half
}

struct ClassWeights {
    nodes: Vec<u32>,
    lead: Vec<u32>,
    top: Vec<u32>,
    width: u64,
}

impl ClassWeights {
    /// `lead * sum_t (theta x)^t` over t < width: geometric, and `theta^width = -1`.
    fn sum(&self, p: &Modulus, inverse: &[u32], slot: usize, theta: u32) -> u32 {
        let ratio = p.mul(theta.into(), self.nodes[slot].into());
        let lead = u64::from(self.lead[slot]);
        match ratio {
            1 => p.mul(lead, self.width) as u32,
            _ => {
                let below = inverse[p.sub(ratio, 1) as usize];
                p.mul(lead, p.mul(self.top[slot].into(), below.into())) as u32
            }
        }
    }
}

/// The image of a small ciphertext under a key's automorphism.
pub(crate) fn turn(ring: &Ring, ct: &Rlwe, key: &omr_bgv::GaloisKey, p: &Modulus) -> Rlwe {
    key.apply(ring, &[(&ct.c0, &ct.c1)], p).remove(0)
}

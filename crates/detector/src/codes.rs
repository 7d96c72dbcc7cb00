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

use crate::pieces::{PieceWords, Pieces};
use omr_protocol::{DetectionKey, DigestPlan, Params, SlotClasses};
use omr_ring::{AlignedVec, Buffer, Modulus, Ring};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::ops::Range;

/// The multiplied pertinency ciphertexts `V(g, u)` of one batch and round, in slot order.
///
/// Piece by piece, then part (body, mask), then term; term `(sign, i, u)` at
/// `(sign * width/2 + i) * classes + u`.
pub(crate) struct Codes {
    terms: usize,
    cut: Pieces,
    words: PieceWords,
}

/// Pieces of a buffer, which so takes the place of baby steps in the pool.
const TOGETHER: usize = 8;

impl Codes {
    fn new(params: &Params, terms: usize) -> Self {
        let cut = Pieces::new(params);
        let words = PieceWords::new(&cut, 2 * terms * cut.len(), TOGETHER, Buffer::any);
        Self { terms, cut, words }
    }

    /// How many there are.
    pub(crate) fn terms(&self) -> usize {
        self.terms
    }

    /// One piece of a run of terms.
    pub(crate) fn rows(
        &self,
        piece: usize,
        part: usize,
        terms: Range<usize>,
    ) -> impl Iterator<Item = &[u64]> {
        let (words, len) = (self.words.piece(piece), self.cut.len());
        let start = part * self.terms;
        words[(start + terms.start) * len..(start + terms.end) * len].chunks(len)
    }

    /// Cuts terms into pieces: for each its number and its rows by part and limb.
    fn set(&mut self, made: &[(usize, Vec<AlignedVec>)]) {
        let (cut, terms) = (self.cut, self.terms);
        let len = cut.len();
        let limbs = made[0].1.len() / 2;
        let pieces: Vec<&mut [u64]> = self.words.iter_mut().collect();
        pieces
            .into_par_iter()
            .enumerate()
            .for_each(|(index, piece)| {
                let (limb, from) = cut.slot(index);
                for (part, piece) in piece.chunks_mut(terms * len).enumerate() {
                    for (term, rows) in made {
                        let row = &rows[part * limbs + limb][from..from + len];
                        piece[term * len..(term + 1) * len].copy_from_slice(row);
                    }
                }
            });
    }
}

/// What all batches and rounds share.
pub(crate) struct CodeTables {
    classes: SlotClasses,
    /// `1 / i` modulo p, 0 for 0.
    inverse: Vec<u64>,
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
        let mut inverse = vec![0; p as usize];
        inverse[1] = 1;
        for i in 2..p {
            inverse[i as usize] = (p - p / i) * inverse[(p % i) as usize] % p;
        }
        Self {
            classes: SlotClasses::new(params),
            inverse,
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
        let mut codes = Codes::new(params, round.plan.width() * classes);
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
            let made: Vec<(usize, Vec<AlignedVec>)> = tasks
                .into_par_iter()
                .map_init(
                    || Scratch::new(params),
                    |scratch, (sign, u)| {
                        let images = if sign == 0 { &turned } else { &swapped };
                        let rows = scratch.term(self, &weights[u], &theta, images, u, (sign, i));
                        ((sign * half + i) * classes + u, rows)
                    },
                )
                .collect();
            codes.set(&made);
            advance(1);
        }
        codes
    }

    /// `theta^stride` over the small evaluation domain.
    fn theta(&self, params: &Params, stride: usize) -> Vec<u64> {
        let (plain, n) = (&params.small_plain, params.small.n());
        let mut theta = vec![0; n];
        for (slot, &position) in plain.order().positions().iter().enumerate() {
            let exponent = plain.order().exponent(slot) * stride % (2 * n);
            theta[position as usize] = plain.root(exponent);
        }
        theta
    }

    fn weights(&self, params: &Params, round: &Round, u: usize) -> ClassWeights {
        let p = params.p();
        let width = round.plan.width() as u64;
        let per_slot = p.mul(round.unscale, round.plan.stride() as u64);
        let slots = self.classes.slots(u);
        let nodes: Vec<u64> = slots
            .iter()
            .map(|&z| params.nodes.node(round.batch, z as usize).into())
            .collect();
        let lead = |&x: &u64| p.mul(per_slot, p.pow(x, round.first_exponent as u64));
        let lead: Vec<u64> = nodes.iter().map(lead).collect();
        let top = |(&x, &lead): (&u64, &u64)| p.mul(lead, p.sub(p.neg(p.pow(x, width)), 1));
        ClassWeights {
            top: nodes.iter().zip(&lead).map(top).collect(),
            full: lead.iter().map(|&x| p.mul(x, width)).collect(),
            nodes,
        }
    }
}

/// Rows of one class over the small slots; `x` is the node.
struct ClassWeights {
    nodes: Vec<u64>,
    /// `lead (-x^width - 1)`.
    top: Vec<u64>,
    /// `lead width`.
    full: Vec<u64>,
}

/// Rows that one term after another is made in.
struct Scratch<'a> {
    params: &'a Params,
    value: AlignedVec,
    step: AlignedVec,
    row: AlignedVec,
    below: Vec<u32>,
    coeffs: Vec<u32>,
    /// Constants by image and limb.
    constants: Vec<AlignedVec>,
}

impl<'a> Scratch<'a> {
    fn new(params: &'a Params) -> Self {
        let n = params.small.n();
        let rows = params.slots() / n * params.small_basis().len();
        let row = || AlignedVec::zeroed(n);
        Self {
            params,
            value: row(),
            step: row(),
            row: row(),
            below: vec![0; n],
            coeffs: vec![0; n],
            constants: vec![row(); rows],
        }
    }

    /// One `V(g, u)`: rows by part and limb, in slot order.
    fn term(
        &mut self,
        tables: &CodeTables,
        weights: &ClassWeights,
        theta: &[u64],
        images: &[Rlwe],
        u: usize,
        g: (usize, usize),
    ) -> Vec<AlignedVec> {
        self.sums(tables, weights, theta, g);
        image(self.params, tables.classes.roots(u), g, &mut self.step);
        self.encode(images.len());
        self.products(images)
    }

    /// `lead * sum_t (theta x)^t` over t < width in every slot: geometric, and `theta^width = -1`.
    fn sums(
        &mut self,
        tables: &CodeTables,
        weights: &ClassWeights,
        theta: &[u64],
        g: (usize, usize),
    ) {
        let (params, p) = (self.params, self.params.p());
        let kernels = params.small.kernels();
        image(params, &weights.nodes, g, &mut self.row);
        kernels.mul_assign(p, &mut self.row, theta);
        for (below, &ratio) in self.below.iter_mut().zip(&*self.row) {
            *below = p.sub(ratio, 1) as u32;
        }
        kernels.gather(&mut self.row, &tables.inverse, &self.below);
        image(params, &weights.top, g, &mut self.value);
        kernels.mul_assign(p, &mut self.value, &self.row);
        if self.below.contains(&0) {
            // A ratio of 1: all terms are alike.
            image(params, &weights.full, g, &mut self.row);
            let each = self.value.iter_mut().zip(&*self.row).zip(&self.below);
            for ((value, &full), _) in each.filter(|(_, below)| **below == 0) {
                *value = full;
            }
        }
    }

    fn encode(&mut self, images: usize) {
        let (ring, p) = (&self.params.small, self.params.p());
        let limbs = self.params.small_basis().len();
        for j in 0..images {
            if j > 0 {
                ring.kernels().mul_assign(p, &mut self.value, &self.step);
            }
            self.row.copy_from_slice(&self.value);
            self.params
                .small_plain
                .interpolate_into(&mut self.row, &mut self.coeffs);
            let rows = &mut self.constants[j * limbs..(j + 1) * limbs];
            for (limb, row) in rows.iter_mut().enumerate() {
                let p = p.value() as u32;
                ring.kernels()
                    .lift_centered(ring.modulus(limb), row, &self.coeffs, p);
                ring.kernels().ntt_forward(ring.table(limb), row);
            }
        }
    }

    fn products(&mut self, images: &[Rlwe]) -> Vec<AlignedVec> {
        let ring = &self.params.small;
        let limbs = self.params.small_basis().len();
        let positions = self.params.small_plain.order().positions();
        let mut out = Vec::with_capacity(2 * limbs);
        for part in 0..2 {
            for limb in 0..limbs {
                let factors: Vec<&[u64]> = images
                    .iter()
                    .map(|ct| [&ct.c0, &ct.c1][part].row(limb))
                    .collect();
                let constants = self.constants.iter().skip(limb).step_by(limbs);
                let constants: Vec<&[u64]> = constants.map(|row| &row[..]).collect();
                let m = ring.modulus(limb);
                ring.kernels().dot(m, &mut self.row, &constants, &factors);
                let mut row = AlignedVec::zeroed(ring.n());
                ring.kernels().gather(&mut row, &self.row, positions);
                out.push(row);
            }
        }
        out
    }
}

/// The image under `sigma_g`, `g = (-1)^sign 5^i`, of values by slot, over the evaluation domain.
fn image<T: Copy + Into<u64>>(
    params: &Params,
    values: &[T],
    (sign, i): (usize, usize),
    out: &mut [u64],
) {
    let half = values.len() / 2;
    let positions = params.small_plain.order().positions().chunks(half);
    for (row, positions) in positions.enumerate() {
        let from = &values[(row ^ sign) * half..][..half];
        let turned = from[i..].iter().chain(&from[..i]);
        for (&position, &value) in positions.iter().zip(turned) {
            out[position as usize] = value.into();
        }
    }
}

/// The image of a small ciphertext under a key's automorphism.
pub(crate) fn turn(ring: &Ring, ct: &Rlwe, key: &omr_bgv::GaloisKey, p: &Modulus) -> Rlwe {
    key.apply(ring, &[(&ct.c0, &ct.c1)], p).remove(0)
}

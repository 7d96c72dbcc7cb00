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

use crate::away::{AwayCodes, Constants};
use crate::finish::gathered_scale;
use crate::keys::turn_all;
use crate::pieces::Pieces;
use crate::{Keys, Setting, SlotClasses, SumsShape};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Blocks, Eval, Modulus, Poly, Ring, Switch};
use omr_rlwe::Rlwe;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The multiplied ciphertexts `V(g, u)` of one batch and round, in slot order.
///
/// Piece by piece, then part (body, mask), then term; term `(sign, i, u)` at
/// `(sign * width/2 + i) * classes + u`.
pub struct Codes {
    terms: usize,
    data: Data,
}

/// The place of codes: this process's memory, or that of the small ring's backend.
enum Data {
    Here { cut: Pieces, words: Blocks },
    Away(AwayCodes),
}

impl Codes {
    fn new(setting: Setting, terms: usize) -> Self {
        let cut = Pieces::new(setting);
        // Two parts, and two residues in a word.
        let words = Blocks::any(cut.count(), terms * cut.len());
        Self {
            terms,
            data: Data::Here { cut, words },
        }
    }

    pub(crate) fn away(codes: AwayCodes) -> Self {
        Self {
            terms: codes.iter().map(Vec::len).sum(),
            data: Data::Away(codes),
        }
    }

    /// Returns codes in a backend's memory.
    ///
    /// Panics: if they lie in this process's memory.
    pub(crate) fn there(&self) -> &AwayCodes {
        match &self.data {
            Data::Here { .. } => panic!("codes in a backend's memory"),
            Data::Away(codes) => codes,
        }
    }

    /// The number of terms.
    pub(crate) fn terms(&self) -> usize {
        self.terms
    }

    /// One piece of a run of terms.
    pub(crate) fn rows(
        &self,
        piece: usize,
        part: usize,
        terms: Range<usize>,
    ) -> impl Iterator<Item = &[u32]> {
        let Data::Here { cut, words } = &self.data else {
            panic!("codes in this process's memory");
        };
        let (words, len) = (words.halves(piece), cut.len());
        let start = part * self.terms;
        words[(start + terms.start) * len..(start + terms.end) * len].chunks(len)
    }

    /// Cuts terms into pieces: for each its number and its rows by part and limb.
    fn set(&mut self, made: &[(usize, &Vec<AlignedVec>)]) {
        let terms = self.terms;
        let Data::Here { cut, words } = &mut self.data else {
            panic!("codes in this process's memory");
        };
        let (cut, len) = (*cut, cut.len());
        let limbs = made[0].1.len() / 2;
        let pieces: Vec<&mut [u32]> = words.halves_mut().collect();
        pieces
            .into_par_iter()
            .enumerate()
            .for_each(|(index, piece)| {
                let (limb, from) = cut.slot(index);
                for (part, piece) in piece.chunks_mut(terms * len).enumerate() {
                    for (term, rows) in made {
                        let row = &rows[part * limbs + limb][from..from + len];
                        for (to, &x) in piece[term * len..].iter_mut().zip(row) {
                            *to = x as u32;
                        }
                    }
                }
            });
    }
}

/// The tables that all batches and rounds share.
pub struct CodeTables {
    classes: SlotClasses,
    /// `1 / i` modulo p, 0 for 0.
    inverse: Vec<u64>,
    /// Constants in a backend's memory, with their round.
    pub(crate) kept: Mutex<Option<(Round, Arc<Constants>)>>,
}

/// One batch and round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    shape: SumsShape,
    batch: usize,
    first_exponent: usize,
    /// Multiplies every sum.
    unscale: u64,
}

impl Round {
    /// Returns the sums of round `number` of a shape, of a vector that is multiplied by `scale` and takes the nodes of
    /// `batch`.
    ///
    /// The codes undo that scale and the factors that sums are multiplied by afterwards, up to a digest.
    pub fn new(
        setting: Setting,
        shape: SumsShape,
        number: usize,
        batch: usize,
        scale: u64,
    ) -> Self {
        let p = setting.p();
        let gathered = p.mul(scale, gathered_scale(setting.packing));
        Self {
            shape,
            batch,
            first_exponent: shape.exponents(number).start,
            unscale: p.inv(gathered),
        }
    }

    pub(crate) fn shape(&self) -> SumsShape {
        self.shape
    }

    /// Returns whether codes of both rounds have the same constants.
    pub(crate) fn has_constants_of(&self, other: &Self) -> bool {
        self.shape.width() == other.shape.width()
            && self.batch == other.batch
            && self.first_exponent == other.first_exponent
            && self.unscale == other.unscale
    }

    /// `theta^stride` in the order of the small evaluation domain.
    pub(crate) fn theta_by_position(&self, setting: Setting) -> Vec<u64> {
        let mut theta = vec![0; setting.small().n()];
        image(setting, &self.theta(setting), Exponent::ONE, &mut theta);
        theta
    }

    /// `theta^stride` by small slot.
    pub(crate) fn theta(&self, setting: Setting) -> Vec<u64> {
        let (plain, n) = (setting.small_plain, setting.small().n());
        let exponent = |slot| plain.order().exponent(slot) * self.shape.stride() % (2 * n);
        (0..n).map(|slot| plain.root(exponent(slot))).collect()
    }
}

impl CodeTables {
    /// The tables of a setting: p + 4 n words.
    pub fn new(setting: Setting) -> Self {
        let p = setting.p().value();
        let mut inverse = vec![0; p as usize];
        inverse[1] = 1;
        for i in 2..p {
            inverse[i as usize] = (p - p / i) * inverse[(p % i) as usize] % p;
        }
        Self {
            classes: SlotClasses::new(setting.plain, setting.small_plain),
            inverse,
            kept: Mutex::default(),
        }
    }

    /// The classes of the large ring's slots over those of the small ring.
    pub fn classes(&self) -> &SlotClasses {
        &self.classes
    }

    /// Returns all `V(g, u)` of a batch for some recipients, each with [`Images`] of its small ciphertexts; `None` if
    /// `go_on`, which is asked after each of `width / 2` steps, returns false.
    ///
    /// Panics: when the batch has no nodes. Time: that of the setting and the shape, whatever is
    /// encrypted.
    pub fn codes(
        &self,
        setting: Setting,
        round: &Round,
        recipients: &mut [Images],
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<Codes>> {
        let (ring, p) = (setting.small(), setting.p());
        if ring.backend().is_some() {
            return self.codes_away(setting, round, recipients, go_on);
        }
        let (classes, half) = (self.classes.classes(), round.shape.width() / 2);
        let mut codes: Vec<Codes> = recipients
            .iter()
            .map(|_| Codes::new(setting, round.shape.width() * classes))
            .collect();
        let weights = self.weights(setting, round);
        let theta = round.theta_by_position(setting);
        for i in 0..half {
            let images: Vec<&[Vec<Rlwe>; 2]> = recipients
                .iter_mut()
                .map(|images| images.step(ring, p, i))
                .collect();
            let tasks: Vec<(usize, usize)> = (0..2)
                .flat_map(|sign| (0..classes).map(move |u| (sign, u)))
                .collect();
            let made: Vec<(usize, Vec<Vec<AlignedVec>>)> = tasks
                .into_par_iter()
                .map_init(
                    || Scratch::new(setting),
                    |scratch, (sign, u)| {
                        let images = images.iter().map(|both| &both[sign][..]);
                        let g = Exponent { sign, i };
                        let rows = scratch.term(self, &weights[u], &theta, images, u, g);
                        ((sign * half + i) * classes + u, rows)
                    },
                )
                .collect();
            for (recipient, codes) in codes.iter_mut().enumerate() {
                let rows = made.iter().map(|(term, rows)| (*term, &rows[recipient]));
                codes.set(&rows.collect::<Vec<_>>());
            }
            if !go_on() {
                return None;
            }
        }
        Some(codes)
    }

    /// Returns the rows of all classes.
    pub(crate) fn weights(&self, setting: Setting, round: &Round) -> Vec<ClassWeights> {
        let classes = (0..self.classes.classes()).into_par_iter();
        classes
            .map(|u| self.weights_of(setting, round, u))
            .collect()
    }

    fn weights_of(&self, setting: Setting, round: &Round, u: usize) -> ClassWeights {
        let p = setting.p();
        let width = round.shape.width() as u64;
        let per_slot = p.mul(round.unscale, round.shape.stride() as u64);
        let slots = self.classes.slots(u);
        let nodes: Vec<u64> = slots
            .iter()
            .map(|&z| setting.nodes.node(round.batch, z as usize).into())
            .collect();
        let lead: Vec<u64> = nodes
            .iter()
            .map(|&x| p.mul(per_slot, p.pow(x, round.first_exponent as u64)))
            .collect();
        let top = |(&x, &lead): (&u64, &u64)| p.mul(lead, p.sub(p.neg(p.pow(x, width)), 1));
        ClassWeights {
            top: nodes.iter().zip(&lead).map(top).collect(),
            full: lead.iter().map(|&x| p.mul(x, width)).collect(),
            nodes,
        }
    }
}

/// Rows of one class over the small slots; `x` is the node.
pub(crate) struct ClassWeights {
    nodes: Vec<u64>,
    /// `lead (-x^width - 1)`.
    top: Vec<u64>,
    /// `lead width`.
    full: Vec<u64>,
}

/// Rows that one term after another is made in.
pub(crate) struct Scratch<'a> {
    setting: Setting<'a>,
    pub(crate) value: AlignedVec,
    step: AlignedVec,
    row: AlignedVec,
    below: Vec<u32>,
    coeffs: Vec<u32>,
    /// Constants by image and limb.
    constants: Vec<AlignedVec>,
    /// From the primes of ciphertexts to those of sums.
    switch: Switch,
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(setting: Setting<'a>) -> Self {
        let n = setting.small().n();
        let packing = setting.packing;
        let rows = setting.classes() * packing.limbs;
        let row = || AlignedVec::zeroed(n);
        let (from, to) = (packing.small_basis(), setting.sum_basis());
        Self {
            setting,
            value: row(),
            step: row(),
            row: row(),
            below: vec![0; n],
            coeffs: vec![0; n],
            constants: vec![row(); rows],
            switch: Switch::new(packing.small, &from, &to, packing.p),
        }
    }

    /// One `V(g, u)` of each recipient: rows by part and limb, in slot order.
    fn term<'i>(
        &mut self,
        tables: &CodeTables,
        weights: &ClassWeights,
        theta: &[u64],
        images: impl Iterator<Item = &'i [Rlwe]>,
        u: usize,
        g: Exponent,
    ) -> Vec<Vec<AlignedVec>> {
        self.sums(tables, weights, theta, g);
        image(self.setting, tables.classes.roots(u), g, &mut self.step);
        self.encode();
        images.map(|images| self.products(images)).collect()
    }

    /// `lead * sum_t (theta x)^t` over t < width in every slot, in `value`: geometric, and `theta^width = -1`.
    pub(crate) fn sums(
        &mut self,
        tables: &CodeTables,
        weights: &ClassWeights,
        theta: &[u64],
        g: Exponent,
    ) {
        let (setting, p) = (self.setting, self.setting.p());
        let kernels = setting.small().kernels();
        image(setting, &weights.nodes, g, &mut self.row);
        kernels.mul_assign(p, &mut self.row, theta);
        for (below, &ratio) in self.below.iter_mut().zip(&*self.row) {
            *below = p.sub(ratio, 1) as u32;
        }
        kernels.gather(&mut self.row, &tables.inverse, &self.below);
        image(setting, &weights.top, g, &mut self.value);
        kernels.mul_assign(p, &mut self.value, &self.row);
        if self.below.contains(&0) {
            // A ratio of 1: all terms are alike.
            image(setting, &weights.full, g, &mut self.row);
            let each = self.value.iter_mut().zip(&*self.row).zip(&self.below);
            for ((value, &full), _) in each.filter(|(_, below)| **below == 0) {
                *value = full;
            }
        }
    }

    fn encode(&mut self) {
        let (ring, p) = (self.setting.small(), self.setting.p());
        let limbs = self.setting.packing.limbs;
        for j in 0..self.setting.classes() {
            self.interpolate(j);
            let rows = &mut self.constants[j * limbs..(j + 1) * limbs];
            for (limb, row) in rows.iter_mut().enumerate() {
                let p = p.value() as u32;
                ring.kernels()
                    .lift_centered(ring.modulus(limb), row, &self.coeffs, p);
                ring.kernels().ntt_forward(ring.table(limb), row);
            }
        }
    }

    /// Interpolates the constant of image j, after those before it, in `coeffs`.
    fn interpolate(&mut self, j: usize) {
        let setting = self.setting;
        if j > 0 {
            let kernels = setting.small().kernels();
            kernels.mul_assign(setting.p(), &mut self.value, &self.step);
        }
        self.row.copy_from_slice(&self.value);
        setting
            .small_plain
            .interpolate_into(&mut self.row, &mut self.coeffs);
    }

    /// Returns the constants of a term modulo p, by image.
    pub(crate) fn coefficients(
        &mut self,
        tables: &CodeTables,
        weights: &ClassWeights,
        theta: &[u64],
        u: usize,
        g: Exponent,
    ) -> Vec<Vec<u32>> {
        self.sums(tables, weights, theta, g);
        image(self.setting, tables.classes.roots(u), g, &mut self.step);
        let images = 0..self.setting.classes();
        let constant = |j| {
            self.interpolate(j);
            self.coeffs.clone()
        };
        images.map(constant).collect()
    }

    /// The products of images with the constants, modulo the primes of sums: rows by part and limb, in slot order.
    fn products(&self, images: &[Rlwe]) -> Vec<AlignedVec> {
        let (ring, limbs) = (self.setting.small(), self.setting.packing.limbs);
        let positions = self.setting.small_plain.order().positions();
        let mut out = Vec::with_capacity(2 * self.setting.sum_primes);
        for part in 0..2 {
            let mut sum = Poly::<Eval>::scratch(ring, self.switch.from());
            for limb in 0..limbs {
                let factors: Vec<&[u64]> = images
                    .iter()
                    .map(|ct| [&ct.c0, &ct.c1][part].row(limb))
                    .collect();
                let constants: Vec<&[u64]> = self
                    .constants
                    .iter()
                    .skip(limb)
                    .step_by(limbs)
                    .map(|row| &row[..])
                    .collect();
                let (m, row) = (ring.modulus(limb), sum.row_mut(limb));
                ring.kernels().dot(m, row, &constants, &factors);
            }
            for from in self.switch.apply(ring, &sum).rows() {
                let mut row = AlignedVec::zeroed(ring.n());
                ring.kernels().gather(&mut row, from, positions);
                out.push(row);
            }
        }
        out
    }
}

/// The images of the small ciphertexts of one batch and recipient, [`Setting::classes`] of them, under the automorphisms
/// `+-5^i`: what the codes of all rounds are made of.
pub struct Images<'a> {
    keys: Keys<'a>,
    small: &'a [Rlwe],
    keep: bool,
    /// The images under `5^i` and `-5^i` by i if they are kept, and those of the last step if not.
    steps: Vec<[Vec<Rlwe>; 2]>,
}

impl<'a> Images<'a> {
    /// Prepares the images of the small ciphertexts of a batch, which are made when codes need them. With `keep` they
    /// are made once for all rounds, and take the memory of `width` small ciphertexts a class.
    pub fn new(keys: Keys<'a>, small: &'a [Rlwe], keep: bool) -> Self {
        Self {
            keys,
            small,
            keep,
            steps: Vec::new(),
        }
    }

    /// Returns the images under `5^i` and `-5^i`. Steps are made in their order.
    pub(crate) fn step(&mut self, ring: &Ring, p: &Modulus, i: usize) -> &[Vec<Rlwe>; 2] {
        if !self.keep || i == self.steps.len() {
            let turned = match i {
                0 => self.small.to_vec(),
                _ => turn_all(
                    ring,
                    &self.steps[self.steps.len() - 1][0],
                    self.keys.turn,
                    p,
                ),
            };
            let swapped = turn_all(ring, &turned, self.keys.swap, p);
            if !self.keep {
                self.steps.clear();
            }
            self.steps.push([turned, swapped]);
        }
        let at = if self.keep { i } else { 0 };
        &self.steps[at]
    }
}

/// The exponent `g = (-1)^sign 5^i` of an automorphism `sigma_g`.
#[derive(Clone, Copy)]
pub(crate) struct Exponent {
    pub(crate) sign: usize,
    pub(crate) i: usize,
}

impl Exponent {
    /// The exponent of the identity.
    pub(crate) const ONE: Self = Self { sign: 0, i: 0 };
}

/// Writes the image under `sigma_g` of values by slot, over the evaluation domain.
pub(crate) fn image<T: Copy + Into<u64>>(
    setting: Setting,
    values: &[T],
    g: Exponent,
    out: &mut [u64],
) {
    let Exponent { sign, i } = g;
    let half = values.len() / 2;
    let positions = setting.small_plain.order().positions().chunks(half);
    for (row, positions) in positions.enumerate() {
        let from = &values[(row ^ sign) * half..][..half];
        let turned = from[i..].iter().chain(&from[..i]);
        for (&position, &value) in positions.iter().zip(turned) {
            out[position as usize] = value.into();
        }
    }
}

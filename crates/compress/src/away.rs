//! Codes, plaintexts and sums in the memory of the small ring's backend. Residues equal those of the processor; each
//! call is for many rows.

use crate::codes::{Exponent, Images, Scratch};
use crate::{CodeTables, Codes, Round, Setting};
use omr_ring::parallel::*;
use omr_ring::{
    At, Backend, Basis, Eval, Poly, Ring, RowProducts, Switch, TurnedProducts, TurnedSymbol,
    permuted_away, places,
};
use omr_rlwe::Rlwe;
use std::sync::{Arc, PoisonError};

/// The constants of a round: by step, then by sign and class of the term, then by image.
pub(crate) type Constants = Vec<Vec<Poly<Eval>>>;

/// Codes in a backend's memory: by step, then by sign and class, in slot order.
pub(crate) type AwayCodes = Vec<Vec<Rlwe>>;

fn backend<'a>(setting: &Setting<'a>) -> &'a dyn Backend {
    let backend = setting.small().backend();
    &**backend.expect("a small ring with a backend")
}

/// Returns polynomials over a basis, of any content.
fn scratch(ring: &Ring, basis: &Basis, count: usize) -> Vec<Poly<Eval>> {
    (0..count).map(|_| Poly::scratch(ring, basis)).collect()
}

/// Returns polynomials in the order of slots, or back in that of the evaluation domain.
fn permuted(
    setting: &Setting,
    name: usize,
    index: &[u32],
    polys: &[Poly<Eval>],
) -> Vec<Poly<Eval>> {
    let Some(first) = polys.first() else {
        return Vec::new();
    };
    let out = scratch(setting.small(), first.basis(), polys.len());
    permuted_away(backend(setting), name, index, polys, out)
}

fn to_slots(setting: &Setting, polys: &[Poly<Eval>]) -> Vec<Poly<Eval>> {
    permuted(
        setting,
        places::TO_SLOTS,
        setting.small_plain.order().positions(),
        polys,
    )
}

fn from_slots(setting: &Setting, polys: &[Poly<Eval>]) -> Vec<Poly<Eval>> {
    permuted(
        setting,
        places::FROM_SLOTS,
        setting.small_plain.order().slots(),
        polys,
    )
}

/// Pairs polynomials that lie one after another.
fn pairs(polys: Vec<Poly<Eval>>) -> Vec<Rlwe> {
    let mut polys = polys.into_iter();
    let mut pairs = Vec::new();
    while let (Some(c0), Some(c1)) = (polys.next(), polys.next()) {
        pairs.push(Rlwe::new(c0, c1));
    }
    pairs
}

impl CodeTables {
    /// Returns the constants of a round. Those of the last one stay in memory, as most digests have the same, unless the
    /// backend failed.
    fn kept_constants(&self, setting: Setting, round: &Round) -> Arc<Constants> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, constants)) = &*kept
            && of.has_constants_of(round)
        {
            return constants.clone();
        }
        *kept = None;
        let watch = setting.small().watch();
        let made = Arc::new(self.made_constants(setting, round));
        if watch.failure().is_none() {
            *kept = Some((*round, made.clone()));
        }
        made
    }

    fn made_constants(&self, setting: Setting, round: &Round) -> Constants {
        let (ring, basis) = (setting.small(), setting.packing.small_basis());
        let p = setting.p().value() as u32;
        let classes = setting.classes();
        let weights = self.weights(setting, round);
        let theta = round.theta_by_position(setting);
        let step = |i: usize| {
            let coefficients: Vec<Vec<Vec<u32>>> = (0..2 * classes)
                .into_par_iter()
                .map_init(
                    || Scratch::new(setting),
                    |scratch, place| {
                        let (sign, u) = (place / classes, place % classes);
                        let g = Exponent { sign, i };
                        scratch.coefficients(self, &weights[u], &theta, u, g)
                    },
                )
                .collect();
            let polys: Vec<&[u32]> = coefficients.iter().flatten().map(Vec::as_slice).collect();
            ring.lift_plains(&polys, p, &basis)
        };
        (0..round.shape().width() / 2).map(step).collect()
    }

    /// Returns what [`CodeTables::codes`] does.
    pub(crate) fn codes_away(
        &self,
        setting: Setting,
        round: &Round,
        recipients: &mut [Images],
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<Codes>> {
        let (ring, packing) = (setting.small(), setting.packing);
        let (from, to) = (packing.small_basis(), setting.sum_basis());
        let switch = Switch::new(ring, &from, &to, packing.p);
        let constants = self.kept_constants(setting, round);
        let mut codes: Vec<AwayCodes> = recipients.iter().map(|_| Vec::new()).collect();
        for (i, constants) in constants.iter().enumerate() {
            for (images, codes) in recipients.iter_mut().zip(&mut codes) {
                let images = images.step(ring, packing.p, i);
                let products = products(&setting, &from, constants, images);
                let switched = switch.apply_all(ring, &products.iter().collect::<Vec<_>>());
                codes.push(pairs(to_slots(&setting, &switched)));
            }
            if !go_on() {
                return None;
            }
        }
        Some(codes.into_iter().map(Codes::away).collect())
    }
}

/// Returns the products of the images of one step with their constants: by sign and class, body and mask.
fn products(
    setting: &Setting,
    basis: &Basis,
    constants: &[Poly<Eval>],
    images: &[Vec<Rlwe>; 2],
) -> Vec<Poly<Eval>> {
    let classes = setting.classes();
    let out = scratch(setting.small(), basis, 4 * classes);
    let mut rows = Vec::new();
    for (term, (constants, to)) in constants.chunks(classes).zip(out.chunks(2)).enumerate() {
        let images = &images[term / classes];
        for (part, to) in to.iter().enumerate() {
            for &prime in basis.ids() {
                let factors = images.iter().map(|ct| [&ct.c0, &ct.c1][part].at(prime));
                let constants = constants.iter().map(|constant| constant.at(prime));
                rows.push(RowProducts {
                    prime,
                    to: to.at(prime),
                    pairs: constants.zip(factors).collect(),
                    adds: false,
                });
            }
        }
    }
    backend(setting).multiply(&rows);
    drop(rows);
    out
}

/// Returns the plaintexts of columns by class, in slot order.
pub(crate) fn encoded(
    setting: &Setting,
    order: &[u32],
    columns: &[&[u32]],
) -> Vec<Vec<Poly<Eval>>> {
    let (ring, basis) = (setting.small(), setting.sum_basis());
    let lifted = setting
        .small_plain
        .interpolated(ring, &basis, columns, order);
    let mut encoded = to_slots(setting, &lifted).into_iter();
    let of_column = |_: &&[u32]| encoded.by_ref().take(setting.classes()).collect();
    columns.iter().map(of_column).collect()
}

/// Returns the rows of body and mask modulo a prime.
fn rows(ct: &Rlwe, prime: usize) -> [At<'_>; 2] {
    [ct.c0.at(prime), ct.c1.at(prime)]
}

/// Adds products with codes to the sums of symbols; `plaintexts` has the polynomials of a symbol by class.
pub(crate) fn add(
    setting: &Setting,
    codes: &AwayCodes,
    plaintexts: &[Vec<Poly<Eval>>],
    sums: &[Rlwe],
) {
    let classes = setting.classes();
    for &prime in setting.sum_basis().ids() {
        let mut terms = Vec::new();
        for sign in 0..2 {
            for step in codes {
                let of_sign = step[sign * classes..][..classes].iter();
                terms.extend(of_sign.map(|ct| rows(ct, prime)));
            }
        }
        let symbols = plaintexts.iter().zip(sums);
        let sums = TurnedProducts {
            prime,
            turns: codes.len(),
            classes,
            terms,
            symbols: symbols
                .map(|(polys, sum)| TurnedSymbol {
                    rows: polys.iter().map(|row| row.at(prime)).collect(),
                    to: rows(sum, prime),
                })
                .collect(),
        };
        backend(setting).turned_products(&sums);
    }
}

/// Returns sums as ciphertexts over the primes of ciphertexts, in the order of the evaluation domain.
pub(crate) fn ciphertexts(setting: &Setting, sums: Vec<Rlwe>) -> Vec<Rlwe> {
    let (ring, packing) = (setting.small(), setting.packing);
    let (from, to) = (setting.sum_basis(), packing.small_basis());
    let switch = Switch::new(ring, &from, &to, packing.p);
    let polys: Vec<Poly<Eval>> = sums.into_iter().flat_map(|ct| [ct.c0, ct.c1]).collect();
    let ordered = from_slots(setting, &polys);
    pairs(switch.apply_all(ring, &ordered.iter().collect::<Vec<_>>()))
}

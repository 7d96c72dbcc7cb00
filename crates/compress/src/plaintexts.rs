//! Encoded plaintexts of symbols, laid out so that rotations are shifted reads.

use crate::{Setting, SumsShape, away};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Blocks, Eval, Poly};

/// The encoded plaintexts of some symbols, in slot order, each slot row followed by its own
/// beginning, so that a rotation of up to `pad` slots is a shifted read. Kept and overwritten:
/// fresh pages are dear.
pub struct Plaintexts {
    data: Data,
    limbs: usize,
    half: usize,
    pad: usize,
}

/// The place of plaintexts: this process's memory, or that of the small ring's backend.
enum Data {
    /// For each symbol: by class, limb and slot row.
    Here(Blocks),
    /// For each symbol by class; as many as were encoded.
    Away(Vec<Vec<Poly<Eval>>>),
}

impl Plaintexts {
    /// Room for `count` symbols of sums of this shape.
    pub fn new(setting: Setting, shape: SumsShape, count: usize) -> Self {
        let (half, pad) = (setting.small().n() / 2, pad(shape));
        let words = Self::words(setting, shape);
        let data = if setting.small().backend().is_some() {
            Data::Away(Vec::new())
        } else {
            Data::Here(Blocks::any(count, words))
        };
        Self {
            data,
            limbs: setting.sum_primes,
            half,
            pad,
        }
    }

    /// Words of one symbol, each with two residues.
    pub fn words(setting: Setting, shape: SumsShape) -> usize {
        let half = setting.small().n() / 2;
        setting.classes() * setting.sum_primes * (half + pad(shape))
    }

    /// Encodes symbols, as many as there is room for or fewer, in place of those that were here.
    ///
    /// Shape: `order` for each class, in the order of the small evaluation domain, the place in a column of what lies
    /// there ([`SlotClasses::order`](crate::SlotClasses::order)); `columns` one symbol each.   Range: `[0, p)`.
    /// Panics: when a column lacks a place.
    pub fn encode(&mut self, setting: Setting, order: &[u32], columns: &[&[u32]]) {
        let (n, half, pad) = (setting.small().n(), self.half, self.pad);
        let symbols = match &mut self.data {
            Data::Here(symbols) => symbols,
            Data::Away(symbols) => {
                *symbols = away::encoded(&setting, order, columns);
                return;
            }
        };
        let scratch = || (AlignedVec::zeroed(n), AlignedVec::zeroed(n), vec![0u32; n]);
        let symbols: Vec<&mut [u32]> = symbols.halves_mut().collect();
        symbols.into_par_iter().zip(columns).for_each_init(
            scratch,
            |(values, row, coeffs), (out, column)| {
                let (ring, plain) = (setting.small(), setting.small_plain);
                let of_class = 2 * self.limbs * (half + pad);
                for (order, out) in order.chunks(n).zip(out.chunks_mut(of_class)) {
                    for (value, &place) in values.iter_mut().zip(order) {
                        *value = column[place as usize].into();
                    }
                    plain.interpolate_into(values, coeffs);
                    for (limb, out) in out.chunks_mut(2 * (half + pad)).enumerate() {
                        let (p, id) = (setting.p().value() as u32, setting.sum_prime(limb));
                        ring.kernels()
                            .lift_centered(ring.modulus(id), row, coeffs, p);
                        ring.kernels().ntt_forward(ring.table(id), row);
                        let positions = plain.order().positions().chunks(half);
                        for (out, positions) in out.chunks_mut(half + pad).zip(positions) {
                            for (to, &position) in out.iter_mut().zip(positions) {
                                *to = row[position as usize] as u32;
                            }
                            out.copy_within(..pad, half);
                        }
                    }
                }
            },
        );
    }

    /// Returns `len` slots of symbol `index` of those encoded, starting at column `from` of a slot row.
    pub(crate) fn read(&self, index: usize, place: Place, from: usize, len: usize) -> &[u32] {
        let Place { class, limb, row } = place;
        let start = ((class * self.limbs + limb) * 2 + row) * (self.half + self.pad) + from;
        let Data::Here(symbols) = &self.data else {
            panic!("plaintexts in this process's memory");
        };
        &symbols.halves(index)[start..start + len]
    }

    /// Returns the first symbols of those encoded, by class, in a backend's memory.
    ///
    /// Panics: if there are fewer, or they lie in this process's memory.
    pub(crate) fn there(&self, symbols: usize) -> &[Vec<Poly<Eval>>] {
        match &self.data {
            Data::Here(_) => panic!("plaintexts in a backend's memory"),
            Data::Away(all) => &all[..symbols],
        }
    }
}

/// The place of a slot row in the plaintexts of a symbol.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) class: usize,
    pub(crate) limb: usize,
    pub(crate) row: usize,
}

/// Slots that the automorphisms of a shape turn by, at most.
fn pad(shape: SumsShape) -> usize {
    shape.width() / 2
}

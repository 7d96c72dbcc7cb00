//! The bootstrapping key in double precision, and blind rotations with it.

use crate::{BootstrapKey, BootstrapShape, RingCipher, Rotation, RotationRing, rotation::shared};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, FourierRows, FourierTable, KEY_ROWS, Kernels, Modulus};
use std::sync::Arc;

/// Words of a vector of complex values.
const BLOCK: usize = 16;

/// Rotations of a thread whose products are made side by side: they read a block of keys once.
const SIDE_BY_SIDE: usize = 4;

/// A bootstrapping key for rotations in double precision: faster than with [`BootstrapKey`], with
/// rounding errors ([`crate::noise::rounding`]), and not the same bits on all machines.
pub struct FourierKey {
    shape: BootstrapShape,
    table: Arc<FourierTable>,
    /// For each digit all blocks in the order of [`Kernels::fourier_product`].
    levels: Vec<Arc<AlignedVec>>,
}

impl FourierKey {
    /// The first `digits` digits of a key.
    ///
    /// Panics: when it has fewer, on none, and in dimensions below 512.
    pub fn new(ring: &RotationRing, key: &BootstrapKey, digits: u32) -> Self {
        let none = Self {
            shape: *key.shape(),
            table: Arc::new(FourierTable::new(ring.n())),
            levels: Vec::new(),
        };
        none.with_digits(ring, key, digits)
    }

    /// The first `digits` digits of the key that this was made of. Those that are here already take no
    /// memory again.
    ///
    /// Panics: when it has fewer, and on none.
    pub fn with_digits(&self, ring: &RotationRing, key: &BootstrapKey, digits: u32) -> Self {
        let table = &self.table;
        let made = |digit: usize| match self.levels.get(digit) {
            Some(level) => level.clone(),
            None => Arc::new(level(ring, table, key, digit)),
        };
        Self {
            shape: key.shape().first_digits(digits),
            table: table.clone(),
            levels: (0..digits as usize).map(made).collect(),
        }
    }

    /// [`BootstrapKey::rotate`] with the digits that this key has.
    ///
    /// Panics: when a ciphertext's dimension is not the key's.
    pub fn rotate(&self, ring: &RotationRing, rotations: Vec<Rotation>) -> Vec<RingCipher> {
        let turns = Turns::new(ring.modulus(0));
        shared(&self.shape, rotations, |rotations| {
            let rows = SIDE_BY_SIDE * 2 * self.levels.len();
            let mut scratch: Vec<AlignedVec> =
                (0..rows).map(|_| AlignedVec::zeroed(ring.n())).collect();
            for row in rotations.iter_mut().flat_map(Rotation::parts) {
                turns.fractions(row);
            }
            for block in 0..self.shape.blocks() {
                for few in rotations.chunks_mut(SIDE_BY_SIDE) {
                    self.step(ring.kernels(), block, few, &mut scratch);
                }
            }
            for row in rotations.iter_mut().flat_map(Rotation::parts) {
                turns.residues(row);
            }
        })
    }

    /// `scratch`: of each rotation a row for each part and digit.
    fn step(
        &self,
        k: &Kernels,
        block: usize,
        rotations: &mut [Rotation],
        scratch: &mut [AlignedVec],
    ) {
        let (t, digits) = (&*self.table, self.levels.len());
        for (rotation, rows) in rotations.iter_mut().zip(scratch.chunks_mut(2 * digits)) {
            for (part, rows) in rotation.parts().into_iter().zip(rows.chunks_mut(digits)) {
                let mut rows: Vec<&mut [f64]> =
                    rows.iter_mut().map(AlignedVec::floats_mut).collect();
                k.fourier_digits(t, self.shape.gadget, &mut rows, part);
            }
        }
        let coordinates = block * self.shape.block..(block + 1) * self.shape.block;
        let mut shares: Vec<FourierRows> = rotations
            .iter()
            .zip(scratch.chunks_mut(2 * digits))
            .map(|(rotation, rows)| share(rows, &rotation.exponents()[coordinates.clone()]))
            .collect();
        k.fourier_product(t, &mut shares, &self.block(block));
        for (rotation, rows) in rotations.iter_mut().zip(scratch.chunks_mut(2 * digits)) {
            // Products lie in the first digit's rows.
            let products = rows.iter_mut().step_by(digits);
            for (part, product) in rotation.parts().into_iter().zip(products) {
                k.fourier_add(t, part, product.floats_mut());
            }
        }
    }

    fn block(&self, block: usize) -> Vec<&[f64]> {
        let words = self.shape.block * KEY_ROWS * self.table.n();
        let levels = self.levels.iter();
        levels
            .map(|level| &level.floats()[block * words..][..words])
            .collect()
    }
}

/// The rows of a rotation: those of the body's digits, then those of the mask's.
fn share<'a>(rows: &'a mut [AlignedVec], exponents: &'a [u32]) -> FourierRows<'a> {
    let (body, mask) = rows.split_at_mut(rows.len() / 2);
    let pairs = body.iter_mut().zip(mask);
    FourierRows {
        digits: pairs
            .map(|(b, m)| [b.floats_mut(), m.floats_mut()])
            .collect(),
        exponents,
    }
}

/// One digit of a key.
fn level(
    ring: &RotationRing,
    table: &FourierTable,
    key: &BootstrapKey,
    digit: usize,
) -> AlignedVec {
    let shape = key.shape();
    let rows = shape.block * KEY_ROWS;
    let mut words = AlignedVec::zeroed(shape.blocks() * rows * ring.n());
    // Digits are in their places: divided by these, key rows are fractions of a turn. Transforms back
    // multiply by n/2.
    let place = 2f64.powi(64 - (shape.gadget.bits * (digit as u32 + 1)) as i32);
    let unit = 2.0 / (ring.n() as f64 * ring.q() as f64 * place);
    let blocks = words.floats_mut().par_chunks_mut(rows * ring.n());
    blocks.enumerate().for_each(|(block, words)| {
        for at in 0..rows {
            let i = block * shape.block + at / KEY_ROWS;
            let residues = key.residues(i, digit, at % KEY_ROWS);
            let values = transformed(ring, table, residues, unit);
            for (v, values) in values.chunks(BLOCK).enumerate() {
                words[(v * rows + at) * BLOCK..][..BLOCK].copy_from_slice(values);
            }
        }
    });
    words
}

/// A row, taken around 0 and times `unit`.
fn transformed(ring: &RotationRing, t: &FourierTable, mut row: Vec<u64>, unit: f64) -> Vec<f64> {
    let m = ring.modulus(0);
    ring.kernels().ntt_inverse(ring.table(0), &mut row);
    let centred = row.iter().map(|&x| m.to_centered(x) as f64 * unit);
    let mut out = vec![0.0; row.len()];
    t.transform(&mut out, &centred.collect::<Vec<_>>());
    out
}

/// Between residues modulo q and fractions of `2^64`, which wrap around by themselves.
struct Turns {
    q: u64,
    /// `2^114 / q`.
    ratio: u128,
}

impl Turns {
    fn new(m: &Modulus) -> Self {
        let q = m.value();
        Self {
            q,
            ratio: (1 << 114) / u128::from(q),
        }
    }

    fn fractions(&self, row: &mut [u64]) {
        for x in row {
            *x = ((u128::from(*x) * self.ratio) >> 50) as u64;
        }
    }

    fn residues(&self, row: &mut [u64]) {
        for x in row {
            let rounded = ((u128::from(*x) * u128::from(self.q) + (1 << 63)) >> 64) as u64;
            *x = rounded % self.q;
        }
    }
}

use crate::{BootstrapKey, BootstrapShape, RingCipher, Rotation, RotationRing, rotation::shared};
use omr_ring::{AlignedVec, FourierRows, FourierTable, Gadget, KEY_ROWS, Kernels, Modulus};
use rayon::prelude::*;

/// Words of a vector of complex values.
const BLOCK: usize = 16;

/// Rotations of a thread whose products are made side by side: they read a block of keys once.
const SIDE_BY_SIDE: usize = 2;

/// A bootstrapping key for rotations in double precision: faster than with [`BootstrapKey`], with
/// rounding errors ([`crate::noise::rounding`]), and not the same bits on all machines.
pub struct FourierKey {
    shape: BootstrapShape,
    table: FourierTable,
    /// For each digit all blocks in the order of [`Kernels::fourier_product`].
    levels: Vec<AlignedVec>,
}

/// Rows that products of [`SIDE_BY_SIDE`] rotations are made in: for each digit and part.
struct Scratch(Vec<AlignedVec>);

impl FourierKey {
    /// The first `digits` digits of a key.
    ///
    /// Panics: when it has fewer; in dimensions below 512.
    pub fn new(ring: &RotationRing, key: &BootstrapKey, digits: u32) -> Self {
        let shape = key.shape().first_digits(digits);
        let table = FourierTable::new(ring.n());
        let level = |digit| {
            let mut words = AlignedVec::zeroed(shape.n * KEY_ROWS * ring.n());
            let per_block = shape.block * KEY_ROWS * ring.n();
            let blocks = words.floats_mut().par_chunks_mut(per_block);
            blocks.enumerate().for_each(|(block, words)| {
                for at in 0..shape.block * KEY_ROWS {
                    let i = block * shape.block + at / KEY_ROWS;
                    let row = key.residues(i, digit, at % KEY_ROWS);
                    for (v, values) in transformed(ring, &table, row).chunks(BLOCK).enumerate() {
                        let to = (v * shape.block * KEY_ROWS + at) * BLOCK;
                        words[to..][..BLOCK].copy_from_slice(values);
                    }
                }
            });
            words
        };
        Self {
            levels: (0..digits as usize).map(level).collect(),
            shape,
            table,
        }
    }

    /// [`BootstrapKey::rotate`] with the digits that this key has.
    ///
    /// Panics: when a ciphertext's dimension is not the key's.
    pub fn rotate(&self, ring: &RotationRing, rotations: Vec<Rotation>) -> Vec<RingCipher> {
        let m = ring.modulus(0);
        shared(&self.shape, rotations, |rotations| {
            let digits = self.shape.gadget.digits as usize;
            let mut scratch = Scratch::new(ring, digits);
            let turns = Turns::new(m);
            rotations
                .iter_mut()
                .flat_map(Rotation::parts)
                .for_each(|x| turns.fractions(x));
            for block in 0..self.shape.blocks() {
                for rotations in rotations.chunks_mut(SIDE_BY_SIDE) {
                    self.step(ring.kernels(), block, rotations, &mut scratch);
                }
            }
            rotations
                .iter_mut()
                .flat_map(Rotation::parts)
                .for_each(|x| turns.residues(x));
        })
    }

    fn step(&self, k: &Kernels, block: usize, rotations: &mut [Rotation], scratch: &mut Scratch) {
        let (t, Gadget { digits, .. }) = (&self.table, self.shape.gadget);
        let rows = 2 * digits as usize;
        for (rotation, rows) in rotations.iter_mut().zip(scratch.0.chunks_mut(rows)) {
            for (part, rows) in rotation
                .parts()
                .into_iter()
                .zip(rows.chunks_mut(rows.len() / 2))
            {
                let mut rows: Vec<&mut [f64]> =
                    rows.iter_mut().map(AlignedVec::floats_mut).collect();
                k.fourier_digits(t, self.shape.gadget, &mut rows, part);
            }
        }
        let coordinates = block * self.shape.block..(block + 1) * self.shape.block;
        let shares = rotations.iter().zip(scratch.0.chunks_mut(rows));
        let mut shares: Vec<FourierRows> = shares
            .map(|(rotation, rows)| {
                let (body, mask) = rows.split_at_mut(rows.len() / 2);
                let digits = body.iter_mut().zip(mask);
                FourierRows {
                    digits: digits
                        .map(|(b, m)| [b.floats_mut(), m.floats_mut()])
                        .collect(),
                    exponents: &rotation.exponents()[coordinates.clone()],
                }
            })
            .collect();
        k.fourier_product(t, &mut shares, &self.block(block));
        for (rotation, rows) in rotations.iter_mut().zip(scratch.0.chunks_mut(rows)) {
            // Products lie in the first digit's rows.
            let products = rows.iter_mut().step_by(digits as usize);
            for (part, product) in rotation.parts().into_iter().zip(products) {
                k.fourier_add(t, part, product.floats_mut());
            }
        }
    }

    fn block(&self, block: usize) -> Vec<&[f64]> {
        let len = |words: &AlignedVec| words.len() / self.shape.blocks();
        let of = |words: &'_ AlignedVec| block * len(words)..(block + 1) * len(words);
        self.levels
            .iter()
            .map(|words| &words.floats()[of(words)])
            .collect()
    }
}

impl Scratch {
    fn new(ring: &RotationRing, digits: usize) -> Self {
        let rows = 0..SIDE_BY_SIDE * 2 * digits;
        Self(rows.map(|_| AlignedVec::zeroed(ring.n())).collect())
    }
}

/// A row of a key, in turns, transformed; inverse transforms multiply by n/2.
fn transformed(ring: &RotationRing, table: &FourierTable, row: Vec<u64>) -> Vec<f64> {
    let (m, mut row) = (ring.modulus(0), row);
    ring.kernels().ntt_inverse(ring.table(0), &mut row);
    let unit = 2.0 / (ring.n() as f64 * m.value() as f64);
    let coeffs: Vec<f64> = row
        .iter()
        .map(|&x| m.to_centered(x) as f64 * unit)
        .collect();
    let mut out = vec![0.0; ring.n()];
    table.transform(&mut out, &coeffs);
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

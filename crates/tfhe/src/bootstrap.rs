//! The bootstrapping key in exact integers, its shape and its generation.

use crate::{BlockSecret, RotationRing};
use omr_ring::{AlignedVec, Eval, Gadget, KEY_ROWS, NarrowGaussian, Poly};
use omr_rlwe::{MaskSeed, SecretPoly, encrypt_with};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Residues of a vector: see [`omr_ring::BlockRows`].
const LANES: usize = 8;

/// The shape of a bootstrapping key: dimension, blocks and gadget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapShape {
    /// Coordinates of the LWE secret.
    pub n: usize,
    /// Coordinates of a block; what is left of n beyond whole blocks has no keys, its bits are 0.
    pub block: usize,
    /// How accumulators are cut.
    pub gadget: Gadget,
}

impl BootstrapShape {
    /// Ring encryptions in the key, each with a body and a seeded mask: for each coordinate, digit
    /// and part of the accumulator.
    pub fn rows(&self) -> usize {
        self.keys() * self.gadget.digits as usize * 2
    }

    /// Coordinates in blocks.
    pub fn keys(&self) -> usize {
        self.blocks() * self.block
    }

    /// Blocks of the secret.
    pub fn blocks(&self) -> usize {
        self.n / self.block
    }

    /// Coordinate, digit and part of a row.
    fn place(&self, row: usize) -> (usize, usize, usize) {
        let digits = self.gadget.digits as usize;
        (row / (2 * digits), row / 2 % digits, row % 2)
    }

    /// This shape with only the first `digits` digits of its gadget. Panics: when it has fewer, or
    /// `digits` is 0.
    pub fn first_digits(self, digits: u32) -> Self {
        assert!(
            (1..=self.gadget.digits).contains(&digits),
            "digits of the key"
        );
        let gadget = Gadget {
            digits,
            ..self.gadget
        };
        Self { gadget, ..self }
    }
}

/// Makes the rows of a [`BootstrapKey`] one by one, for who writes their bodies and keeps none.
pub struct BootstrapMaker<'a> {
    /// The ring of rotations.
    pub ring: &'a RotationRing,
    /// How accumulators are cut.
    pub gadget: Gadget,
    /// The secret whose bits are encrypted.
    pub from: &'a BlockSecret,
    /// The secret under which they are.
    pub to: &'a SecretPoly,
    /// The errors.
    pub noise: &'a NarrowGaussian,
}

impl BootstrapMaker<'_> {
    fn shape(&self) -> BootstrapShape {
        BootstrapShape {
            n: self.from.bits().len(),
            block: self.from.block(),
            gadget: self.gadget,
        }
    }

    /// Body and mask of every row. The path of a mask is the number of its row.
    pub fn rows(
        &self,
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> impl Iterator<Item = [Poly<Eval>; 2]> {
        let (ring, basis) = (self.ring, self.ring.everything());
        (0..self.shape().rows()).map(move |row| {
            let mut message = self.message(row);
            let c1 = seed.mask(ring, &basis, &[row as u64]);
            let errors = self.noise.sample(rng, ring.n());
            let c0 = encrypt_with(ring, self.to, &message, 1, &c1, errors);
            message.zeroize();
            [c0, c1]
        })
    }

    fn message(&self, row: usize) -> Poly<Eval> {
        let (ring, m) = (self.ring, self.ring.modulus(0));
        let (i, digit, part) = self.shape().place(row);
        let unit = self.gadget.unit(m, digit as u32);
        // All ones for a 1: the constants of row operations, which are tested, stay public.
        let bit = self.from.bits()[i].wrapping_neg();
        let mut message = Poly::<Eval>::zero(ring, &ring.everything());
        match part {
            0 => message.row_mut(0).fill(unit & bit),
            _ => {
                message.row_mut(0).copy_from_slice(self.to.row(0));
                ring.scale_assign(&mut message, |_| unit);
                message.row_mut(0).iter_mut().for_each(|x| *x &= bit);
            }
        }
        message
    }
}

/// Encryptions of the bits of a block secret under a ring secret z, for blind rotations: row
/// `(i, digit, part)` encrypts `s_i unit_digit` for part 0, `s_i unit_digit z` for part 1
/// (Chillotti, Gama, Georgieva, Izabachène 2020).
pub struct BootstrapKey {
    shape: BootstrapShape,
    /// For each digit all blocks in the order of [`omr_ring::BlockRows`].
    levels: Vec<AlignedVec>,
}

impl BootstrapKey {
    /// The key for the bits of `from` under `to`. The path of a mask is the number of its row.
    pub fn generate(
        ring: &RotationRing,
        gadget: Gadget,
        from: &BlockSecret,
        to: &SecretPoly,
        seed: MaskSeed<'_>,
        noise: &NarrowGaussian,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let maker = BootstrapMaker {
            ring,
            gadget,
            from,
            to,
            noise,
        };
        let mut key = Self::empty(ring, maker.shape());
        for (row, [c0, c1]) in maker.rows(seed, rng).enumerate() {
            key.set(row, c0.row(0), c1.row(0));
        }
        key
    }

    /// Rebuilds a key from its bodies, in the order of rows; the masks are drawn again.
    /// Panics: when their number is not that of the shape.
    pub fn from_bodies<'a>(
        ring: &RotationRing,
        shape: BootstrapShape,
        bodies: impl ExactSizeIterator<Item = &'a [u64]>,
        seed: MaskSeed<'_>,
    ) -> Self {
        let basis = ring.everything();
        let with_mask = |(row, body)| {
            let c1: Poly<Eval> = seed.mask(ring, &basis, &[row as u64]);
            (body, c1)
        };
        Self::from_rows(ring, shape, bodies.enumerate().map(with_mask))
    }

    /// A key of these bodies and masks, in the order of rows.
    /// Panics: when their number is not that of the shape.
    pub fn from_rows<'a>(
        ring: &RotationRing,
        shape: BootstrapShape,
        rows: impl ExactSizeIterator<Item = (&'a [u64], Poly<Eval>)>,
    ) -> Self {
        assert_eq!(rows.len(), shape.rows(), "number of bodies");
        let mut key = Self::empty(ring, shape);
        for (row, (body, mask)) in rows.enumerate() {
            key.set(row, body, mask.row(0));
        }
        key
    }

    fn empty(ring: &RotationRing, shape: BootstrapShape) -> Self {
        let level = |_| AlignedVec::zeroed(shape.keys() * KEY_ROWS * ring.n());
        Self {
            shape,
            levels: (0..shape.gadget.digits).map(level).collect(),
        }
    }

    fn set(&mut self, row: usize, body: &[u64], mask: &[u64]) {
        let (i, digit, part) = self.shape.place(row);
        let block = self.shape.block;
        let words = &mut self.levels[digit];
        let from = words.len() / self.shape.keys() * (i - i % block);
        for (column, residues) in [body, mask].into_iter().enumerate() {
            for (v, lanes) in residues.chunks(LANES).enumerate() {
                let at = (v * block + i % block) * KEY_ROWS + 2 * part + column;
                words[from + at * LANES..][..LANES].copy_from_slice(lanes);
            }
        }
    }

    /// The body of a row, to be written out.
    pub fn body(&self, row: usize) -> Vec<u64> {
        let (i, digit, part) = self.shape.place(row);
        self.residues(i, digit, 2 * part)
    }

    /// Row `row` of [`KEY_ROWS`] of a coordinate and digit.
    pub fn residues(&self, i: usize, digit: usize, row: usize) -> Vec<u64> {
        let block = self.shape.block;
        let words = &self.levels[digit];
        let per_key = words.len() / self.shape.keys();
        let vectors = per_key / KEY_ROWS / LANES;
        let from = per_key * (i - i % block);
        let place = |v: usize| ((v * block + i % block) * KEY_ROWS + row) * LANES;
        (0..vectors)
            .flat_map(|v| &words[from + place(v)..][..LANES])
            .copied()
            .collect()
    }

    /// Returns the dimensions and gadgets of the key.
    pub fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    /// The rows of a block for each of the first `digits` digits.
    pub(crate) fn block(&self, block: usize, digits: usize) -> Vec<&[u64]> {
        let of = |words: &'_ AlignedVec| words.len() / self.shape.keys() * self.shape.block;
        let levels = self.levels[..digits].iter();
        levels
            .map(|words| &words[block * of(words)..][..of(words)])
            .collect()
    }
}

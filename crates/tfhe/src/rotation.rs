//! Windows on phases, and blind rotations in exact integers.

use crate::{BootstrapKey, BootstrapShape, Lwe, RingCipher, RotationRing};
use omr_ring::parallel::{self, *};
use omr_ring::{AlignedVec, BlockRows, Gadget};

/// A function on phases modulo `2n`: `value` where the phase lies within `half` of `centre`,
/// `-value` half a turn away, and 0 elsewhere. InstantOMR's functions f (section 5.2.1) and g
/// (section 5.2.2) are windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The middle, modulo `2n`.
    pub centre: u32,
    /// Phases on each side that belong to it.
    pub half: u32,
    /// A residue.
    pub value: u64,
}

impl Window {
    /// Where the window turned by a body begins: its places `at` from here on are coefficients `at mod n` of an
    /// accumulator, with the other sign where `at / n` is odd.
    pub fn start(&self, n: u64, body: u64) -> u64 {
        u64::from(self.centre) + 4 * n - u64::from(self.half) - body % (2 * n)
    }
}

/// The exponents of a ciphertext's rotation in dimension `n`, a power of two, one for each coordinate of the secret.
pub fn exponents(n: u64, ct: &Lwe) -> impl ExactSizeIterator<Item = u32> {
    let turn = move |&a: &u64| (2 * n - (a & (2 * n - 1))) as u32;
    ct.mask.iter().map(turn)
}

/// Most rotations of a thread that go through the key side by side: their accumulators stay in cache.
const TOGETHER: usize = 24;

/// A blind rotation under way.
pub struct Rotation {
    accumulator: RingCipher,
    /// The exponent of the rotation for each coordinate of the secret.
    exponents: Vec<u32>,
}

/// Rows that one rotation's products are made in.
struct Scratch {
    digits: Vec<AlignedVec>,
    product: [AlignedVec; 2],
}

impl Rotation {
    /// Turns `window` by the phase of `ct`, a ciphertext modulo `2n`: the constant coefficient will be
    /// the value of the window there.
    ///
    /// Panics: when the window is wider than half a turn.
    pub fn new(ring: &RotationRing, ct: &Lwe, window: Window) -> Self {
        let (n, m) = (ring.n() as u64, ring.modulus(0));
        assert!(
            2 * u64::from(window.half) < n,
            "a window within half a turn"
        );
        let mut table = vec![0; ring.n()];
        // The window, turned by the body.
        let start = window.start(n, ct.body);
        for at in start..=start + 2 * u64::from(window.half) {
            let negative = at / n % 2 == 1;
            table[(at % n) as usize] = if negative {
                m.neg(window.value)
            } else {
                window.value
            };
        }
        Self {
            accumulator: RingCipher::trivial(&table),
            exponents: exponents(n, ct).collect(),
        }
    }

    /// Body and mask.
    pub(crate) fn parts(&mut self) -> [&mut [u64]; 2] {
        let RingCipher { body, mask } = &mut self.accumulator;
        [body, mask]
    }

    pub(crate) fn exponents(&self) -> &[u32] {
        &self.exponents
    }

    fn step(&mut self, ring: &RotationRing, key: &BlockKey, scratch: &mut Scratch) {
        let (k, m, table) = (ring.kernels(), ring.modulus(0), ring.table(0));
        let Scratch { digits, product } = scratch;
        let count = key.gadget.digits as usize;
        let parts = [&self.accumulator.body, &self.accumulator.mask];
        for (part, rows) in parts.into_iter().zip(digits.chunks_mut(count)) {
            let mut rows: Vec<&mut [u64]> = rows.iter_mut().map(|row| &mut row[..]).collect();
            k.decompose(m, key.gadget, &mut rows, part);
            for row in rows {
                k.ntt_factors(table, row);
            }
        }
        let digits: Vec<[&[u64]; 2]> = (0..count)
            .map(|i| [&digits[i][..], &digits[count + i][..]])
            .collect();
        let rows = BlockRows {
            digits: &digits,
            key: &key.rows,
            exponents: &self.exponents[key.coordinates.clone()],
        };
        let [body, mask] = product;
        k.block_product(ring.monomials(), [body, mask], &rows);
        let parts = [&mut self.accumulator.body, &mut self.accumulator.mask];
        for (part, product) in parts.into_iter().zip(product) {
            k.ntt_inverse(table, product);
            k.add_assign(m, part, product);
        }
    }
}

/// One block of a key.
struct BlockKey<'a> {
    gadget: Gadget,
    rows: Vec<&'a [u64]>,
    coordinates: std::ops::Range<usize>,
}

impl BootstrapKey {
    /// Carries out rotations, block by block for many of them together, which read the key once. Only
    /// the first `digits` digits of accumulators are used: fewer are faster and less exact.
    ///
    /// Panics: when a ciphertext's dimension is not the key's, or the key has fewer digits.
    pub fn rotate(
        &self,
        ring: &RotationRing,
        digits: u32,
        rotations: Vec<Rotation>,
    ) -> Vec<RingCipher> {
        let shape = self.shape().first_digits(digits);
        shared(&shape, rotations, |rotations| {
            let row = || AlignedVec::zeroed(ring.n());
            let mut scratch = Scratch {
                digits: (0..2 * digits).map(|_| row()).collect(),
                product: [row(), row()],
            };
            for block in 0..shape.blocks() {
                let key = BlockKey {
                    gadget: shape.gadget,
                    rows: self.block(block, digits as usize),
                    coordinates: block * shape.block..(block + 1) * shape.block,
                };
                for rotation in rotations.iter_mut() {
                    rotation.step(ring, &key, &mut scratch);
                }
            }
        })
    }
}

/// Carries out rotations in shares of at most [`TOGETHER`], over the threads.
///
/// Panics: when a ciphertext's dimension is not that of the shape.
pub(crate) fn shared(
    shape: &BootstrapShape,
    mut rotations: Vec<Rotation>,
    rotate: impl Fn(&mut [Rotation]) + Send + Sync,
) -> Vec<RingCipher> {
    let fits = |rotation: &Rotation| rotation.exponents.len() == shape.n;
    assert!(rotations.iter().all(fits), "dimension of the key");
    let threads = parallel::current_num_threads();
    // As many shares for each thread, all alike.
    let shares = rotations.len().div_ceil(threads * TOGETHER) * threads;
    let share = rotations.len().div_ceil(shares.max(1)).max(1);
    rotations.par_chunks_mut(share).for_each(rotate);
    rotations.into_iter().map(|r| r.accumulator).collect()
}

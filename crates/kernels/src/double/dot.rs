//! Sums of products, in words of 25 bits. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use super::field::Field;
use crate::Modulus;
use crate::scalar::mul::CHUNK;

/// Bits of the lower of two words of a residue.
const HALF: u32 = 25;
const LOW: u64 = (1 << HALF) - 1;

/// Sums of the products of high words, of high and low ones, and of low words.
type Sums = [u64; 3];

/// Adds a product. At most 4096 of residues below `2^50` stay below `2^63`.
#[inline]
fn add(sums: &mut Sums, x: u64, y: u64) {
    let ([a, b], [c, d]) = ([x >> HALF, x & LOW], [y >> HALF, y & LOW]);
    sums[0] += a * c;
    sums[1] += a * d + b * c;
    sums[2] += b * d;
}

/// The constants that reduce sums of products modulo a prime.
struct Whole {
    f: Field,
    /// `2^50` and `2^25`.
    weights: [u64; 2],
}

impl Whole {
    fn new(m: &Modulus) -> Self {
        let f = Field::new(m);
        let weights = [2 * HALF, HALF].map(|bits| f.reduce(1 << bits));
        Self { f, weights }
    }

    #[inline]
    fn value(&self, m: &Modulus, sums: &Sums) -> u64 {
        let [high, middle, low] = sums.map(|sum| self.f.reduce(sum));
        let upper = m.add(
            self.f.mul(high, self.weights[0]),
            self.f.mul(middle, self.weights[1]),
        );
        m.add(upper, low)
    }
}

pub(super) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let whole = Whole::new(m);
    for (block, chunk) in out.chunks_mut(CHUNK).enumerate() {
        let range = block * CHUNK..block * CHUNK + chunk.len();
        let mut sums = [[0; 3]; CHUNK];
        for (a, b) in a.iter().zip(b) {
            let pairs = a[range.clone()].iter().zip(&b[range.clone()]);
            for (sums, (&x, &y)) in sums.iter_mut().zip(pairs) {
                add(sums, x, y);
            }
        }
        for (x, sums) in chunk.iter_mut().zip(&sums) {
            *x = whole.value(m, sums);
        }
    }
}

pub(super) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    let whole = Whole::new(m);
    for (block, chunk) in out.chunks_mut(CHUNK).enumerate() {
        let range = block * CHUNK..block * CHUNK + chunk.len();
        let mut sums = [[0; 3]; CHUNK];
        for (row, &c) in src.iter().zip(coef) {
            for (sums, &x) in sums.iter_mut().zip(&row[range.clone()]) {
                add(sums, x, c);
            }
        }
        for (x, sums) in chunk.iter_mut().zip(&sums) {
            *x = whole.value(m, sums);
        }
    }
}

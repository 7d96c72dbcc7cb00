//! The division of the expanded coefficients into blocks, each one subtree of the expansion.

use super::Bundles;
use crate::clear::Params;
use omr_bgv::Plain;
use omr_ring::RingError;

/// `count` blocks of `len` leaves each. Leaf t of block beta is the coefficient `v (beta + count t)` of the
/// pertinency vector, and its row is
/// `v sum_j eta_j^(beta + count t) row_j = v sum_kappa kappa^t sum_(j: eta_j^count = kappa) eta_j^beta row_j`.
pub(crate) struct Blocks {
    pub(crate) count: usize,
    pub(crate) len: usize,
    /// The transform over the `kappa`.
    pub(crate) plain: Plain,
    /// The number of the `kappa` for each index of the evaluation domain. It is that of the inverse root,
    /// because the sum over `kappa^t` is an inverse transform at inverse roots.
    pub(crate) gather: Vec<u32>,
    /// The `eta_j` of each bundle.
    pub(crate) roots: Vec<u64>,
}

impl Blocks {
    /// Divides the bundles of a batch into `count` blocks.
    ///
    /// Panics: if a block would span several small ciphertexts.
    pub(crate) fn new(params: &Params, bundles: &Bundles, count: usize) -> Result<Self, RingError> {
        let (n, len) = (params.slots(), bundles.count() / count);
        assert!(len <= params.small.n(), "a block within a ciphertext");
        let p = params.p();
        let plain = Plain::new(p.value(), len, params.small.kernels())?;
        let exponent = |bundle: usize| {
            let slot = bundles.slots(bundle).next().expect("no bundle is empty");
            params.plain.order().exponent(slot)
        };
        let roots = (0..bundles.count()).map(|j| params.plain.root(bundles.size() * exponent(j)));
        // Both roots generate the same group: find the power that links them.
        let (large, own) = (params.plain.root(n / len), plain.root(1));
        let link = (1..2 * len)
            .step_by(2)
            .find(|&k| p.pow(own, k as u64) == large)
            .expect("both roots generate the same group");
        let mut position = vec![0; 2 * len];
        for (slot, &at) in plain.order().positions().iter().enumerate() {
            position[plain.order().exponent(slot)] = at as usize;
        }
        let mut gather = vec![0; len];
        for kappa in 0..len {
            let e = exponent(Self::bundle(bundles, len, kappa, 0));
            let inverse = 2 * len - link * (e % (2 * len)) % (2 * len);
            gather[position[inverse]] = kappa as u32;
        }
        Ok(Self {
            count,
            len,
            roots: roots.collect(),
            plain,
            gather,
        })
    }

    /// Returns the bundle number `slice` of those whose `kappa` is `row len/2 + column`.
    fn bundle(bundles: &Bundles, len: usize, kappa: usize, slice: usize) -> usize {
        let half = len / 2;
        let (row, column) = (kappa / half, kappa % half);
        row * bundles.count() / 2 + slice * half + column
    }

    /// Returns the number of a bundle's `kappa`.
    pub(crate) fn kappa(&self, bundle: usize) -> usize {
        let (half, row_len) = (self.len / 2, self.roots.len() / 2);
        bundle / row_len * half + bundle % half
    }

    /// Returns the small ciphertext, level and node of the subtree of block `beta`, if a large ciphertext
    /// becomes `parts` small ones. The node contains the coefficients whose number is congruent to its own
    /// modulo `2^level`.
    pub(crate) fn root(&self, beta: usize, size: usize, parts: usize) -> (usize, usize, usize) {
        let first = size * beta;
        let level = (size * self.count / parts).trailing_zeros() as usize;
        (first % parts, level, first / parts)
    }

    /// Returns the number t of the leaf that the depth-first expansion of a block reaches at `place`.
    pub(crate) fn leaf(&self, place: usize) -> usize {
        let bits = self.len.trailing_zeros();
        place.reverse_bits() >> (usize::BITS - bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the rows of all leaves with their definition.
    #[test]
    fn transforms_are_sums_over_bundles() {
        let params = crate::detector::params_of("insecure-tiny-perfomr1-v1");
        let p = params.p();
        for (size, count) in [(1, 8), (2, 4), (2, 8), (8, 1)] {
            let bundles = Bundles::new(&params, size).unwrap();
            let blocks = Blocks::new(&params, &bundles, count).unwrap();
            let row: Vec<u64> = (0..bundles.count() as u64)
                .map(|j| p.reduce(j * j * 77 + j * 12_345 + 3))
                .collect();
            for beta in [0, count - 1] {
                let mut values = vec![0; blocks.len];
                for (j, &x) in row.iter().enumerate() {
                    let weight = p.pow(blocks.roots[j], beta as u64);
                    let value = &mut values[blocks.kappa(j)];
                    *value = p.add(*value, p.mul(x, weight));
                }
                let mut eval: Vec<u64> =
                    blocks.gather.iter().map(|&k| values[k as usize]).collect();
                let mut coeffs = vec![0; blocks.len];
                blocks.plain.interpolate_into(&mut eval, &mut coeffs);
                for t in [0, 1, 2, blocks.len / 2 + 1, blocks.len - 1] {
                    let exponent = (beta + count * t) as u64;
                    let expected = row.iter().zip(&blocks.roots).fold(0, |sum, (&x, &root)| {
                        p.add(sum, p.mul(x, p.pow(root, exponent)))
                    });
                    let found = p.mul(coeffs[t].into(), blocks.len as u64);
                    assert_eq!(found, expected, "v {size}, M {count}, beta {beta}, t {t}");
                }
            }
        }
    }
}

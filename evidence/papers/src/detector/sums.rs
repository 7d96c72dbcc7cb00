//! The sums of leaves times rows.

use super::rows::LeafRows;
use crate::clear::Params;
use omr_ring::{AlignedVec, Poly};
use omr_rlwe::Rlwe;

/// The number of leaves that are multiplied together and whose products are reduced once.
pub(crate) const GROUP: usize = 16;

/// Ciphertexts whose coefficients are the sums.
pub(crate) struct Sums(Vec<Rlwe>);

/// Buffers for the rows of one group after another.
pub(crate) struct Scratch {
    coeffs: Vec<u32>,
    plain: Vec<AlignedVec>,
    product: [AlignedVec; 2],
}

impl Scratch {
    pub(crate) fn new(params: &Params) -> Self {
        let n = params.small.n();
        let row = || AlignedVec::zeroed(n);
        Self {
            coeffs: vec![0; GROUP * n],
            plain: (0..GROUP).map(|_| row()).collect(),
            product: [row(), row()],
        }
    }
}

impl Sums {
    pub(crate) fn new(params: &Params, ciphertexts: usize) -> Self {
        let zero = || Rlwe::zero(&params.small, &params.small_basis());
        Self((0..ciphertexts).map(|_| zero()).collect())
    }

    /// Adds `leaf_i row_i` for leaves of a block, the first at place `first`. A leaf is a constant, so the
    /// row's entries become coefficients.
    pub(crate) fn add_group(
        &mut self,
        params: &Params,
        rows: &LeafRows,
        leaves: &[Rlwe],
        first: usize,
        scratch: &mut Scratch,
    ) {
        let (ring, p) = (&params.small, params.p().value() as u32);
        let (kernels, n) = (ring.kernels(), ring.n());
        for (k, sum) in self.0.iter_mut().enumerate() {
            rows.plaintexts(first..first + leaves.len(), k * n, n, &mut scratch.coeffs);
            for limb in 0..params.small_basis().len() {
                let (m, table) = (ring.modulus(limb), ring.table(limb));
                for (row, coeffs) in scratch
                    .plain
                    .iter_mut()
                    .zip(scratch.coeffs.chunks(n))
                    .take(leaves.len())
                {
                    kernels.lift_centered(m, row, coeffs, p);
                    kernels.ntt_factors(table, row);
                }
                let plain: Vec<&[u64]> = scratch.plain[..leaves.len()]
                    .iter()
                    .map(|row| &row[..])
                    .collect();
                let c0: Vec<&[u64]> = leaves.iter().map(|leaf| leaf.c0.row(limb)).collect();
                let c1: Vec<&[u64]> = leaves.iter().map(|leaf| leaf.c1.row(limb)).collect();
                let [a, b] = &mut scratch.product;
                kernels.dot_pair(m, [a, b], &plain, [&c0, &c1]);
                kernels.add_assign(m, sum.c0.row_mut(limb), a);
                kernels.add_assign(m, sum.c1.row_mut(limb), b);
            }
        }
    }

    pub(crate) fn add(&mut self, params: &Params, other: &Self) {
        let ring = &params.small;
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            let parts: [(&mut Poly<_>, &Poly<_>); 2] =
                [(&mut sum.c0, &other.c0), (&mut sum.c1, &other.c1)];
            parts.into_iter().for_each(|(x, y)| ring.add_assign(x, y));
        }
    }

    pub(crate) fn ciphertexts(&self) -> &[Rlwe] {
        &self.0
    }
}

//! Polynomials as rows of residues, in the coefficient or the evaluation domain.

use crate::buffer::Buffer;
use crate::parallel::*;
use crate::{Basis, Ring};
use std::marker::PhantomData;

/// Coefficient domain: `row[i]` belongs to `X^i`.
#[derive(Clone, Copy, Debug)]
pub struct Coeff;

/// Evaluation domain: `row[j]` is the value at `psi^(2 brv(j) + 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Eval;

/// Words between long rows: rows a power of two apart would compete for the same cache lines.
const PAD: usize = 64;

/// Rows from this length on are kept apart.
const PADDED_FROM: usize = 4096;

/// Words from one row to the next.
fn stride(n: usize) -> usize {
    if n < PADDED_FROM { n } else { n + PAD }
}

/// A polynomial: one row of `n` residues for each prime of its basis.
#[derive(Clone, Debug)]
pub struct Poly<D> {
    n: usize,
    stride: usize,
    basis: Basis,
    data: Buffer,
    domain: PhantomData<D>,
}

impl<D> Poly<D> {
    /// The zero polynomial.
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        Self::new(ring.n(), basis, Buffer::zeroed)
    }

    /// A polynomial of any content, to be overwritten.
    pub fn scratch(ring: &Ring, basis: &Basis) -> Self {
        Self::new(ring.n(), basis, Buffer::any)
    }

    /// A polynomial of any content, to be overwritten, that stays: its memory is no larger than it needs.
    pub fn lasting(ring: &Ring, basis: &Basis) -> Self {
        Self::new(ring.n(), basis, Buffer::lasting)
    }

    /// A polynomial made from rows laid one after another. Panics: when the length is not `n` words
    /// for each prime.
    pub fn from_rows(n: usize, basis: &Basis, data: Vec<u64>) -> Self {
        assert_eq!(data.len(), n * basis.len(), "n residues for each prime");
        let mut out = Self::new(n, basis, Buffer::any);
        for (row, words) in out.rows_mut().zip(data.chunks(n)) {
            row.copy_from_slice(words);
        }
        out
    }

    /// Words that a polynomial takes, its padding included.
    pub fn words(n: usize, basis: &Basis) -> usize {
        stride(n) * basis.len()
    }

    fn new(n: usize, basis: &Basis, buffer: impl FnOnce(usize) -> Buffer) -> Self {
        let stride = stride(n);
        Self {
            n,
            stride,
            basis: basis.clone(),
            data: buffer(stride * basis.len()),
            domain: PhantomData,
        }
    }

    /// The basis whose primes the rows belong to.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The row of limb `i`, `n` residues.
    pub fn row(&self, i: usize) -> &[u64] {
        &self.data[i * self.stride..][..self.n]
    }

    /// The row of limb `i`, to write.
    pub fn row_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.data[i * self.stride..][..self.n]
    }

    /// The row of prime `id`. Panics: when the basis lacks it.
    pub fn row_of(&self, id: usize) -> &[u64] {
        let i = self.basis.position(id).expect("prime belongs to the basis");
        self.row(i)
    }

    /// The rows, in the order of the basis.
    pub fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.data.chunks(self.stride).map(|row| &row[..self.n])
    }

    /// The rows, to write.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let n = self.n;
        self.data
            .chunks_mut(self.stride)
            .map(move |row| &mut row[..n])
    }

    /// All residues, row by row.
    pub fn to_words(&self) -> Vec<u64> {
        self.rows().flatten().copied().collect()
    }

    /// A copy of the rows of `basis`. Panics: when a prime is missing.
    pub fn restrict(&self, basis: &Basis) -> Self {
        let mut out = Self::new(self.n, basis, Buffer::any);
        for (row, &id) in out.rows_mut().zip(basis.ids()) {
            row.copy_from_slice(self.row_of(id));
        }
        out
    }

    /// The rows with their primes, several threads at a time.
    pub(crate) fn par_rows_mut(
        &mut self,
    ) -> impl IndexedParallelIterator<Item = (usize, &mut [u64])> {
        let n = self.n;
        let rows = self.data.par_chunks_mut(self.stride);
        rows.zip(self.basis.ids())
            .map(move |(row, &id)| (id, &mut row[..n]))
    }

    /// The rows with their primes.
    pub(crate) fn id_rows_mut(&mut self) -> impl Iterator<Item = (usize, &mut [u64])> {
        let n = self.n;
        let rows = self.data.chunks_mut(self.stride);
        rows.zip(self.basis.ids())
            .map(move |(row, &id)| (id, &mut row[..n]))
    }

    /// Relabels the rows as those of another domain, once each is transformed.
    pub(crate) fn into_domain<E>(self) -> Poly<E> {
        Poly {
            n: self.n,
            stride: self.stride,
            basis: self.basis,
            data: self.data,
            domain: PhantomData,
        }
    }
}

impl<D> zeroize::Zeroize for Poly<D> {
    fn zeroize(&mut self) {
        self.data.zeroize();
    }
}

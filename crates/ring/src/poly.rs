use crate::buffer::Buffer;
use crate::{Basis, Ring};
use std::marker::PhantomData;

/// Coefficient domain: `row[i]` belongs to `X^i`.
#[derive(Clone, Copy, Debug)]
pub struct Coeff;

/// Evaluation domain: `row[j]` is the value at `psi^(2 brv(j) + 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Eval;

/// A polynomial: one row of `n` residues for each prime of its basis.
#[derive(Clone, Debug)]
pub struct Poly<D> {
    n: usize,
    basis: Basis,
    data: Buffer,
    domain: PhantomData<D>,
}

impl<D> Poly<D> {
    /// The zero polynomial.
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        let data = Buffer::zeroed(ring.n() * basis.len());
        Self {
            n: ring.n(),
            basis: basis.clone(),
            data,
            domain: PhantomData,
        }
    }

    /// A polynomial of any content, to be overwritten.
    pub fn scratch(ring: &Ring, basis: &Basis) -> Self {
        let data = Buffer::any(ring.n() * basis.len());
        Self {
            n: ring.n(),
            basis: basis.clone(),
            data,
            domain: PhantomData,
        }
    }

    /// From rows laid one after another. Panics: when the length is not `n` a prime.
    pub fn from_rows(n: usize, basis: &Basis, data: Vec<u64>) -> Self {
        assert_eq!(data.len(), n * basis.len(), "n residues for each prime");
        let data = Buffer::from_slice(&data);
        Self {
            n,
            basis: basis.clone(),
            data,
            domain: PhantomData,
        }
    }

    /// Its primes.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Limb `i`.
    pub fn row(&self, i: usize) -> &[u64] {
        &self.data[i * self.n..(i + 1) * self.n]
    }

    /// Limb `i`, to write.
    pub fn row_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.data[i * self.n..(i + 1) * self.n]
    }

    /// The row of prime `id`. Panics: when the basis lacks it.
    pub fn row_of(&self, id: usize) -> &[u64] {
        let i = self.basis.position(id).expect("prime belongs to the basis");
        self.row(i)
    }

    /// All rows, one after another.
    pub fn data(&self) -> &[u64] {
        &self.data
    }

    /// All rows, to write.
    pub fn data_mut(&mut self) -> &mut [u64] {
        &mut self.data
    }

    /// A copy of the rows of `basis`. Panics: when a prime is missing.
    pub fn restrict(&self, basis: &Basis) -> Self {
        let mut data = Buffer::any(self.n * basis.len());
        for (row, &id) in data.chunks_mut(self.n).zip(basis.ids()) {
            row.copy_from_slice(self.row_of(id));
        }
        Self {
            n: self.n,
            basis: basis.clone(),
            data,
            domain: PhantomData,
        }
    }

    pub(crate) fn parts_mut(&mut self) -> (&Basis, &mut [u64]) {
        (&self.basis, &mut self.data)
    }

    pub(crate) fn into_domain<E>(self) -> Poly<E> {
        Poly {
            n: self.n,
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

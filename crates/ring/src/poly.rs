//! Polynomials as rows of residues, in the coefficient or the evaluation domain.

use crate::backend::{At, Away};
use crate::buffer::Buffer;
use crate::parallel::*;
use crate::update::Source;
use crate::{Backend, Basis, Ring};
use std::marker::PhantomData;
use std::sync::Arc;

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
    data: Data,
    domain: PhantomData<D>,
}

/// Where the residues lie.
#[derive(Clone, Debug)]
enum Data {
    Here(Buffer),
    Away(Away),
}

impl Data {
    fn here(&self) -> &Buffer {
        match self {
            Self::Here(buffer) => buffer,
            Self::Away(_) => panic!("rows that lie in this process's memory"),
        }
    }

    fn here_mut(&mut self) -> &mut Buffer {
        match self {
            Self::Here(buffer) => buffer,
            Self::Away(_) => panic!("rows that lie in this process's memory"),
        }
    }
}

/// The ring of a polynomial decides where its rows lie: in this process's memory, or in that of the ring's
/// [`Backend`](crate::Backend). Methods that return rows as slices panic for the latter.
impl<D> Poly<D> {
    /// The zero polynomial.
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        Self::taken(ring, basis, Buffer::zeroed, Away::zeroed)
    }

    /// A polynomial of any content, to be overwritten.
    pub fn scratch(ring: &Ring, basis: &Basis) -> Self {
        Self::taken(ring, basis, Buffer::any, Away::any)
    }

    /// A polynomial of any content, to be overwritten, that stays: its memory is no larger than it needs.
    pub fn lasting(ring: &Ring, basis: &Basis) -> Self {
        Self::taken(ring, basis, Buffer::lasting, Away::any)
    }

    /// Takes memory where the polynomials of `ring` lie.
    fn taken(
        ring: &Ring,
        basis: &Basis,
        here: impl FnOnce(usize) -> Buffer,
        away: impl FnOnce(&Arc<dyn Backend>, usize) -> Away,
    ) -> Self {
        match ring.backend() {
            Some(backend) => Self::away(ring.n(), basis, |words| away(backend, words)),
            None => Self::new(ring.n(), basis, here),
        }
    }

    /// The zero polynomial in this process's memory, wherever the ring's polynomials lie.
    pub(crate) fn here_of(ring: &Ring, basis: &Basis) -> Self {
        Self::new(ring.n(), basis, Buffer::zeroed)
    }

    /// The polynomial where the polynomials of `ring` lie, which has the same dimension and primes as its own.
    pub fn moved_to(&self, ring: &Ring) -> Self {
        let mut out = Self::scratch(ring, &self.basis);
        for limb in 0..self.basis.len() {
            out.copy_row(limb, self, limb);
        }
        out
    }

    /// The polynomial where the polynomials of `ring` lie: itself, or a copy.
    #[must_use]
    pub fn placed(self, ring: &Ring) -> Self {
        match ring.backend() {
            Some(_) => self.moved_to(ring),
            None => self,
        }
    }

    /// Copies a row of another polynomial, wherever both lie.
    fn copy_row(&mut self, limb: usize, from: &Self, from_limb: usize) {
        let (n, to_word, from_word) = (self.n, limb * self.stride, from_limb * from.stride);
        match (&from.data, &mut self.data) {
            (Data::Here(from), Data::Here(to)) => {
                to[to_word..][..n].copy_from_slice(&from[from_word..][..n]);
            }
            (Data::Here(from), Data::Away(to)) => to.write(to_word, &from[from_word..][..n]),
            (Data::Away(from), Data::Here(to)) => from.read(from_word, &mut to[to_word..][..n]),
            (Data::Away(from), Data::Away(to)) => to.copy(to_word, from, from_word, n),
        }
    }

    /// The polynomial in this process's memory; waits for what is under way in a backend's.
    #[must_use]
    pub fn here(self) -> Self {
        if let Data::Here(_) = self.data {
            return self;
        }
        let mut out = Self::new(self.n, &self.basis, Buffer::any);
        for limb in 0..self.basis.len() {
            out.copy_row(limb, &self, limb);
        }
        out
    }

    /// The row of prime `id`, for updates of other rows. Panics: when the basis lacks it.
    pub(crate) fn source(&self, id: usize) -> Source<'_> {
        let i = self.basis.position(id).expect("prime belongs to the basis");
        match &self.data {
            Data::Here(buffer) => Source::Here(&buffer[i * self.stride..][..self.n]),
            Data::Away(rows) => Source::Away(rows.at(i * self.stride)),
        }
    }

    /// The place of the row of prime `id` in a backend's memory. Panics: when the basis lacks it, or the rows lie in
    /// this process's memory.
    pub fn at(&self, id: usize) -> At<'_> {
        self.source(id).at()
    }

    fn away(n: usize, basis: &Basis, take: impl FnOnce(usize) -> Away) -> Self {
        Self {
            n,
            stride: n,
            basis: basis.clone(),
            data: Data::Away(take(n * basis.len())),
            domain: PhantomData,
        }
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
            data: Data::Here(buffer(stride * basis.len())),
            domain: PhantomData,
        }
    }

    /// The basis whose primes the rows belong to.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The row of limb `i`, `n` residues.
    pub fn row(&self, i: usize) -> &[u64] {
        &self.data.here()[i * self.stride..][..self.n]
    }

    /// The row of limb `i`, to write.
    pub fn row_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.data.here_mut()[i * self.stride..][..self.n]
    }

    /// The row of prime `id`. Panics: when the basis lacks it.
    pub fn row_of(&self, id: usize) -> &[u64] {
        let i = self.basis.position(id).expect("prime belongs to the basis");
        self.row(i)
    }

    /// The rows, in the order of the basis.
    pub fn rows(&self) -> impl Iterator<Item = &[u64]> {
        let rows = self.data.here().chunks(self.stride);
        rows.map(|row| &row[..self.n])
    }

    /// The rows, to write.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let n = self.n;
        let rows = self.data.here_mut().chunks_mut(self.stride);
        rows.map(move |row| &mut row[..n])
    }

    /// All residues, row by row.
    pub fn to_words(&self) -> Vec<u64> {
        self.rows().flatten().copied().collect()
    }

    /// A copy of the rows of `basis`. Panics: when a prime is missing.
    pub fn restrict(&self, basis: &Basis) -> Self {
        let mut out = match &self.data {
            Data::Here(_) => Self::new(self.n, basis, Buffer::any),
            Data::Away(rows) => Self::away(self.n, basis, |n| Away::any(rows.backend(), n)),
        };
        let place = |&id: &usize| self.basis.position(id).expect("prime belongs to the basis");
        let places: Vec<usize> = basis.ids().iter().map(place).collect();
        if let (Data::Away(from), Data::Away(to)) = (&self.data, &mut out.data) {
            // Neighbouring rows take one copy.
            let mut limb = 0;
            for run in places.chunk_by(|place, next| place + 1 == *next) {
                to.copy(limb * self.n, from, run[0] * self.n, run.len() * self.n);
                limb += run.len();
            }
            return out;
        }
        for (limb, from) in places.into_iter().enumerate() {
            out.copy_row(limb, self, from);
        }
        out
    }

    /// The rows with their primes, several threads at a time.
    pub(crate) fn par_rows_mut(
        &mut self,
    ) -> impl IndexedParallelIterator<Item = (usize, &mut [u64])> {
        let n = self.n;
        let rows = self.data.here_mut().par_chunks_mut(self.stride);
        rows.zip(self.basis.ids())
            .map(move |(row, &id)| (id, &mut row[..n]))
    }

    /// The rows with their primes.
    pub(crate) fn id_rows_mut(&mut self) -> impl Iterator<Item = (usize, &mut [u64])> {
        let n = self.n;
        let rows = self.data.here_mut().chunks_mut(self.stride);
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
        match &mut self.data {
            Data::Here(buffer) => buffer.zeroize(),
            Data::Away(rows) => rows.zeroize(),
        }
    }
}

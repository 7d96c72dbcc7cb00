//! Updates of a polynomial's rows: what the operations of a ring are made of, for the processor and for a backend.

use crate::backend::At;
use crate::parallel::*;
use crate::{Poly, Ring};

/// A row that an update reads. It lies where the ring's polynomials lie.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Here(&'a [u64]),
    Away(At<'a>),
}

impl<'a> Source<'a> {
    /// Panics: when the row lies in a backend's memory.
    fn here(self) -> &'a [u64] {
        match self {
            Self::Here(row) => row,
            Self::Away(_) => panic!("rows that lie in this process's memory"),
        }
    }

    /// Panics: when the row lies in this process's memory.
    pub(crate) fn at(self) -> At<'a> {
        match self {
            Self::Here(_) => panic!("rows that lie in a backend's memory"),
            Self::Away(at) => at,
        }
    }
}

/// The new content of a row. Constants and factors are residues modulo the row's prime, products are pointwise.
pub(crate) enum Update<'a> {
    /// `row`: nothing changes.
    Keep,
    /// `row + a`.
    Add(Source<'a>),
    /// `row - a`.
    Sub(Source<'a>),
    /// `-row`.
    Neg,
    /// `c row`.
    Scale(u64),
    /// `row + c a`.
    AddScaled(Source<'a>, u64),
    /// `c (row - a)`.
    SubScale(Source<'a>, u64),
    /// `row + c` in every word.
    AddConstant(u64),
    /// `sum_i c_i a_i`, 0 without a term.
    Sum(Vec<(u64, Source<'a>)>),
    /// `row a`.
    Mul(Source<'a>),
    /// `row + a b`.
    AddProduct(Source<'a>, Source<'a>),
    /// `row + sum_i a_i b_i`.
    AddProducts(Vec<(Source<'a>, Source<'a>)>),
    /// `sum_i a_i b_i`.
    Products(Vec<(Source<'a>, Source<'a>)>),
    /// The values of the coefficients in `row`.
    Forward,
    /// The coefficients of the values in `row`.
    Inverse,
    /// `c` times the coefficients of the values in `a`.
    InverseOf(Source<'a>, u64),
}

impl Ring {
    /// Updates every row of a polynomial, `update` given by the prime: here on the processor, elsewhere by the backend.
    pub(crate) fn update<'a, D>(
        &self,
        to: &mut Poly<D>,
        update: impl Fn(usize) -> Update<'a> + Send + Sync,
    ) {
        match self.backend() {
            Some(backend) => self.update_away(&**backend, &[to], |_, id| update(id)),
            None => self.each_row(to, |id, row| self.update_row(id, row, update(id))),
        }
    }

    /// Updates every row of several polynomials, `update` given by the polynomial's number and the prime.
    pub(crate) fn update_all<'a, D: Send>(
        &self,
        to: &mut [&mut Poly<D>],
        update: impl Fn(usize, usize) -> Update<'a> + Send + Sync,
    ) {
        match self.backend() {
            Some(backend) => self.update_away(&**backend, to, update),
            None => to.par_iter_mut().enumerate().for_each(|(number, poly)| {
                self.each_row(poly, |id, row| self.update_row(id, row, update(number, id)));
            }),
        }
    }

    // Every caller knows which update it makes: inlined, nothing is decided for a row.
    #[inline(always)]
    fn update_row(&self, id: usize, row: &mut [u64], update: Update<'_>) {
        let (k, m, table) = (self.kernels(), self.modulus(id), self.table(id));
        match update {
            Update::Keep => {}
            Update::Add(a) => k.add_assign(m, row, a.here()),
            Update::Sub(a) => k.sub_assign(m, row, a.here()),
            Update::Neg => k.neg_assign(m, row),
            Update::Scale(c) => k.scale_assign(m, row, c),
            Update::AddScaled(a, c) => k.scale_add_assign(m, row, a.here(), c),
            Update::SubScale(a, c) => k.sub_scale_assign(m, row, a.here(), c),
            Update::AddConstant(c) => row.iter_mut().for_each(|x| *x = m.add(*x, c)),
            Update::Sum(terms) => {
                let (c, a): (Vec<u64>, Vec<&[u64]>) =
                    terms.into_iter().map(|(c, a)| (c, a.here())).unzip();
                k.convert(m, row, &a, &c);
            }
            Update::Mul(a) => k.mul_assign(m, row, a.here()),
            Update::AddProduct(a, b) => k.mul_add_assign(m, row, a.here(), b.here()),
            Update::AddProducts(pairs) => {
                for (a, b) in pairs {
                    k.mul_add_assign(m, row, a.here(), b.here());
                }
            }
            Update::Products(pairs) => {
                let (a, b): (Vec<&[u64]>, Vec<&[u64]>) =
                    pairs.into_iter().map(|(a, b)| (a.here(), b.here())).unzip();
                k.dot(m, row, &a, &b);
            }
            Update::Forward => k.ntt_forward(table, row),
            Update::Inverse => k.ntt_inverse(table, row),
            Update::InverseOf(a, c) => k.ntt_inverse_scaled_from(table, row, a.here(), c),
        }
    }
}

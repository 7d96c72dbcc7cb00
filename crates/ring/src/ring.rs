//! The ring `Z[X]/(X^n + 1)` over a universe of primes, and arithmetic in it.

use crate::backend::Values;
use crate::parallel::{self, *};
use crate::update::{Source, Update};
use crate::{Backend, Basis, Coeff, Eval, Poly, RingError, Watch, Wiper};
use omr_kernels::{Kernels, Modulus, NttTable};
use std::sync::Arc;

/// Rows at least this long are spread over the threads.
const PARALLEL_FROM: usize = 1 << 14;

/// The ring `Z[X]/(X^n + 1)` with a universe of primes that are 1 modulo 2n. Clones share their tables.
#[derive(Clone)]
pub struct Ring {
    n: usize,
    kernels: &'static Kernels,
    tables: Arc<[NttTable]>,
    backend: Option<Arc<dyn Backend>>,
}

impl Ring {
    /// A ring of dimension `n` (a power of two) over `primes`, with the best kernels of this CPU.
    ///
    /// Errors: a prime that is repeated, not prime, over 50 bits or not 1 modulo 2n.
    pub fn new(n: usize, primes: &[u64]) -> Result<Self, RingError> {
        Self::with_kernels(n, primes, Kernels::detect())
    }

    /// A ring of dimension `n` (a power of two) over `primes`, with the kernels given.
    ///
    /// Errors: a prime that is repeated, not prime, over 50 bits or not 1 modulo 2n.
    pub fn with_kernels(
        n: usize,
        primes: &[u64],
        kernels: &'static Kernels,
    ) -> Result<Self, RingError> {
        for (i, q) in primes.iter().enumerate() {
            if primes[..i].contains(q) {
                return Err(RingError::Repeated(*q));
            }
        }
        let tables = primes
            .par_iter()
            .map(|&q| Ok(NttTable::new(Modulus::new(q)?, n)?))
            .collect::<Result<Vec<_>, RingError>>()?;
        Ok(Self {
            n,
            kernels,
            tables: tables.into(),
            backend: None,
        })
    }

    /// Returns this ring with its polynomials in the memory of a backend, which must have been made for this ring.
    #[must_use]
    pub fn with_backend(&self, backend: Arc<dyn Backend>) -> Self {
        Self {
            backend: Some(backend),
            ..self.clone()
        }
    }

    /// Where polynomials lie and are worked on, if not in this process's memory.
    pub fn backend(&self) -> Option<&Arc<dyn Backend>> {
        // Modules for browsers are small: there what backends do is no part of them.
        if cfg!(target_family = "wasm") {
            None
        } else {
            self.backend.as_ref()
        }
    }

    /// Watches over work on this ring's polynomials.
    pub fn watch(&self) -> Watch {
        Watch::new(self.backend())
    }

    /// Returns the object that overwrites dropped polynomials of this ring where they lie in a backend's memory.
    pub fn wiper(&self) -> Wiper {
        Wiper::new(self.backend())
    }

    /// Whether polynomials of both lie in one place.
    pub fn shares_place_with(&self, other: &Self) -> bool {
        match (self.backend(), other.backend()) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }

    /// The dimension.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The row operations in use.
    pub fn kernels(&self) -> &'static Kernels {
        self.kernels
    }

    /// The transform table of prime `id`.
    pub fn table(&self, id: usize) -> &NttTable {
        &self.tables[id]
    }

    /// Prime `id`.
    pub fn modulus(&self, id: usize) -> &Modulus {
        self.tables[id].modulus()
    }

    /// All primes.
    pub fn everything(&self) -> Basis {
        Basis::new(0..self.tables.len())
    }

    /// The product of the basis, in bits.
    pub fn log2(&self, basis: &Basis) -> f64 {
        basis
            .ids()
            .iter()
            .map(|&id| (self.modulus(id).value() as f64).log2())
            .sum()
    }

    /// The product of the basis modulo `m`.
    pub fn product_mod(&self, basis: &Basis, m: &Modulus) -> u64 {
        basis.ids().iter().fold(m.reduce(1), |acc, &id| {
            m.mul(acc, m.reduce(self.modulus(id).value()))
        })
    }

    /// Whether work on rows of this ring is spread over threads.
    pub fn is_parallel(&self) -> bool {
        self.n >= PARALLEL_FROM && parallel::current_num_threads() > 1
    }

    /// Calls `f(prime, row)` for every row, on several threads when rows are long.
    pub fn each_row<D>(&self, a: &mut Poly<D>, f: impl Fn(usize, &mut [u64]) + Send + Sync) {
        if self.is_parallel() {
            a.par_rows_mut().for_each(|(id, row)| f(id, row))
        } else {
            a.id_rows_mut().for_each(|(id, row)| f(id, row))
        }
    }

    /// Transforms a polynomial to the evaluation domain.
    pub fn forward(&self, mut a: Poly<Coeff>) -> Poly<Eval> {
        self.update(&mut a, |_| Update::Forward);
        a.into_domain()
    }

    /// [`Ring::forward`] of several polynomials.
    pub fn forward_all(&self, mut polys: Vec<Poly<Coeff>>) -> Vec<Poly<Eval>> {
        let mut all: Vec<&mut Poly<Coeff>> = polys.iter_mut().collect();
        self.update_all(&mut all, |_, _| Update::Forward);
        polys.into_iter().map(Poly::into_domain).collect()
    }

    /// Transforms a polynomial to the coefficient domain.
    pub fn inverse(&self, mut a: Poly<Eval>) -> Poly<Coeff> {
        self.update(&mut a, |_| Update::Inverse);
        a.into_domain()
    }

    /// `a += b`; `b` may have more primes. Panics: when it lacks one of `a`'s.
    pub fn add_assign<D: Sync>(&self, a: &mut Poly<D>, b: &Poly<D>) {
        self.update(a, |id| Update::Add(b.source(id)));
    }

    /// [`Ring::add_assign`] of the polynomials of one list to those of another. Panics: as it; where the lengths differ.
    pub fn add_all_assign<D: Send + Sync>(&self, a: &mut [&mut Poly<D>], b: &[&Poly<D>]) {
        assert_eq!(a.len(), b.len(), "as many polynomials");
        self.update_all(a, |i, id| Update::Add(b[i].source(id)));
    }

    /// `a -= b`; `b` may have more primes. Panics: when it lacks one of `a`'s.
    pub fn sub_assign<D: Sync>(&self, a: &mut Poly<D>, b: &Poly<D>) {
        self.update(a, |id| Update::Sub(b.source(id)));
    }

    /// `a = -a`.
    pub fn neg_assign<D>(&self, a: &mut Poly<D>) {
        self.update(a, |_| Update::Neg);
    }

    /// `a *= b`, pointwise.
    pub fn mul_assign(&self, a: &mut Poly<Eval>, b: &Poly<Eval>) {
        self.update(a, |id| Update::Mul(b.source(id)));
    }

    /// `acc += a * b`, pointwise.
    pub fn mul_add_assign(&self, acc: &mut Poly<Eval>, a: &Poly<Eval>, b: &Poly<Eval>) {
        self.update(acc, |id| Update::AddProduct(a.source(id), b.source(id)));
    }

    /// `acc += a * b`, pointwise, for the polynomials of two lists and one factor. Panics: where the lengths differ.
    pub fn mul_add_all_assign(
        &self,
        acc: &mut [&mut Poly<Eval>],
        a: &[&Poly<Eval>],
        b: &Poly<Eval>,
    ) {
        assert_eq!(acc.len(), a.len(), "as many polynomials");
        self.update_all(acc, |i, id| {
            Update::AddProduct(a[i].source(id), b.source(id))
        });
    }

    /// `acc += sum_i a_i b_i`, pointwise.
    pub fn add_products_assign(
        &self,
        acc: &mut Poly<Eval>,
        products: &[(&Poly<Eval>, &Poly<Eval>)],
    ) {
        self.update(acc, |id| Update::AddProducts(sources(products, id)));
    }

    /// `sum_i a_i b_i`, pointwise. Panics: without a product.
    pub fn sum_of_products(&self, products: &[(&Poly<Eval>, &Poly<Eval>)]) -> Poly<Eval> {
        let mut out = Poly::scratch(self, products[0].0.basis());
        self.update(&mut out, |id| Update::Products(sources(products, id)));
        out
    }

    /// `sum_i c_i a_i`, `c_i` small signed integers. Panics: without a term.
    pub fn linear_combination<D: Sync>(&self, terms: &[(i64, &Poly<D>)]) -> Poly<D> {
        let mut out = Poly::scratch(self, terms[0].1.basis());
        self.update(&mut out, |id| {
            let m = self.modulus(id);
            let terms = terms.iter().map(|(c, a)| (m.from_i64(*c), a.source(id)));
            Update::Sum(terms.collect())
        });
        out
    }

    /// `a *= c`, `c` an integer given by its residue modulo each prime.
    pub fn scale_assign<D>(&self, a: &mut Poly<D>, c: impl Fn(&Modulus) -> u64 + Send + Sync) {
        self.update(a, |id| Update::Scale(c(self.modulus(id))));
    }

    /// [`Ring::scale_assign`] of several polynomials.
    pub fn scale_all_assign<D: Send>(
        &self,
        a: &mut [&mut Poly<D>],
        c: impl Fn(&Modulus) -> u64 + Send + Sync,
    ) {
        self.update_all(a, |_, id| Update::Scale(c(self.modulus(id))));
    }

    /// `acc += c * a` modulo the primes that both have, `c` an integer given by its residue modulo each prime.
    pub fn scale_add_common_assign<D: Sync>(
        &self,
        acc: &mut Poly<D>,
        a: &Poly<D>,
        c: impl Fn(&Modulus) -> u64 + Send + Sync,
    ) {
        self.update(acc, |id| {
            if a.basis().contains(id) {
                Update::AddScaled(a.source(id), c(self.modulus(id)))
            } else {
                Update::Keep
            }
        });
    }

    /// `acc += c * a`, `c` an integer given by its residue modulo each prime.
    pub fn scale_add_assign<D: Sync>(
        &self,
        acc: &mut Poly<D>,
        a: &Poly<D>,
        c: impl Fn(&Modulus) -> u64 + Send + Sync,
    ) {
        self.update(acc, |id| {
            Update::AddScaled(a.source(id), c(self.modulus(id)))
        });
    }

    /// `a += c` in every word, `c` an integer given by its residue modulo each prime.
    pub fn add_constant_assign<D>(
        &self,
        a: &mut Poly<D>,
        c: impl Fn(&Modulus) -> u64 + Send + Sync,
    ) {
        self.update(a, |id| Update::AddConstant(c(self.modulus(id))));
    }

    /// The polynomial with these small signed coefficients. Time: constant.
    pub fn lift_signed(&self, coeffs: &[i64], basis: &Basis) -> Poly<Coeff> {
        assert_eq!(coeffs.len(), self.n, "one coefficient for each power of X");
        let mut out = Poly::here_of(self, basis);
        self.each_row(&mut out, |id, row| {
            let q = self.modulus(id).value();
            for (x, &c) in row.iter_mut().zip(coeffs) {
                *x = (c as u64).wrapping_add(((c >> 63) as u64) & q);
            }
        });
        out.placed(self)
    }

    /// Returns `factor X^k` in the evaluation domain. An exponent of n or more wraps around: `X^n = -1`.
    pub fn monomial(&self, basis: &Basis, k: usize, factor: i64) -> Poly<Eval> {
        let is_negative = k / self.n % 2 == 1;
        let mut coeffs = vec![0; self.n];
        coeffs[k % self.n] = if is_negative { -factor } else { factor };
        self.forward(self.lift_signed(&coeffs, basis))
    }

    /// Residues modulo `p`, lifted to `(-p/2, p/2]`, in the evaluation domain.
    pub fn lift_plain(&self, coeffs: &[u32], p: u32, basis: &Basis) -> Poly<Eval> {
        self.lift_plains(&[coeffs], p, basis).remove(0)
    }

    /// [`Ring::lift_plain`] of several polynomials.
    pub fn lift_plains(&self, polys: &[&[u32]], p: u32, basis: &Basis) -> Vec<Poly<Eval>> {
        if let Some(backend) = self.backend() {
            return self.lift_away(&**backend, p, polys, basis);
        }
        let lift = |coeffs: &&[u32]| {
            let mut out = Poly::<Coeff>::scratch(self, basis);
            self.each_row(&mut out, |id, row| {
                self.kernels.lift_centered(self.modulus(id), row, coeffs, p);
                self.kernels.ntt_forward(&self.tables[id], row);
            });
            out.into_domain()
        };
        polys.iter().map(lift).collect()
    }

    /// The polynomials `m_j` of this ring over the basis `to` with `m(X) = sum_j X^j m_j(X^step)`, for a polynomial m of
    /// the ring `large`, which has `step` times the dimension. Its first primes must be those of `to`, in the same
    /// order; where the rings have backends, these must have one memory.
    pub fn split(&self, large: &Self, m: &Poly<Coeff>, to: &Basis) -> Vec<Poly<Coeff>> {
        let step = large.n / self.n;
        if let Some(backend) = self.backend() {
            return self.split_away(&**backend, m, step, to);
        }
        let part = |j: usize| {
            let mut part = Poly::scratch(self, to);
            for limb in 0..to.len() {
                let own = m.row(limb)[j..].iter().step_by(step);
                part.row_mut(limb)
                    .iter_mut()
                    .zip(own)
                    .for_each(|(to, &x)| *to = x);
            }
            part
        };
        (0..step).map(part).collect()
    }

    /// The polynomials with these values modulo p, their coefficients lifted to `(-p/2, p/2]`, in the evaluation domain.
    pub fn interpolated(&self, values: &Values<'_>, basis: &Basis) -> Vec<Poly<Eval>> {
        if let Some(backend) = self.backend() {
            return self.interpolated_away(&**backend, values, basis);
        }
        let p = values.table.modulus().value() as u32;
        let mut polys = Vec::new();
        for column in values.columns {
            for order in values.order.chunks(self.n) {
                let mut row: Vec<u64> =
                    order.iter().map(|&at| column[at as usize].into()).collect();
                self.kernels.ntt_inverse(values.table, &mut row);
                let coefficients: Vec<u32> = row.iter().map(|&x| x as u32).collect();
                polys.push(self.lift_plain(&coefficients, p, basis));
            }
        }
        polys
    }
}

/// The rows of products modulo a prime.
fn sources<'a>(
    products: &[(&'a Poly<Eval>, &'a Poly<Eval>)],
    id: usize,
) -> Vec<(Source<'a>, Source<'a>)> {
    let rows = products.iter();
    rows.map(|(a, b)| (a.source(id), b.source(id))).collect()
}

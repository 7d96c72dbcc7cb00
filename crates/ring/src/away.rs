//! Operations on polynomials that lie in a backend's memory.

use crate::backend::{RowLift, RowProducts, RowSum, RowTransform, Values};
use crate::update::{Source, Update};
use crate::{Backend, Basis, Coeff, Eval, Poly, Ring, places};

/// Permutes the words of rows of polynomials in a backend's memory ([`Backend::permute`]). The results take the place of
/// `to`, as many polynomials over the same basis.
pub fn permuted_away(
    backend: &dyn Backend,
    key: usize,
    index: &[u32],
    from: &[Poly<Eval>],
    to: Vec<Poly<Eval>>,
) -> Vec<Poly<Eval>> {
    let mut rows = Vec::new();
    for (from, to) in from.iter().zip(&to) {
        let ids = from.basis().ids().iter();
        rows.extend(ids.map(|&id| (from.at(id), to.at(id))));
    }
    backend.permute(key, index, &rows);
    drop(rows);
    to
}

impl Ring {
    /// Updates all rows of polynomials together, because each call of a backend takes its time: `update` is given by the
    /// polynomial's number and the prime.
    pub(crate) fn update_away<'a, D>(
        &self,
        backend: &dyn Backend,
        polys: &[&mut Poly<D>],
        update: impl Fn(usize, usize) -> Update<'a>,
    ) {
        let (mut sums, mut products) = (Vec::new(), Vec::new());
        let (mut forward, mut inverse) = (Vec::new(), Vec::new());
        let rows = polys.iter().enumerate().flat_map(|(number, poly)| {
            let primes = poly.basis().ids().iter();
            primes.map(move |&prime| (number, prime, poly.at(prime)))
        });
        for (number, prime, to) in rows {
            let m = self.modulus(prime);
            let sum = |terms, constant| RowSum {
                prime,
                to,
                terms,
                constant,
            };
            let of_products = |pairs: Vec<(Source<'a>, Source<'a>)>, adds| RowProducts {
                prime,
                to,
                pairs: pairs.into_iter().map(|(a, b)| (a.at(), b.at())).collect(),
                adds,
            };
            match update(number, prime) {
                Update::Keep => {}
                Update::Add(a) => sums.push(sum(vec![(1, to), (1, a.at())], 0)),
                Update::Sub(a) => sums.push(sum(vec![(1, to), (m.value() - 1, a.at())], 0)),
                Update::Neg => sums.push(sum(vec![(m.value() - 1, to)], 0)),
                Update::Scale(c) => sums.push(sum(vec![(c, to)], 0)),
                Update::AddScaled(a, c) => sums.push(sum(vec![(1, to), (c, a.at())], 0)),
                Update::SubScale(a, c) => sums.push(sum(vec![(c, to), (m.neg(c), a.at())], 0)),
                Update::AddConstant(c) => sums.push(sum(vec![(1, to)], c)),
                Update::Sum(terms) => {
                    sums.push(sum(
                        terms.into_iter().map(|(c, a)| (c, a.at())).collect(),
                        0,
                    ));
                }
                Update::Mul(a) => products.push(RowProducts {
                    prime,
                    to,
                    pairs: vec![(to, a.at())],
                    adds: false,
                }),
                Update::AddProduct(a, b) => products.push(of_products(vec![(a, b)], true)),
                Update::AddProducts(pairs) => products.push(of_products(pairs, true)),
                Update::Products(pairs) => products.push(of_products(pairs, false)),
                Update::Forward => forward.push(RowTransform::in_place(prime, to)),
                Update::Inverse => inverse.push((RowTransform::in_place(prime, to), 1)),
                Update::InverseOf(a, c) => {
                    let from = a.at();
                    inverse.push((RowTransform { prime, from, to }, c));
                }
            }
        }
        if !sums.is_empty() {
            backend.combine(&sums);
        }
        if !products.is_empty() {
            backend.multiply(&products);
        }
        if !forward.is_empty() {
            backend.forward(&forward);
        }
        if !inverse.is_empty() {
            backend.inverse(&inverse);
        }
    }

    /// Polynomials with coefficients modulo p, lifted to `(-p/2, p/2]`, in the evaluation domain.
    pub(crate) fn lift_away(
        &self,
        backend: &dyn Backend,
        p: u32,
        polynomials: &[&[u32]],
        basis: &Basis,
    ) -> Vec<Poly<Eval>> {
        self.lifted(polynomials.len(), basis, |rows| {
            backend.lift(p, polynomials, rows);
        })
    }

    /// Does the work of [`Ring::split`].
    pub(crate) fn split_away(
        &self,
        backend: &dyn Backend,
        m: &Poly<Coeff>,
        step: usize,
        to: &Basis,
    ) -> Vec<Poly<Coeff>> {
        let index: Vec<u32> = (0..self.n()).map(|i| (i * step) as u32).collect();
        let parts: Vec<Poly<Coeff>> = (0..step).map(|_| Poly::scratch(self, to)).collect();
        let mut rows = Vec::new();
        for (j, part) in parts.iter().enumerate() {
            let primes = m.basis().ids().iter().zip(to.ids());
            rows.extend(primes.map(|(&from, &to)| (m.at(from).ahead(j), part.at(to))));
        }
        backend.permute(places::split(step), &index, &rows);
        drop(rows);
        parts
    }

    /// Does the work of [`Ring::interpolated`].
    pub(crate) fn interpolated_away(
        &self,
        backend: &dyn Backend,
        values: &Values<'_>,
        basis: &Basis,
    ) -> Vec<Poly<Eval>> {
        self.lifted(values.polynomials(), basis, |rows| {
            backend.interpolate(values, rows);
        })
    }

    /// Returns the values of `count` polynomials whose rows of coefficients `write` writes.
    fn lifted(
        &self,
        count: usize,
        basis: &Basis,
        write: impl FnOnce(&[RowLift<'_>]),
    ) -> Vec<Poly<Eval>> {
        let polys: Vec<Poly<Coeff>> = (0..count).map(|_| Poly::scratch(self, basis)).collect();
        let rows = polys.iter().enumerate().flat_map(|(polynomial, out)| {
            basis.ids().iter().map(move |&prime| RowLift {
                polynomial,
                prime,
                to: out.at(prime),
            })
        });
        write(&rows.collect::<Vec<_>>());
        self.forward_all(polys)
    }
}

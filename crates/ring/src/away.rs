//! Operations on polynomials that lie in a backend's memory: the same sums and transforms as those of [`Ring`] here.

use crate::backend::{RowLift, RowProducts, RowSum, RowTransform};
use crate::{Backend, Basis, Coeff, Eval, Modulus, Poly, Ring};

impl Ring {
    /// `to = sum_i c_i a_i`, factors given by the prime; `to` may be one of the polynomials.
    pub(crate) fn combine_away<'a, D>(
        &self,
        backend: &dyn Backend,
        to: &'a Poly<D>,
        terms: impl Fn(&Modulus) -> Vec<(u64, &'a Poly<D>)>,
    ) {
        let sum = |&id: &usize| {
            let of_prime = terms(self.modulus(id)).into_iter();
            RowSum {
                prime: id,
                to: to.at(id),
                terms: of_prime.map(|(c, poly)| (c, poly.at(id))).collect(),
                constant: 0,
            }
        };
        backend.combine(&to.basis().ids().iter().map(sum).collect::<Vec<_>>());
    }

    /// `a += c` in every word, `c` given by the prime.
    pub(crate) fn add_constant_away<D>(
        &self,
        backend: &dyn Backend,
        a: &Poly<D>,
        c: impl Fn(&Modulus) -> u64,
    ) {
        let sum = |&id: &usize| RowSum {
            prime: id,
            to: a.at(id),
            terms: vec![(1, a.at(id))],
            constant: c(self.modulus(id)),
        };
        backend.combine(&a.basis().ids().iter().map(sum).collect::<Vec<_>>());
    }

    /// `acc += c a` modulo the primes that both have, `c` given by the prime.
    pub(crate) fn scale_add_common_away<D>(
        &self,
        backend: &dyn Backend,
        acc: &Poly<D>,
        a: &Poly<D>,
        c: impl Fn(&Modulus) -> u64,
    ) {
        let sum = |&id: &usize| RowSum {
            prime: id,
            to: acc.at(id),
            terms: vec![(1, acc.at(id)), (c(self.modulus(id)), a.at(id))],
            constant: 0,
        };
        let both = acc.basis().intersection(a.basis());
        backend.combine(&both.ids().iter().map(sum).collect::<Vec<_>>());
    }

    /// `to = sum_i a_i b_i`, on top of what stands there if it `adds`.
    pub(crate) fn multiply_away(
        &self,
        backend: &dyn Backend,
        to: &Poly<Eval>,
        products: &[(&Poly<Eval>, &Poly<Eval>)],
        adds: bool,
    ) {
        let sum = |&id: &usize| RowProducts {
            prime: id,
            to: to.at(id),
            pairs: products.iter().map(|(a, b)| (a.at(id), b.at(id))).collect(),
            adds,
        };
        backend.multiply(&to.basis().ids().iter().map(sum).collect::<Vec<_>>());
    }

    /// Transforms a polynomial in its place, to the evaluation domain or back.
    pub(crate) fn transform_away<D>(&self, backend: &dyn Backend, a: &Poly<D>, inverse: bool) {
        let row = |&id: &usize| RowTransform::in_place(id, a.at(id));
        let rows = a.basis().ids().iter().map(row);
        if inverse {
            backend.inverse(&rows.map(|row| (row, 1)).collect::<Vec<_>>())
        } else {
            backend.forward(&rows.collect::<Vec<_>>())
        }
    }

    /// The rows of these primes as coefficients, each times its weight.
    pub(crate) fn inverse_away(
        &self,
        backend: &dyn Backend,
        a: &Poly<Eval>,
        basis: &Basis,
        weight: impl Fn(usize) -> u64,
    ) -> Poly<Coeff> {
        let out = Poly::scratch(self, basis);
        let row = |&id: &usize| {
            let row = RowTransform {
                prime: id,
                from: a.at(id),
                to: out.at(id),
            };
            (row, weight(id))
        };
        backend.inverse(&basis.ids().iter().map(row).collect::<Vec<_>>());
        out
    }

    /// Polynomials with coefficients modulo p, lifted to `(-p/2, p/2]`, in the evaluation domain.
    pub(crate) fn lift_away(
        &self,
        backend: &dyn Backend,
        p: u32,
        polynomials: &[&[u32]],
        basis: &Basis,
    ) -> Vec<Poly<Eval>> {
        let out: Vec<Poly<Coeff>> = polynomials
            .iter()
            .map(|_| Poly::scratch(self, basis))
            .collect();
        let rows = out.iter().enumerate().flat_map(|(polynomial, out)| {
            basis.ids().iter().map(move |&prime| RowLift {
                polynomial,
                prime,
                to: out.at(prime),
            })
        });
        backend.lift(p, polynomials, &rows.collect::<Vec<_>>());
        out.iter()
            .for_each(|poly| self.transform_away(backend, poly, false));
        out.into_iter().map(Poly::into_domain).collect()
    }
}

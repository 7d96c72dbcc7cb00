//! Operations on polynomials that lie in a backend's memory.

use crate::backend::{RowLift, RowProducts, RowSum, RowTransform};
use crate::update::{Source, Update};
use crate::{Backend, Basis, Coeff, Eval, Poly, Ring};

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
    /// Updates all rows together: a backend takes the rows of one operation in one call.
    pub(crate) fn update_away<'a, D>(
        &self,
        backend: &dyn Backend,
        poly: &Poly<D>,
        update: impl Fn(usize) -> Update<'a>,
    ) {
        let (mut sums, mut products) = (Vec::new(), Vec::new());
        let (mut forward, mut inverse) = (Vec::new(), Vec::new());
        for &prime in poly.basis().ids() {
            let (m, to) = (self.modulus(prime), poly.at(prime));
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
            match update(prime) {
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
        let lifted: Vec<Poly<Coeff>> = polynomials
            .iter()
            .map(|_| Poly::scratch(self, basis))
            .collect();
        let rows = lifted.iter().enumerate().flat_map(|(polynomial, out)| {
            basis.ids().iter().map(move |&prime| RowLift {
                polynomial,
                prime,
                to: out.at(prime),
            })
        });
        backend.lift(p, polynomials, &rows.collect::<Vec<_>>());
        lifted.into_iter().map(|poly| self.forward(poly)).collect()
    }
}

//! Key switches of polynomials that lie in a backend's memory: the steps of [`KeySwitch`](crate::KeySwitch) and
//! [`SharedTurn`](crate::SharedTurn), each over all rows at once.

use omr_ring::{
    At, Automorphism, Backend, Basis, Conversion, Eval, Modulus, Poly, Ring, RowConversion,
    RowForwardSum, RowProducts, RowSum, RowTransform,
};

/// The digits of a polynomial over all primes of a key, in the evaluation domain.
pub(crate) struct Raised<'a> {
    c: &'a Poly<Eval>,
    /// For each digit its own primes, whose rows are the polynomial's, and the rows of all others.
    digits: Vec<(&'a Basis, Poly<Eval>)>,
}

impl Raised<'_> {
    /// The digits modulo a prime.
    fn rows(&self, id: usize) -> impl Iterator<Item = At<'_>> {
        let digits = self.digits.iter();
        digits.map(move |(own, raised)| {
            if own.contains(id) {
                self.c.at(id)
            } else {
                raised.at(id)
            }
        })
    }
}

/// Cuts polynomials over one basis into digits and raises each to the other primes of `all`.
pub(crate) fn raised<'a>(
    ring: &Ring,
    backend: &dyn Backend,
    inputs: &[&'a Poly<Eval>],
    digits: &[(&'a Basis, &Conversion)],
    all: &Basis,
) -> Vec<Raised<'a>> {
    let scratch = |basis: &Basis| Poly::<Eval>::scratch(ring, basis);
    let coefficients: Vec<_> = inputs.iter().map(|c| scratch(c.basis())).collect();
    let mut rows = Vec::new();
    for (c, to) in inputs.iter().zip(&coefficients) {
        for (own, conversion) in digits {
            rows.extend(own.ids().iter().map(|&prime| {
                let (from, to) = (c.at(prime), to.at(prime));
                (RowTransform { prime, from, to }, conversion.weight(prime))
            }));
        }
    }
    backend.inverse(&rows);
    let mut out: Vec<Raised> = inputs
        .iter()
        .map(|&c| Raised {
            c,
            digits: Vec::new(),
        })
        .collect();
    for &(own, conversion) in digits {
        let others = all.minus(own);
        let raised: Vec<_> = inputs.iter().map(|_| scratch(&others)).collect();
        convert(backend, conversion, own, &coefficients, &others, &raised);
        forward(backend, &raised);
        for (out, raised) in out.iter_mut().zip(raised) {
            out.digits.push((own, raised));
        }
    }
    out
}

fn convert(
    backend: &dyn Backend,
    conversion: &Conversion,
    from: &Basis,
    sources: &[Poly<Eval>],
    to: &Basis,
    targets: &[Poly<Eval>],
) {
    let group = |(source, target)| RowConversion {
        from: rows(from, source),
        to: rows(to, target),
    };
    let groups: Vec<RowConversion> = sources.iter().zip(targets).map(group).collect();
    conversion.apply_away(backend, &groups);
}

fn rows<'a>(basis: &Basis, poly: &'a Poly<Eval>) -> Vec<At<'a>> {
    basis.ids().iter().map(|&id| poly.at(id)).collect()
}

fn forward(backend: &dyn Backend, polys: &[Poly<Eval>]) {
    let rows = polys.iter().flat_map(|poly| {
        let ids = poly.basis().ids().iter();
        ids.map(|&id| RowTransform::in_place(id, poly.at(id)))
    });
    backend.forward(&rows.collect::<Vec<_>>());
}

/// `sum_d digit_d key_d` modulo the primes of `of`, in the rows of `to`.
pub(crate) fn inner_products<'a>(
    raised: &'a Raised<'_>,
    key: &[&'a Poly<Eval>],
    of: &Basis,
    to: &'a Poly<Eval>,
) -> Vec<RowProducts<'a>> {
    let sum = |&id: &usize| RowProducts {
        prime: id,
        to: to.at(id),
        pairs: raised
            .rows(id)
            .zip(key.iter().map(|key| key.at(id)))
            .collect(),
        adds: false,
    };
    of.ids().iter().map(sum).collect()
}

/// A division by primes: from `rest + N x` modulo those that go and `kept` modulo those that stay.
pub(crate) struct Division<'a> {
    pub(crate) conversion: &'a Conversion,
    pub(crate) dropped: &'a Basis,
    pub(crate) to: &'a Basis,
    /// Primes of `to` that come new.
    pub(crate) added: &'a Basis,
    pub(crate) image: Option<&'a Automorphism>,
}

/// A polynomial to divide: its rows modulo primes that go, and modulo those that stay.
pub(crate) struct Part<'a> {
    pub(crate) rest: Poly<Eval>,
    pub(crate) kept: Poly<Eval>,
    /// Added, times the product of the special primes.
    pub(crate) add: Option<&'a Poly<Eval>>,
}

impl Division<'_> {
    /// The images of the parts, divided. `special`: the product of the special primes modulo a prime.
    pub(crate) fn apply(
        &self,
        ring: &Ring,
        backend: &dyn Backend,
        parts: Vec<Part<'_>>,
        special: impl Fn(&Modulus) -> u64,
    ) -> Vec<Poly<Eval>> {
        self.add_dropped(ring, backend, &parts, &special);
        let mut rows = Vec::new();
        for part in &parts {
            rows.extend(self.dropped.ids().iter().map(|&prime| {
                let row = RowTransform::in_place(prime, part.rest.at(prime));
                (row, self.conversion.weight(prime))
            }));
        }
        backend.inverse(&rows);
        drop(rows);
        let delta: Vec<_> = parts.iter().map(|_| Poly::scratch(ring, self.to)).collect();
        let (rest, kept): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|part| (part.rest, (part.kept, part.add)))
            .unzip();
        convert(
            backend,
            self.conversion,
            self.dropped,
            &rest,
            self.to,
            &delta,
        );
        let mut sums = Vec::new();
        for ((kept, add), delta) in kept.iter().zip(&delta) {
            let sum = |&id: &usize| self.difference(ring, id, kept, *add, delta, &special);
            sums.extend(self.to.ids().iter().map(sum));
        }
        backend.forward_sums(&sums);
        drop(sums);
        let kept = kept.into_iter().map(|(kept, _)| kept);
        match self.image {
            None => kept.collect(),
            Some(image) => image.apply_away(backend, &kept.collect::<Vec<_>>(), delta),
        }
    }

    /// Modulo special primes their product times it is nothing.
    fn add_dropped(
        &self,
        ring: &Ring,
        backend: &dyn Backend,
        parts: &[Part<'_>],
        special: &impl Fn(&Modulus) -> u64,
    ) {
        let mut sums = Vec::new();
        for part in parts {
            let Some(add) = part.add else { continue };
            sums.extend(
                self.dropped
                    .intersection(add.basis())
                    .ids()
                    .iter()
                    .map(|&id| RowSum {
                        prime: id,
                        to: part.rest.at(id),
                        terms: vec![
                            (1, part.rest.at(id)),
                            (special(ring.modulus(id)), add.at(id)),
                        ],
                        constant: 0,
                    }),
            );
        }
        if !sums.is_empty() {
            backend.combine(&sums);
        }
    }

    /// The difference of what is kept and the values of `delta`, divided.
    fn difference<'a>(
        &self,
        ring: &Ring,
        id: usize,
        kept: &'a Poly<Eval>,
        add: Option<&'a Poly<Eval>>,
        delta: &'a Poly<Eval>,
        special: &impl Fn(&Modulus) -> u64,
    ) -> RowForwardSum<'a> {
        let m = ring.modulus(id);
        let (mut factor, mut terms) = (1, Vec::new());
        if !self.added.contains(id) {
            let divided = m.inv(ring.product_mod(self.dropped, m));
            let unit = m.mul(divided, ring.product_mod(self.added, m));
            factor = m.neg(unit);
            terms.push((unit, kept.at(id)));
            terms.extend(add.map(|add| (m.mul(unit, special(m)), add.at(id))));
        }
        RowForwardSum {
            transform: RowTransform::in_place(id, delta.at(id)),
            factor,
            sum: RowSum {
                prime: id,
                to: kept.at(id),
                terms,
                constant: 0,
            },
        }
    }
}

//! Conversion of residues between bases of primes, and modulus switching.

use crate::parallel::*;
use crate::update::Update;
use crate::{
    Backend, Basis, Coeff, ConversionNumbers, Eval, Modulus, Poly, Ring, RowConversion,
    RowForwardSum, RowSum, RowTransform,
};

/// Coefficients handled at a time, so that all source rows of the piece stay in the first-level
/// cache.
const CHUNK: usize = 256;

/// Coefficients handled at a time where at most [`FEW`] rows are read and written.
const LONG_CHUNK: usize = 512;

/// Rows, as many as fit the first-level cache in long pieces.
const FEW: usize = 6;

/// Exact conversion of centred residues: from the primes of `from` (product D) to those of `to`.
///
/// `x` in `[-D/2, D/2)` comes out as `out_scale * x` modulo each target prime. The multiple of D to
/// subtract is found in floating point; a residue within 2^-40 D of the edge may come out at the
/// other end, which is as small (Halevi, Polyakov, Shoup, 2019).
///
/// Callers multiply row i by weight i first, best within the inverse transform.
pub struct Conversion {
    from: Basis,
    to: Basis,
    weight: Vec<u64>,
    inverse: Vec<f64>,
    coefficient: Vec<Vec<u64>>,
}

impl Conversion {
    /// The conversion of `x` itself, without a factor: raises a digit to other primes.
    pub fn raise(ring: &Ring, digit: &Basis, to: &Basis) -> Self {
        Self::new(ring, digit, to, |m| m.reduce(1), |m| m.reduce(1))
    }

    /// The conversion that a division of `N x` by D, the product of `dropped`, begins with: it keeps
    /// residues modulo `p`. N is the product of `added`.
    ///
    /// From the residues of x comes `d = N x mod D`, a multiple of p: `d / N` modulo most primes, to
    /// be subtracted from x, then multiplied by `N / D`. Modulo an added prime N x is nothing, and
    /// what comes is the result itself, `-d / D`.
    pub fn division(ring: &Ring, dropped: &Basis, to: &Basis, added: &Basis, p: &Modulus) -> Self {
        let of_added = |m: &Modulus| added.ids().iter().any(|&id| ring.modulus(id) == m);
        Self::new(
            ring,
            dropped,
            to,
            |m| m.mul(m.inv(m.reduce(p.value())), ring.product_mod(added, m)),
            |m| {
                if of_added(m) {
                    m.neg(m.mul(m.reduce(p.value()), m.inv(ring.product_mod(dropped, m))))
                } else {
                    m.mul(m.reduce(p.value()), m.inv(ring.product_mod(added, m)))
                }
            },
        )
    }

    /// `in_scale`: multiplies the residues on the way in.
    fn new(
        ring: &Ring,
        from: &Basis,
        to: &Basis,
        in_scale: impl Fn(&Modulus) -> u64,
        out_scale: impl Fn(&Modulus) -> u64,
    ) -> Self {
        let others = |id: usize| Basis::new(from.ids().iter().copied().filter(|&j| j != id));
        let weight = from.ids().iter().map(|&id| {
            let m = ring.modulus(id);
            m.mul(m.inv(ring.product_mod(&others(id), m)), in_scale(m))
        });
        let coefficient = to.ids().iter().map(|&id| {
            let m = ring.modulus(id);
            let scale = out_scale(m);
            let product = m.mul(scale, ring.product_mod(from, m));
            let terms = from.ids().iter().map(|&j| {
                let rest = ring.product_mod(&others(j), m);
                m.mul(scale, rest)
            });
            terms.chain([m.neg(product)]).collect()
        });
        let inverse = from
            .ids()
            .iter()
            .map(|&id| 1.0 / ring.modulus(id).value() as f64);
        Self {
            from: from.clone(),
            to: to.clone(),
            weight: weight.collect(),
            inverse: inverse.collect(),
            coefficient: coefficient.collect(),
        }
    }

    /// The weight of a source prime. Panics: when `id` is none.
    pub fn weight(&self, id: usize) -> u64 {
        self.weight[self.from.position(id).expect("a source prime")]
    }

    /// Converts the rows `sources`, one for each source prime and multiplied by its weight.
    pub fn apply(&self, ring: &Ring, sources: &[&[u64]]) -> Poly<Coeff> {
        let mut out = Poly::scratch(ring, &self.to);
        self.apply_rows(ring, sources, out.rows_mut());
        out
    }

    /// Converts polynomials in a backend's memory, one group of rows after another.
    pub fn apply_away(&self, backend: &dyn Backend, groups: &[RowConversion<'_>]) {
        let numbers = ConversionNumbers {
            inverse: &self.inverse,
            targets: self.to.ids(),
            coefficients: &self.coefficient,
        };
        backend.convert(&numbers, groups);
    }

    /// Converts rows into `out`: rows of `n` words, one for each target prime.
    pub fn apply_rows<'a>(
        &self,
        ring: &Ring,
        sources: &[&[u64]],
        out: impl Iterator<Item = &'a mut [u64]>,
    ) {
        debug_assert_eq!(sources.len(), self.from.len());
        let few = self.from.len() + self.to.len() <= FEW;
        let chunk = ring.n().min(if few { LONG_CHUNK } else { CHUNK });
        let mut pieces: Vec<Vec<&mut [u64]>> = Vec::new();
        pieces.resize_with(ring.n() / chunk, || Vec::with_capacity(self.to.len()));
        for row in out {
            for (piece, part) in pieces.iter_mut().zip(row.chunks_mut(chunk)) {
                piece.push(part);
            }
        }
        let moduli: Vec<&Modulus> = self.to.ids().iter().map(|&id| ring.modulus(id)).collect();
        let coefficient: Vec<&[u64]> = self.coefficient.iter().map(Vec::as_slice).collect();
        let convert = |(c, mut outs): (usize, Vec<&mut [u64]>)| {
            let mut quotient = [0u64; LONG_CHUNK];
            let quotient = &mut quotient[..chunk];
            let mut rows: Vec<&[u64]> = sources
                .iter()
                .map(|row| &row[c * chunk..(c + 1) * chunk])
                .collect();
            ring.kernels().quotient(quotient, &rows, &self.inverse);
            rows.push(quotient);
            ring.kernels()
                .convert_many(&moduli, &mut outs, &rows, &coefficient);
        };
        if ring.is_parallel() {
            pieces.into_par_iter().enumerate().for_each(convert);
        } else {
            pieces.into_iter().enumerate().for_each(convert);
        }
    }
}

/// Scales a polynomial from one basis to another, keeping its value modulo `p` up to a known unit.
///
/// From modulus Q to Q': with N the product of the primes that come new and D of those dropped,
/// `x` becomes `(N x - d) / D`, where `d = N x mod D`, `d = 0 mod p`, so the added error is below
/// `p/2 * D/D` a coefficient and the value modulo p is multiplied by `N / D` (BGV modulus
/// switching, Brakerski, Gentry, Vaikuntanathan 2012).
pub struct Switch {
    from: Basis,
    to: Basis,
    dropped: Basis,
    added: Basis,
    conversion: Conversion,
    factor: u64,
}

impl Switch {
    /// Builds the switch from basis `from` to basis `to` that keeps residues modulo `p` up to
    /// [`Switch::factor`].
    pub fn new(ring: &Ring, from: &Basis, to: &Basis, p: &Modulus) -> Self {
        let dropped = from.minus(to);
        let added = to.minus(from);
        let conversion = Conversion::division(ring, &dropped, to, &added, p);
        let factor = if dropped.is_empty() {
            ring.product_mod(&added, p)
        } else {
            p.mul(
                ring.product_mod(&added, p),
                p.inv(ring.product_mod(&dropped, p)),
            )
        };
        Self {
            from: from.clone(),
            to: to.clone(),
            dropped,
            added,
            conversion,
            factor,
        }
    }

    /// The unit by which the switch multiplies the value modulo `p`.
    pub fn factor(&self) -> u64 {
        self.factor
    }

    /// The basis it starts from.
    pub fn from(&self) -> &Basis {
        &self.from
    }

    /// The basis it leads to.
    pub fn to(&self) -> &Basis {
        &self.to
    }

    /// Switches one polynomial.
    pub fn apply(&self, ring: &Ring, a: &Poly<Eval>) -> Poly<Eval> {
        if self.dropped.is_empty() {
            return self.extend(ring, a);
        }
        if let Some(backend) = ring.backend() {
            return self.apply_all_away(ring, &**backend, &[a]).remove(0);
        }
        let mut rest = Poly::<Coeff>::scratch(ring, &self.dropped);
        ring.update(&mut rest, |id| {
            Update::InverseOf(a.source(id), self.conversion.weight(id))
        });
        let rows: Vec<&[u64]> = rest.rows().collect();
        let mut out = ring.forward(self.conversion.apply(ring, &rows));
        ring.update(&mut out, |id| {
            if a.basis().contains(id) {
                Update::SubScale(a.source(id), self.kept_factor(ring, id))
            } else {
                Update::Keep
            }
        });
        out
    }

    /// Switches polynomials together.
    pub fn apply_all(&self, ring: &Ring, polys: &[&Poly<Eval>]) -> Vec<Poly<Eval>> {
        match ring.backend() {
            Some(backend) if !self.dropped.is_empty() => {
                self.apply_all_away(ring, &**backend, polys)
            }
            _ => polys.iter().map(|a| self.apply(ring, a)).collect(),
        }
    }

    /// Switches polynomials in a backend's memory, each step for all of them.
    fn apply_all_away(
        &self,
        ring: &Ring,
        backend: &dyn Backend,
        polys: &[&Poly<Eval>],
    ) -> Vec<Poly<Eval>> {
        let rest: Vec<Poly<Coeff>> = polys
            .iter()
            .map(|_| Poly::scratch(ring, &self.dropped))
            .collect();
        let out: Vec<Poly<Eval>> = polys
            .iter()
            .map(|_| Poly::scratch(ring, &self.to))
            .collect();
        let (mut inverse, mut groups, mut forward) = (Vec::new(), Vec::new(), Vec::new());
        for ((&a, rest), out) in polys.iter().zip(&rest).zip(&out) {
            for &prime in self.dropped.ids() {
                let (from, to) = (a.at(prime), rest.at(prime));
                let row = RowTransform { prime, from, to };
                inverse.push((row, self.conversion.weight(prime)));
            }
            groups.push(RowConversion {
                from: self.dropped.ids().iter().map(|&id| rest.at(id)).collect(),
                to: self.to.ids().iter().map(|&id| out.at(id)).collect(),
            });
            for &prime in self.to.ids() {
                let (m, to) = (ring.modulus(prime), out.at(prime));
                let (mut factor, mut terms) = (1, Vec::new());
                if a.basis().contains(prime) {
                    factor = self.kept_factor(ring, prime);
                    terms.push((m.neg(factor), a.at(prime)));
                }
                forward.push(RowForwardSum {
                    transform: RowTransform::in_place(prime, to),
                    factor,
                    sum: RowSum {
                        prime,
                        to,
                        terms,
                        constant: 0,
                    },
                });
            }
        }
        backend.inverse(&inverse);
        self.conversion.apply_away(backend, &groups);
        backend.forward_sums(&forward);
        out
    }

    /// Returns the factor of `d / N - x` in `(N x - d) / D` modulo a prime that stays: `-N / D`.
    fn kept_factor(&self, ring: &Ring, prime: usize) -> u64 {
        let m = ring.modulus(prime);
        let unit = m.inv(ring.product_mod(&self.dropped, m));
        m.neg(m.mul(unit, ring.product_mod(&self.added, m)))
    }

    /// Switches where no prime is dropped, by a multiplication alone.
    fn extend(&self, ring: &Ring, a: &Poly<Eval>) -> Poly<Eval> {
        let mut out = Poly::scratch(ring, &self.to);
        ring.update(&mut out, |id| {
            let mut terms = Vec::new();
            if a.basis().contains(id) {
                let factor = ring.product_mod(&self.added, ring.modulus(id));
                terms.push((factor, a.source(id)));
            }
            Update::Sum(terms)
        });
        out
    }
}

/// The centred value of each coefficient, modulo `p`: `x` in `[-Q/2, Q/2)` reduced. Time: constant.
pub fn centered_mod(ring: &Ring, mut a: Poly<Coeff>, p: &Modulus) -> Vec<u64> {
    let basis = a.basis().clone();
    let others = |id: usize| Basis::new(basis.ids().iter().copied().filter(|&j| j != id));
    ring.each_row(&mut a, |id, row| {
        let m = ring.modulus(id);
        let weight = m.inv(ring.product_mod(&others(id), m));
        ring.kernels().scale_assign(m, row, weight);
    });
    let inverse: Vec<f64> = basis
        .ids()
        .iter()
        .map(|&id| 1.0 / ring.modulus(id).value() as f64)
        .collect();
    let mut coefficient: Vec<u64> = basis
        .ids()
        .iter()
        .map(|&id| ring.product_mod(&others(id), p))
        .collect();
    coefficient.push(p.neg(ring.product_mod(&basis, p)));
    let mut quotient = vec![0; ring.n()];
    let mut rows: Vec<&[u64]> = (0..basis.len()).map(|i| a.row(i)).collect();
    ring.kernels().quotient(&mut quotient, &rows, &inverse);
    rows.push(&quotient);
    let mut out = vec![0; ring.n()];
    ring.kernels().convert(p, &mut out, &rows, &coefficient);
    out
}

/// The centred value of each coefficient in floating point, exact to 2^-50 relatively (mixed
/// radix). For measuring noise.
pub fn centered_f64(ring: &Ring, a: &Poly<Coeff>) -> Vec<f64> {
    let ids = a.basis().ids();
    let moduli: Vec<&Modulus> = ids.iter().map(|&id| ring.modulus(id)).collect();
    let inverses: Vec<Vec<u64>> = moduli
        .iter()
        .enumerate()
        .map(|(i, m)| {
            moduli[..i]
                .iter()
                .map(|q| m.inv(m.reduce(q.value())))
                .collect()
        })
        .collect();
    let value = |residues: &[u64]| {
        let mut digits = vec![0u64; residues.len()];
        for i in 0..residues.len() {
            let m = moduli[i];
            digits[i] = (0..i).fold(residues[i], |x, j| {
                m.mul(m.sub(x, m.reduce(digits[j])), inverses[i][j])
            });
        }
        digits
            .iter()
            .zip(&moduli)
            .rev()
            .fold(0.0, |x, (&d, m)| x * m.value() as f64 + d as f64)
    };
    (0..ring.n())
        .map(|x| {
            let plus: Vec<u64> = (0..ids.len()).map(|i| a.row(i)[x]).collect();
            let minus: Vec<u64> = plus.iter().zip(&moduli).map(|(&r, m)| m.neg(r)).collect();
            let (plus, minus) = (value(&plus), value(&minus));
            if plus <= minus { plus } else { -minus }
        })
        .collect()
}

use crate::{Basis, Coeff, Eval, Modulus, Poly, Ring};
use rayon::prelude::*;

/// Coefficients handled at a time, so that all source rows of the piece stay in cache.
const CHUNK: usize = 2048;

/// Exact conversion of centred residues: from the primes of `from` (product D) to those of `to`.
///
/// `x` in `[-D/2, D/2)` comes out as `out_scale * x` modulo each target prime. The multiple of D to
/// subtract is found in floating point; a residue within 2^-40 D of the edge may come out at the
/// other end, which is as small (Halevi, Polyakov, Shoup, 2019).
pub(crate) struct Conversion {
    from: Basis,
    to: Basis,
    weight: Vec<u64>,
    inverse: Vec<f64>,
    coefficient: Vec<Vec<u64>>,
}

impl Conversion {
    /// `in_scale`: multiplies the residues on the way in.
    pub(crate) fn new(
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

    /// Converts rows over `from`; they are used up.
    pub(crate) fn apply(&self, ring: &Ring, mut source: Poly<Coeff>) -> Poly<Coeff> {
        debug_assert_eq!(source.basis(), &self.from);
        ring.each_row(&mut source, |id, row| {
            let i = self.from.position(id).expect("own prime");
            ring.kernels()
                .scale_assign(ring.modulus(id), row, self.weight[i]);
        });
        let mut out = Poly::scratch(ring, &self.to);
        let n = ring.n();
        let chunk = CHUNK.min(n);
        let mut pieces: Vec<Vec<&mut [u64]>> = (0..n / chunk).map(|_| Vec::new()).collect();
        for row in out.data_mut().chunks_mut(n) {
            for (piece, part) in pieces.iter_mut().zip(row.chunks_mut(chunk)) {
                piece.push(part);
            }
        }
        let convert = |(c, outs): (usize, Vec<&mut [u64]>)| {
            self.piece(ring, &source, c * chunk, chunk, outs);
        };
        if ring.is_parallel() {
            pieces.into_par_iter().enumerate().for_each(convert);
        } else {
            pieces.into_iter().enumerate().for_each(convert);
        }
        out
    }

    fn piece(&self, ring: &Ring, y: &Poly<Coeff>, start: usize, len: usize, outs: Vec<&mut [u64]>) {
        let mut quotient = [0u64; CHUNK];
        let quotient = &mut quotient[..len];
        let mut rows: Vec<&[u64]> = (0..self.from.len())
            .map(|i| &y.row(i)[start..start + len])
            .collect();
        ring.kernels().quotient(quotient, &rows, &self.inverse);
        rows.push(quotient);
        for ((out, coefficient), &id) in outs.into_iter().zip(&self.coefficient).zip(self.to.ids())
        {
            ring.kernels()
                .convert(ring.modulus(id), out, &rows, coefficient);
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
    kept: Basis,
    dropped: Basis,
    added: Basis,
    conversion: Conversion,
    factor: u64,
}

impl Switch {
    /// A switch from basis `from` to basis `to` that respects residues modulo `p`.
    pub fn new(ring: &Ring, from: &Basis, to: &Basis, p: &Modulus) -> Self {
        let dropped = from.minus(to);
        let added = to.minus(from);
        let kept = to.intersection(from);
        let conversion = Conversion::new(
            ring,
            &dropped,
            to,
            |m| m.mul(m.inv(m.reduce(p.value())), ring.product_mod(&added, m)),
            |m| m.reduce(p.value()),
        );
        let factor = match dropped.is_empty() {
            true => ring.product_mod(&added, p),
            false => p.mul(
                ring.product_mod(&added, p),
                p.inv(ring.product_mod(&dropped, p)),
            ),
        };
        Self {
            from: from.clone(),
            to: to.clone(),
            kept,
            dropped,
            added,
            conversion,
            factor,
        }
    }

    /// What the value modulo `p` is multiplied by.
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
        let raised = |m: &Modulus| ring.product_mod(&self.added, m);
        let mut out = Poly::scratch(ring, &self.to);
        let raise = |id: usize, row: &mut [u64]| match self.kept.contains(id) {
            true => {
                row.copy_from_slice(a.row_of(id));
                if !self.added.is_empty() {
                    let m = ring.modulus(id);
                    ring.kernels().scale_assign(m, row, raised(m));
                }
            }
            false => row.fill(0),
        };
        if self.dropped.is_empty() {
            ring.each_row(&mut out, raise);
            return out;
        }
        let rest = ring.inverse(a.restrict(&self.dropped));
        let delta = self.conversion.apply(ring, rest);
        let delta = ring.forward(delta);
        ring.each_row(&mut out, |id, row| {
            let m = ring.modulus(id);
            let unit = m.inv(ring.product_mod(&self.dropped, m));
            raise(id, row);
            ring.kernels()
                .sub_scale_assign(m, row, delta.row_of(id), unit);
        });
        out
    }
}

/// Raises a polynomial known modulo the primes of `digit` to the primes of `to` (centred).
pub struct Raise(Conversion);

impl Raise {
    /// From `digit` to `to`.
    pub fn new(ring: &Ring, digit: &Basis, to: &Basis) -> Self {
        Self(Conversion::new(
            ring,
            digit,
            to,
            |m| m.reduce(1),
            |m| m.reduce(1),
        ))
    }

    /// The residues modulo the primes of `to`.
    pub fn apply(&self, ring: &Ring, digit: Poly<Coeff>) -> Poly<Coeff> {
        self.0.apply(ring, digit)
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

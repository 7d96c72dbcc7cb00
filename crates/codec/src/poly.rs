//! Polynomials over a finite field, coefficients from the constant term up.

use crate::finite::FiniteField;

/// Schoolbook arithmetic with its scratch row.
///
/// Products are added unreduced into sums, as many as fit.
pub(crate) struct Arithmetic<F: FiniteField> {
    field: F,
    row: Vec<F::Sum>,
}

impl<F: FiniteField> Arithmetic<F> {
    pub(crate) fn new(field: F) -> Self {
        Self {
            field,
            row: Vec::new(),
        }
    }

    /// `(x + shift)^e mod f`, `deg f` coefficients.
    ///
    /// Shape: `f` monic of degree at least 2; `e >= 1`.
    pub(crate) fn linear_power(
        &mut self,
        shift: F::Element,
        e: u32,
        f: &[F::Element],
    ) -> Vec<F::Element> {
        let mut power = vec![F::Element::default(); f.len() - 1];
        (power[0], power[1]) = (shift, self.field.scalar(1));
        for bit in (0..e.ilog2()).rev() {
            self.square(&mut power, f);
            if e >> bit & 1 == 1 {
                self.multiply_linear(&mut power, shift, f);
            }
        }
        power
    }

    /// `a = a^2 mod f`. Shape: `f` monic, `deg f` coefficients in `a`.
    pub(crate) fn square(&mut self, a: &mut [F::Element], f: &[F::Element]) {
        self.row.clear();
        self.row.resize(2 * a.len(), F::Sum::default());
        let limit = self.field.lazy_terms();
        let mut terms = 0;
        for (i, &coefficient) in a.iter().enumerate() {
            terms += 2;
            if terms > limit {
                self.reduce_row(i..i + a.len());
                terms = 3; // a reduced value counts as one
            }
            let double = self.field.twice_lazy(coefficient);
            self.row[2 * i] += self.field.mul_lazy(coefficient, coefficient);
            let above = &mut self.row[2 * i + 1..];
            add_multiple(&self.field, above, double, &a[i + 1..]);
        }
        self.reduce_row(0..2 * a.len());
        self.divide(f);
        self.store(a);
    }

    /// The remainder of `a` modulo `f`, without leading zeros. Shape: `f` monic.
    fn remainder(&mut self, a: &[F::Element], f: &[F::Element]) -> Vec<F::Element> {
        self.load(a);
        self.divide(f);
        let mut rest = vec![F::Element::default(); a.len().min(f.len() - 1)];
        self.store(&mut rest);
        trim(&mut rest);
        rest
    }

    /// The quotient `a / f`. Shape: `f` monic, `deg a >= deg f`.
    pub(crate) fn quotient(&mut self, a: &[F::Element], f: &[F::Element]) -> Vec<F::Element> {
        self.load(a);
        self.divide(f);
        let quotient = self.row[f.len() - 1..].iter();
        quotient.map(|&c| self.field.narrow(c)).collect()
    }

    /// The monic greatest common divisor of a monic `f` and any `h`.
    pub(crate) fn gcd(&mut self, f: &[F::Element], h: &[F::Element]) -> Vec<F::Element> {
        let (mut a, mut b) = (f.to_vec(), h.to_vec());
        trim(&mut b);
        while let Some(inverse) = b.last().and_then(|&lead| self.field.inv(lead)) {
            for coefficient in &mut b {
                *coefficient = self.field.mul(*coefficient, inverse);
            }
            let rest = self.remainder(&a, &b);
            a = std::mem::replace(&mut b, rest);
        }
        a
    }

    /// `a = (x + shift) a mod f`. Shape: as in [`Arithmetic::square`].
    fn multiply_linear(&self, a: &mut [F::Element], shift: F::Element, f: &[F::Element]) {
        let minus_top = self.field.neg(a[a.len() - 1]);
        let mut below = F::Element::default();
        for (coefficient, &modulus) in a.iter_mut().zip(f) {
            let mut sum = self.field.mul_lazy(*coefficient, shift);
            sum += self.field.mul_lazy(minus_top, modulus);
            sum += self.field.widen(below); // three terms fit
            below = std::mem::replace(coefficient, self.field.reduce(sum));
        }
    }

    /// Divides the reduced scratch row by a monic `f`: the remainder's `deg f` coefficients come
    /// first, the quotient's follow, all reduced.
    fn divide(&mut self, f: &[F::Element]) {
        let degree = f.len() - 1;
        let limit = self.field.lazy_terms();
        let mut terms = 1; // a reduced value counts as one
        for top in (degree..self.row.len()).rev() {
            let lead = self.field.reduce(self.row[top]);
            self.row[top] = self.field.widen(lead);
            terms += 1;
            if terms > limit {
                self.reduce_row(top - degree..top);
                terms = 2;
            }
            let window = &mut self.row[top - degree..top];
            add_multiple(&self.field, window, self.field.neg(lead), &f[..degree]);
        }
        let remainder = degree.min(self.row.len());
        self.reduce_row(0..remainder);
    }

    fn reduce_row(&mut self, range: std::ops::Range<usize>) {
        for value in &mut self.row[range] {
            *value = self.field.widen(self.field.reduce(*value));
        }
    }

    fn load(&mut self, a: &[F::Element]) {
        self.row.clear();
        let field = self.field;
        self.row.extend(a.iter().map(|&c| field.widen(c)));
    }

    fn store(&self, a: &mut [F::Element]) {
        for (coefficient, &value) in a.iter_mut().zip(&self.row) {
            *coefficient = self.field.narrow(value);
        }
    }
}

/// `row += factor * a`, unreduced, over the length of `a`.
#[inline]
fn add_multiple<F: FiniteField>(
    field: &F,
    row: &mut [F::Sum],
    factor: F::Element,
    a: &[F::Element],
) {
    for (sum, &coefficient) in row.iter_mut().zip(a) {
        *sum += field.mul_lazy(factor, coefficient);
    }
}

fn trim<E: Default + PartialEq>(a: &mut Vec<E>) {
    while a.last() == Some(&E::default()) {
        a.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    const PRIMES: [u32; 5] = [3, 257, 786_433, 1_073_741_827, 2_147_483_647];

    fn evaluate(field: &Field, a: &[u32], x: u32) -> u32 {
        a.iter()
            .rev()
            .fold(0, |sum, &c| field.add(field.mul(sum, x), c))
    }

    fn from_roots(field: &Field, roots: &[u32]) -> Vec<u32> {
        let mut f = vec![1];
        for &root in roots {
            f.insert(0, 0);
            for i in 0..f.len() - 1 {
                f[i] = field.sub(f[i], field.mul(root, f[i + 1]));
            }
        }
        f
    }

    #[test]
    fn powers_agree_with_values_at_the_roots() {
        for p in PRIMES {
            let field = Field::new(p).unwrap();
            let roots: Vec<u32> = (0..40)
                .map(|i| p - 1 - i)
                .take((p as usize - 1).min(40))
                .collect();
            let f = from_roots(&field, &roots);
            let mut arithmetic = Arithmetic::new(field);
            for (shift, e) in [
                (0, 1),
                (1, 2),
                (p - 1, 77),
                (2, (p - 1) / 2),
                (p - 2, p - 1),
            ] {
                let power = arithmetic.linear_power(shift, e, &f);
                for &root in &roots {
                    let expected = field.pow(field.add(root, shift), u64::from(e));
                    assert_eq!(evaluate(&field, &power, root), expected);
                }
            }
        }
    }

    #[test]
    fn gcd_and_quotient_recover_factors() {
        for p in PRIMES.into_iter().filter(|&p| p > 200) {
            let field = Field::new(p).unwrap();
            let mut arithmetic = Arithmetic::new(field);
            let common: Vec<u32> = (0..30).map(|i| p - 1 - 3 * i).collect();
            let more = [&common[..], &[5, 6, 7]].concat();
            let other = [&common[..], &[11, 14]].concat();
            let (f, g) = (from_roots(&field, &more), from_roots(&field, &other));
            let scaled: Vec<u32> = g.iter().map(|&c| field.mul(c, 12)).collect();
            let gcd = arithmetic.gcd(&f, &scaled);
            assert_eq!(gcd, from_roots(&field, &common));
            assert_eq!(
                arithmetic.quotient(&f, &gcd),
                from_roots(&field, &[5, 6, 7])
            );
            assert_eq!(arithmetic.gcd(&f, &[0, 0]), f);
            assert_eq!(arithmetic.gcd(&f, &[9]), [1]);
        }
    }
}

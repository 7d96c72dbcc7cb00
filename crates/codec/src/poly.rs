//! Polynomials over a prime field, coefficients from the constant term up.

use crate::field::Field;

/// Schoolbook arithmetic with its scratch row.
///
/// Products are added unreduced into `u64` sums, as many as fit.
pub(crate) struct Arithmetic {
    field: Field,
    row: Vec<u64>,
}

impl Arithmetic {
    pub(crate) fn new(field: Field) -> Self {
        Self {
            field,
            row: Vec::new(),
        }
    }

    /// `(x + shift)^e mod f`, `deg f` coefficients.
    ///
    /// Shape: `f` monic of degree at least 2; `e >= 1`.
    pub(crate) fn linear_power(&mut self, shift: u32, e: u32, f: &[u32]) -> Vec<u32> {
        let mut power = vec![0; f.len() - 1];
        (power[0], power[1]) = (shift, 1);
        for bit in (0..e.ilog2()).rev() {
            self.square(&mut power, f);
            if e >> bit & 1 == 1 {
                self.multiply_linear(&mut power, shift, f);
            }
        }
        power
    }

    /// `a = a^2 mod f`. Shape: `f` monic, `deg f` coefficients in `a`.
    pub(crate) fn square(&mut self, a: &mut [u32], f: &[u32]) {
        self.row.clear();
        self.row.resize(2 * a.len(), 0);
        let limit = self.field.lazy_terms();
        let mut terms = 0;
        for (i, &coefficient) in a.iter().enumerate() {
            terms += 2;
            if terms > limit {
                self.reduce_row(i..i + a.len());
                terms = 3; // a reduced value counts as one
            }
            let double = 2 * coefficient; // below 2^32
            self.row[2 * i] += u64::from(coefficient) * u64::from(coefficient);
            add_multiple(&mut self.row[2 * i + 1..], double, &a[i + 1..]);
        }
        self.reduce_row(0..2 * a.len());
        self.divide(f);
        self.store(a);
    }

    /// The remainder of `a` modulo `f`, without leading zeros. Shape: `f` monic.
    fn remainder(&mut self, a: &[u32], f: &[u32]) -> Vec<u32> {
        self.load(a);
        self.divide(f);
        let mut rest = vec![0; a.len().min(f.len() - 1)];
        self.store(&mut rest);
        trim(&mut rest);
        rest
    }

    /// The quotient `a / f`. Shape: `f` monic, `deg a >= deg f`.
    pub(crate) fn quotient(&mut self, a: &[u32], f: &[u32]) -> Vec<u32> {
        self.load(a);
        self.divide(f);
        self.row[f.len() - 1..].iter().map(|&c| c as u32).collect()
    }

    /// The monic greatest common divisor of a monic `f` and any `h`.
    pub(crate) fn gcd(&mut self, f: &[u32], h: &[u32]) -> Vec<u32> {
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
    fn multiply_linear(&self, a: &mut [u32], shift: u32, f: &[u32]) {
        let minus_top = self.field.neg(a[a.len() - 1]);
        let mut below = 0;
        for (coefficient, &modulus) in a.iter_mut().zip(f) {
            let products = u64::from(*coefficient) * u64::from(shift)
                + u64::from(minus_top) * u64::from(modulus);
            let next = self.field.reduce(products + u64::from(below)); // three terms fit
            below = std::mem::replace(coefficient, next);
        }
    }

    /// Divides the reduced scratch row by a monic `f`: the remainder's `deg f` coefficients come
    /// first, the quotient's follow, all reduced.
    fn divide(&mut self, f: &[u32]) {
        let degree = f.len() - 1;
        let limit = self.field.lazy_terms();
        let mut terms = 1; // a reduced value counts as one
        for top in (degree..self.row.len()).rev() {
            let lead = self.field.reduce(self.row[top]);
            self.row[top] = u64::from(lead);
            terms += 1;
            if terms > limit {
                self.reduce_row(top - degree..top);
                terms = 2;
            }
            let window = &mut self.row[top - degree..top];
            add_multiple(window, self.field.neg(lead), &f[..degree]);
        }
        let remainder = degree.min(self.row.len());
        self.reduce_row(0..remainder);
    }

    fn reduce_row(&mut self, range: std::ops::Range<usize>) {
        for value in &mut self.row[range] {
            *value = u64::from(self.field.reduce(*value));
        }
    }

    fn load(&mut self, a: &[u32]) {
        self.row.clear();
        self.row.extend(a.iter().map(|&c| u64::from(c)));
    }

    fn store(&self, a: &mut [u32]) {
        for (coefficient, &value) in a.iter_mut().zip(&self.row) {
            *coefficient = value as u32;
        }
    }
}

/// `row += factor * a`, unreduced, over the length of `a`.
#[inline]
fn add_multiple(row: &mut [u64], factor: u32, a: &[u32]) {
    for (sum, &coefficient) in row.iter_mut().zip(a) {
        *sum += u64::from(factor) * u64::from(coefficient);
    }
}

fn trim(a: &mut Vec<u32>) {
    while a.last() == Some(&0) {
        a.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

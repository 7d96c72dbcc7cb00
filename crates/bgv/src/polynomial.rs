use crate::{Ciphertext, EvalError, Evaluator};
use omr_ring::Modulus;
use omr_rlwe::SwitchingKey;

/// The even polynomial `prod_{i=0}^{r} (X^2 - i^2)`, zero exactly on `[-r, r]`, evaluated in
/// `Y = X^2` by baby and giant steps (Paterson, Stockmeyer 1973).
///
/// Levels used: one for Y, `log2(block)` for the powers of Y, one for the scalars, and one for
/// each doubling of blocks.
#[derive(Clone, Debug)]
pub struct RangePolynomial {
    coefficients: Vec<u64>,
    block: usize,
}

impl RangePolynomial {
    /// For the window `[-r, r]` modulo p, in blocks of `block` powers (a power of two).
    pub fn new(p: &Modulus, r: u64, block: usize) -> Self {
        let mut coefficients = vec![1];
        for i in 0..=r {
            let root = p.reduce(i * i);
            let mut next = vec![0; coefficients.len() + 1];
            for (k, &c) in coefficients.iter().enumerate() {
                next[k + 1] = p.add(next[k + 1], c);
                next[k] = p.sub(next[k], p.mul(root, c));
            }
            coefficients = next;
        }
        Self {
            coefficients,
            block,
        }
    }

    /// The coefficients in Y, constant term first.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    fn blocks(&self) -> usize {
        self.coefficients.len().div_ceil(self.block)
    }

    /// Levels from X to the result.
    pub fn depth(&self) -> usize {
        let combine = self.blocks().next_power_of_two().trailing_zeros() as usize;
        1 + self.block.trailing_zeros() as usize + 1 + combine
    }

    /// The value at the slots of `x`; its noise is that of a product.
    /// Errors: the chain is too short below `x`.
    pub fn evaluate(
        &self,
        ev: &Evaluator,
        x: &Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Ciphertext, EvalError> {
        let y = ev.mul(x, x, key)?;
        let powers = self.powers(ev, y, key)?;
        let level = powers[self.block].level() + 1;
        let mut giants = vec![ev.at_level(&powers[self.block], level)?];
        while 1 << giants.len() < self.blocks() {
            let last = &giants[giants.len() - 1];
            giants.push(ev.mul(last, last, key)?);
        }
        let sums = (0..self.blocks()).map(|b| self.block_sum(ev, &powers, &giants, b));
        self.combine(ev, sums.collect::<Result<_, _>>()?, &giants, key)
    }

    /// `Y^1` (twice, so that `Y^k` stands at k), `Y^2 .. Y^block`, all at the level of the last.
    fn powers(
        &self,
        ev: &Evaluator,
        y: Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Vec<Ciphertext>, EvalError> {
        let mut powers = vec![y.clone(), y];
        for k in 2..=self.block {
            let half = k.next_power_of_two() / 2;
            let level = powers[half].level();
            let other = ev.at_level(&powers[k - half], level)?;
            powers.push(ev.mul(&powers[half], &other, key)?);
        }
        let level = powers[self.block].level();
        powers
            .iter()
            .map(|power| ev.at_level(power, level))
            .collect()
    }

    /// Block `b`, `sum_k c_(b block + k) Y^k`, at the level of the first giant.
    ///
    /// Block b is to be multiplied by the giants of b's binary digits. Its scale is divided by
    /// theirs, so that the blocks agree when they are added.
    fn block_sum(
        &self,
        ev: &Evaluator,
        powers: &[Ciphertext],
        giants: &[Ciphertext],
        b: usize,
    ) -> Result<Ciphertext, EvalError> {
        let p = ev.plain.p();
        let scale = (0..giants.len())
            .filter(|i| b >> i & 1 == 1)
            .fold(1, |scale, i| p.mul(scale, p.inv(giants[i].scale())));
        let end = ((b + 1) * self.block).min(self.coefficients.len());
        let block = &self.coefficients[b * self.block..end];
        let mut terms: Vec<(u64, &Ciphertext)> =
            block.iter().copied().zip(powers).skip(1).collect();
        if terms.is_empty() {
            terms.push((0, &powers[1]));
        }
        let mut sum = ev.linear_combination(&terms, scale)?;
        ev.add_constant_assign(&mut sum, block[0]);
        ev.at_level(&sum, giants[0].level())
    }

    /// `B_0 + B_1 Z`, `B_2 + B_3 Z`, ... then the same with `Z^2`, until one sum is left.
    fn combine(
        &self,
        ev: &Evaluator,
        mut sums: Vec<Ciphertext>,
        giants: &[Ciphertext],
        key: &SwitchingKey,
    ) -> Result<Ciphertext, EvalError> {
        for giant in giants {
            let mut next = Vec::new();
            for pair in sums.chunks(2) {
                let mut sum = ev.at_level(&pair[0], giant.level() + 1)?;
                if let Some(high) = pair.get(1) {
                    ev.add_assign(&mut sum, &ev.mul(high, giant, key)?)?;
                }
                next.push(sum);
            }
            sums = next;
        }
        Ok(sums.swap_remove(0))
    }
}

/// `x^(p-1)`: 0 where the slot is 0, else 1 (Fermat); the levels used are those of [`fermat_depth`].
/// `progress` is called after each product.
pub fn fermat_power(
    ev: &Evaluator,
    x: &Ciphertext,
    key: &SwitchingKey,
    progress: &mut dyn FnMut(),
) -> Result<Ciphertext, EvalError> {
    let exponent = ev.plain.p().value() - 1;
    let odd = exponent >> exponent.trailing_zeros();
    let mut power = x.clone();
    for bit in (0..63 - u64::from(odd.leading_zeros())).rev() {
        power = ev.mul(&power, &power, key)?;
        progress();
        if odd >> bit & 1 == 1 {
            let factor = ev.at_level(x, power.level())?;
            power = ev.mul(&power, &factor, key)?;
            progress();
        }
    }
    for _ in 0..exponent.trailing_zeros() {
        power = ev.mul(&power, &power, key)?;
        progress();
    }
    Ok(power)
}

/// Levels that [`fermat_power`] uses for plaintext modulus `p`.
pub fn fermat_depth(p: u64) -> usize {
    let exponent = p - 1;
    let odd = exponent >> exponent.trailing_zeros();
    let bits = 63 - odd.leading_zeros() as usize;
    bits + odd.count_ones() as usize - 1 + exponent.trailing_zeros() as usize
}

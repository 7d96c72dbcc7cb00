//! Polynomials evaluated at every slot: the range check and Fermat's power.

use crate::{Ciphertext, EvalError, Evaluator};
use omr_ring::Modulus;
use omr_rlwe::SwitchingKey;

/// The even polynomial `prod_{i=0}^{r} (X^2 - i^2)`, which is zero exactly on `[-r, r]` (the function g of
/// PerfOMR's range check, as in SophOMR, section 3.3). It is evaluated in `Y = X^2` by baby and giant steps
/// (Paterson, Stockmeyer 1973), in blocks of `k` powers.
///
/// Blocks are joined in pairs, the highest first, each time with one relinearisation:
/// `H_j = B_2j + Y^k B_(2j+1) + Y^2k H_(j+1)`. Every degree is possible; each pair of blocks costs a level.
///
/// If the highest block is not in a pair, it extends to `Y^(k+1)`: `Y^k` is one of the powers, and `Y^(k+1)`,
/// the polynomial's first term, is added without a scalar, beside `Y^2k`.
///
/// Levels used: one for Y, `log2(k)` for the powers of Y, one in which `Y^2k` is computed while the blocks drop
/// the noise of their scalars, and one for each pair.
#[derive(Clone, Debug)]
pub struct RangePolynomial {
    coefficients: Vec<u64>,
    block: usize,
}

/// The powers `Y^k` and `Y^2k` at the level where one pair of blocks is joined.
struct Giants {
    one: Ciphertext,
    two: Option<Ciphertext>,
}

impl RangePolynomial {
    /// Builds the polynomial of the window `[-r, r]` modulo p, in blocks of `block` powers (a power of two).
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

    /// Returns the coefficients in Y, constant term first.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Returns the number of blocks of powers.
    pub fn blocks(&self) -> usize {
        if self.has_first_term() {
            self.degree() / self.block
        } else {
            self.degree().div_ceil(self.block)
        }
    }

    /// Returns whether the first term is added to the highest block as a separate product.
    pub fn has_first_term(&self) -> bool {
        let whole = self.degree() / self.block;
        self.block > 1 && self.degree() % self.block == 1 && whole % 2 == 1
    }

    fn pairs(&self) -> usize {
        self.blocks() / 2
    }

    /// Returns the number of levels from X to the result.
    pub fn depth(&self) -> usize {
        1 + self.block.trailing_zeros() as usize + 1 + self.pairs()
    }

    /// Returns the polynomial's value in each slot of `x`, with the noise of a product.
    ///
    /// Errors: if the chain is too short below `x`.
    pub fn evaluate(
        &self,
        ev: &Evaluator,
        x: &Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Ciphertext, EvalError> {
        let y = ev.mul(x, x, key)?;
        let powers = self.powers(ev, y, key)?;
        let giants = self.giants(ev, &powers[self.block - 1], key)?;
        let mut scales = self.scales(ev, &giants);
        let last = self.blocks() - 1;
        let top = powers[self.block - 1].level() + 1;
        let mut high = match (self.blocks() % 2, self.has_first_term()) {
            (0, _) => None,
            (_, false) => Some(self.block_sum(ev, &powers, last, scales[last], top)?),
            (_, true) => {
                let first = ev.mul(&powers[self.block - 1], &powers[0], key)?;
                Some(self.with_first_term(ev, &powers, &mut scales, first)?)
            }
        };
        let block = |b: usize, level| self.block_sum(ev, &powers, b, scales[b], level);
        for (j, giants) in giants.iter().enumerate().rev() {
            let level = giants.one.level();
            let mut sum = ev.tensor(&giants.one, &block(2 * j + 1, level)?)?;
            if let (Some(two), Some(high)) = (&giants.two, &high) {
                ev.add_assign(&mut sum, &ev.tensor(two, high)?)?;
            }
            add_linear(ev, &mut sum, &block(2 * j, level)?);
            high = Some(ev.relinearise(&sum, key, level + 1)?);
        }
        Ok(high.expect("at least one block"))
    }

    /// Returns `Y^1 .. Y^block`, all at the level of the last.
    fn powers(
        &self,
        ev: &Evaluator,
        y: Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Vec<Ciphertext>, EvalError> {
        let mut powers = vec![y];
        for k in 2..=self.block {
            let half = k.next_power_of_two() / 2;
            let high = &powers[half - 1];
            let other = &powers[k - half - 1];
            let power = if other.level() == high.level() {
                ev.mul(high, other, key)?
            } else {
                let lowered = ev.at_level_from_floor(other, high.level())?;
                let power = ev.mul(high, &lowered, key)?;
                // The lowered power is then cut more often; if nothing is cut, one division is cheaper than
                // two.
                if ev.chain.cuts() {
                    powers[k - half - 1] = lowered;
                }
                power
            };
            powers.push(power);
        }
        let level = powers[self.block - 1].level();
        let at_last = |power: Ciphertext| {
            if power.level() == level {
                Ok(power)
            } else {
                ev.at_level_from_floor(&power, level)
            }
        };
        powers.into_iter().map(at_last).collect()
    }

    /// Returns the giant powers of each pair: those of the highest pair one level below the powers, then one
    /// level lower for each pair.
    fn giants(
        &self,
        ev: &Evaluator,
        one: &Ciphertext,
        key: &SwitchingKey,
    ) -> Result<Vec<Giants>, EvalError> {
        let two = match self.blocks() {
            0..=2 => None,
            _ => Some(ev.mul(one, one, key)?),
        };
        (1..=self.pairs())
            .rev()
            .map(|below| {
                let level = one.level() + below;
                let two = two.as_ref().map(|two| ev.at_level_from_floor(two, level));
                Ok(Giants {
                    one: ev.at_level_from_floor(one, level)?,
                    two: two.transpose()?,
                })
            })
            .collect()
    }

    /// Returns the scale of each block before it drops its level: the scale of the sum that it is added to,
    /// divided by those of the giant powers that it is multiplied by.
    fn scales(&self, ev: &Evaluator, giants: &[Giants]) -> Vec<u64> {
        let p = ev.plain.p();
        let mut out = Vec::new();
        let mut scale = 1;
        for pair in giants {
            out.extend([scale, p.mul(scale, p.inv(pair.one.scale()))]);
            scale = pair
                .two
                .as_ref()
                .map_or(scale, |two| p.mul(scale, p.inv(two.scale())));
        }
        out.push(scale);
        out
    }

    /// Returns the sum of the highest block and the first term. No scalar changes the first term's scale, so
    /// the scales of all blocks are adapted to it.
    fn with_first_term(
        &self,
        ev: &Evaluator,
        powers: &[Ciphertext],
        scales: &mut [u64],
        first: Ciphertext,
    ) -> Result<Ciphertext, EvalError> {
        let (p, last) = (ev.plain.p(), self.blocks() - 1);
        let factor = ev.level_factor(powers[0].level(), first.level());
        let unit = p.mul(first.scale(), p.inv(p.mul(scales[last], factor)));
        for scale in scales.iter_mut() {
            *scale = p.mul(*scale, unit);
        }
        let mut sum = self.block_sum(ev, powers, last, scales[last], first.level())?;
        ev.add_assign(&mut sum, &first)?;
        Ok(sum)
    }

    /// Returns block `b`, `sum_k c_(b block + k) Y^k`. It is computed with this scale at the level of the
    /// powers and then moved to `level`, where the noise of the scalars is gone.
    fn block_sum(
        &self,
        ev: &Evaluator,
        powers: &[Ciphertext],
        b: usize,
        scale: u64,
        level: usize,
    ) -> Result<Ciphertext, EvalError> {
        // The highest block has Y^k too; the first term is added elsewhere, without a scalar.
        let most = self.coefficients.len() - usize::from(self.has_first_term());
        let end = if b + 1 == self.blocks() {
            most
        } else {
            (b + 1) * self.block
        };
        let block = &self.coefficients[b * self.block..end];
        let mut terms: Vec<(u64, &Ciphertext)> = block[1..].iter().copied().zip(powers).collect();
        if terms.is_empty() {
            terms.push((0, &powers[0]));
        }
        let mut sum = ev.linear_combination(&terms, scale)?;
        ev.add_constant_assign(&mut sum, block[0]);
        ev.into_level(sum, level)
    }
}

/// Adds a ciphertext to products of its level and scale that are not relinearised.
pub fn add_linear(ev: &Evaluator, products: &mut Ciphertext, other: &Ciphertext) {
    debug_assert_eq!((products.level, products.scale), (other.level, other.scale));
    for (sum, part) in products.parts.iter_mut().zip(&other.parts) {
        ev.ring.add_assign(sum, part);
    }
}

/// Returns `x^(p-1)`: 0 if the slot is 0, else 1 (Fermat; the function h of SophOMR, section 3.3). It uses
/// [`fermat_depth`] levels. If the chain allows cuts, the noise of `x` must be at the floor. `progress` is
/// called after each product.
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
            let factor = ev.at_level_from_floor(x, power.level())?;
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

/// Returns the number of levels that [`fermat_power`] uses for plaintext modulus `p`.
pub fn fermat_depth(p: u64) -> usize {
    let exponent = p - 1;
    let odd = exponent >> exponent.trailing_zeros();
    let bits = 63 - odd.leading_zeros() as usize;
    bits + odd.count_ones() as usize - 1 + exponent.trailing_zeros() as usize
}

//! Even functions of slots, evaluated as polynomials in the square.

use omr_bgv::{Ciphertext, EvalError, Evaluator, add_linear};
use omr_ring::{Modulus, Poly};
use omr_rlwe::{Rlwe, SwitchingKey};
use rayon::prelude::*;

/// The number of coefficients that are processed together: this piece of all powers stays in the second-level
/// cache.
const PIECE: usize = 128;

/// The number of words between the rows of a piece, so that rows do not compete for cache lines.
const PAD: usize = 8;

/// An even function on the integers from -B to B, as a polynomial of degree B in `U = X^2` modulo p. It is
/// evaluated by baby and giant steps (Paterson, Stockmeyer 1973): `sum_j B_j(U) G^j` with `G = U^k` and blocks
/// of `k` coefficients.
///
/// All giant powers are brought to one level, so that their products with blocks are added first and
/// relinearised once. Blocks are sums with scalars as large as p. They are computed one level above, where
/// powers and sums have one prime more, and the noise is dropped there.
///
/// Levels used: one for U, `log2(k)` for its powers, at least one for the giant powers, one for the sum.
#[derive(Clone, Debug)]
pub struct EvenFunction {
    coefficients: Vec<u64>,
    block: usize,
}

impl EvenFunction {
    /// Returns the function with `values[i]` at i and -i, by divided differences, in blocks of `block` powers
    /// (a power of two). Time: quadratic in the number of values.
    ///
    /// Panics: if there are no values, or if different distances have equal squares modulo p.
    pub fn new(p: &Modulus, values: &[u64], block: usize) -> Self {
        let count = values.len();
        assert!(
            count > 0 && 2 * (count as u64 - 1) < p.value(),
            "distances modulo p"
        );
        assert!(block.is_power_of_two(), "a power of two");
        let node = |i: usize| p.reduce((i * i) as u64);
        // 1/i; nodes differ by (i - j)(i + j).
        let inverse: Vec<u64> = (0..2 * count as u64 - 1)
            .map(|i| if i == 0 { 0 } else { p.inv(i) })
            .collect();
        let mut differences: Vec<u64> = values.iter().map(|&v| p.reduce(v)).collect();
        for order in 1..count {
            for i in (order..count).rev() {
                let rise = p.sub(differences[i], differences[i - 1]);
                let per = p.mul(inverse[order], inverse[2 * i - order]);
                differences[i] = p.mul(rise, per);
            }
        }
        // Newton's form, from the inside out.
        let mut coefficients = vec![0; count];
        for i in (0..count).rev() {
            let root = node(i);
            for k in (1..count - i).rev() {
                coefficients[k] = p.sub(coefficients[k - 1], p.mul(root, coefficients[k]));
            }
            coefficients[0] = p.sub(differences[i], p.mul(root, coefficients[0]));
        }
        Self {
            coefficients,
            block,
        }
    }

    /// Returns the function that is 0 in the window `[-r, r]` and 1 elsewhere, on all of `Z_p` (Liu, Tromer
    /// 2021): the sum over the window of `(X - a)^(p-1)`, whose odd terms cancel, minus `2 r`.
    pub fn outside(p: &Modulus, r: u64, block: usize) -> Self {
        let half = (p.value() - 1) / 2;
        let mut coefficients = vec![0; half as usize + 1];
        // (X - a)^(p-1) = sum_i a^(p-1-i) X^i; a and -a have the same even terms.
        for a in 1..=r {
            let step = p.inv(p.reduce(a * a));
            let mut term = 2;
            for coefficient in coefficients.iter_mut() {
                *coefficient = p.add(*coefficient, term);
                term = p.mul(term, step);
            }
        }
        coefficients[0] = p.sub(coefficients[0], p.reduce(2 * r));
        coefficients[half as usize] = p.add(coefficients[half as usize], 1);
        Self {
            coefficients,
            block,
        }
    }

    /// Returns the coefficients in U, constant term first.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    /// Returns the number of blocks of a polynomial of this degree.
    pub fn blocks_of(degree: usize, block: usize) -> usize {
        (degree + 1).div_ceil(block)
    }

    /// Returns the number of levels that a polynomial of this degree uses.
    pub fn depth_of(degree: usize, block: usize) -> usize {
        let log2 = |x: usize| x.next_power_of_two().trailing_zeros() as usize;
        let giants = Self::blocks_of(degree, block) - 1;
        1 + log2(block) + log2(giants.max(1)).max(1) + 1
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        Self::blocks_of(self.coefficients.len() - 1, self.block)
    }

    /// Returns the number of levels from X to the result.
    pub fn depth(&self) -> usize {
        Self::depth_of(self.coefficients.len() - 1, self.block)
    }

    /// Returns the number of relinearised products: U, its powers, the giant powers, and their sum.
    pub fn products(&self) -> usize {
        1 + (self.block - 1) + self.blocks().saturating_sub(2) + 1
    }

    /// Returns the value of the function in each slot of `x`, with the noise of a product. It calls `progress`
    /// after each product.
    ///
    /// Errors: if the chain is too short below `x`.
    pub fn evaluate(
        &self,
        ev: &Evaluator,
        x: &Ciphertext,
        key: &SwitchingKey,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Ciphertext, EvalError> {
        let end = x.level() + self.depth();
        let u = ev.mul(x, x, key)?;
        progress();
        let unlowered = powers(ev, u, self.block, key, progress)?;
        let giant = unlowered[self.block - 1].clone();
        // Blocks are computed at the level of the last products of the giant powers.
        let powers = lowered(ev, unlowered, end - 2)?;
        let giant_count = self.blocks() - 1;
        if giant_count == 0 {
            let sums = self.block_sums(ev, &powers, &[1])?;
            return ev.at_level(&sums[0], end);
        }
        let giant_powers = self::powers(ev, giant, giant_count, key, progress)?;
        let giants = lowered(ev, giant_powers, end - 1)?;
        let block_sums = self.block_sums(ev, &powers, &self.scales(ev, &giants))?;
        drop(powers);
        let mut sums = block_sums.into_iter();
        let first = sums.next().expect("at least one block");
        let mut total: Option<Ciphertext> = None;
        for (block, giant) in sums.zip(&giants) {
            let product = ev.tensor(&ev.into_level(block, end - 1)?, giant)?;
            match &mut total {
                None => total = Some(product),
                Some(total) => ev.add_assign(total, &product)?,
            }
        }
        let mut total = total.expect("at least one giant");
        add_linear(ev, &mut total, &ev.into_level(first, end - 1)?);
        let sum = ev.relinearise(&total, key, end)?;
        progress();
        Ok(sum)
    }

    /// Returns the scale of each block for which all products and the first block have one scale.
    fn scales(&self, ev: &Evaluator, giants: &[Ciphertext]) -> Vec<u64> {
        let p = ev.plain.p();
        let of_giant = giants.iter().map(|giant| p.inv(giant.scale()));
        [1].into_iter().chain(of_giant).collect()
    }

    /// Returns all blocks `sum_k c_(b block + k) U^k` at the level of the powers, with these scales.
    fn block_sums(
        &self,
        ev: &Evaluator,
        powers: &[Ciphertext],
        scales: &[u64],
    ) -> Result<Vec<Ciphertext>, EvalError> {
        let p = ev.plain.p();
        let factors: Vec<u64> = powers.iter().map(|power| p.inv(power.scale())).collect();
        // Row b contains the factors of U^1 .. U^(k-1) in block b.
        let scalars: Vec<Vec<i64>> = self
            .coefficients
            .chunks(self.block)
            .zip(scales)
            .map(|(block, &scale)| {
                block[1..]
                    .iter()
                    .zip(&factors)
                    .map(|(&c, &factor)| p.to_centered(p.mul(p.mul(c, scale), factor)))
                    .collect()
            })
            .collect();
        let parts: Vec<Vec<Poly<_>>> = (0..2)
            .map(|i| {
                let powers: Vec<&Poly<_>> = powers.iter().map(|ct| &ct.parts()[i]).collect();
                combinations(ev, &powers, &scalars)
            })
            .collect();
        let level = powers[0].level();
        let [c0, c1] = <[_; 2]>::try_from(parts).expect("two parts");
        let constants = self.coefficients.iter().step_by(self.block).zip(scales);
        let sums = c0.into_iter().zip(c1).zip(constants);
        Ok(sums
            .map(|((c0, c1), (&constant, &scale))| {
                let mut sum = Ciphertext::new(Rlwe::new(c0, c1), level, scale);
                ev.add_constant_assign(&mut sum, constant);
                sum
            })
            .collect())
    }
}

/// Returns `sum_k scalars[b][k] rows[k]` for all b, piece by piece, so that the powers are read from memory
/// once.
fn combinations<D: Sync + Send>(
    ev: &Evaluator,
    rows: &[&Poly<D>],
    scalars: &[Vec<i64>],
) -> Vec<Poly<D>> {
    let (ring, basis) = (ev.ring, rows[0].basis());
    let mut out: Vec<Poly<D>> = scalars.iter().map(|_| Poly::scratch(ring, basis)).collect();
    let mut of_limb: Vec<Vec<&mut [u64]>> = basis.ids().iter().map(|_| Vec::new()).collect();
    for poly in &mut out {
        for (limb, row) in poly.rows_mut().enumerate() {
            of_limb[limb].push(row);
        }
    }
    let n = ring.n();
    let piece = PIECE.min(n);
    of_limb
        .into_par_iter()
        .enumerate()
        .for_each(|(limb, mut out)| {
            let m = ring.modulus(basis.ids()[limb]);
            let scalars: Vec<Vec<u64>> = scalars
                .iter()
                .map(|row| row.iter().map(|&c| m.from_i64(c)).collect())
                .collect();
            let most = scalars.iter().map(Vec::len).max().unwrap_or(0);
            let mut tile = vec![0; most * (piece + PAD)];
            for start in (0..n).step_by(piece) {
                for (tile, poly) in tile.chunks_mut(piece + PAD).zip(rows) {
                    tile[..piece].copy_from_slice(&poly.row(limb)[start..start + piece]);
                }
                let tile: Vec<&[u64]> = tile.chunks(piece + PAD).map(|row| &row[..piece]).collect();
                for (out, scalars) in out.iter_mut().zip(&scalars) {
                    let out = &mut out[start..start + piece];
                    if scalars.is_empty() {
                        out.fill(0)
                    } else {
                        ring.kernels()
                            .convert(m, out, &tile[..scalars.len()], scalars)
                    }
                }
            }
        });
    out
}

/// Returns `Y^1 .. Y^count`, each as the product of two halves. The halves have equal levels unless the
/// exponent exceeds a power of two by one.
fn powers(
    ev: &Evaluator,
    y: Ciphertext,
    count: usize,
    key: &SwitchingKey,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Ciphertext>, EvalError> {
    let mut powers = vec![y];
    for k in 2..=count {
        let (high, low) = (&powers[k.div_ceil(2) - 1], &powers[k / 2 - 1]);
        let power = if low.level() == high.level() {
            ev.mul(high, low, key)?
        } else {
            ev.mul(high, &ev.at_level(low, high.level())?, key)?
        };
        powers.push(power);
        progress();
    }
    Ok(powers)
}

/// Lowers all ciphertexts to one level.
fn lowered(
    ev: &Evaluator,
    cts: Vec<Ciphertext>,
    level: usize,
) -> Result<Vec<Ciphertext>, EvalError> {
    cts.into_iter().map(|ct| ev.into_level(ct, level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_function_has_its_values() {
        let p = Modulus::new(786_433).unwrap();
        for count in [1, 2, 3, 100] {
            let values: Vec<u64> = (0..count as u64).map(|i| i * i * i % 7).collect();
            let even = EvenFunction::new(&p, &values, 8);
            assert_eq!(even.coefficients().len(), count);
            for (i, &expected) in values.iter().enumerate() {
                let u = p.reduce((i * i) as u64);
                let terms = even.coefficients().iter().rev();
                let found = terms.fold(0, |sum, &c| p.add(p.mul(sum, u), c));
                assert_eq!(found, expected, "{i} of {count}");
            }
        }
    }

    #[test]
    fn outside_is_zero_in_the_window_alone() {
        let p = Modulus::new(257).unwrap();
        for r in [0, 1, 19, 127, 128] {
            let outside = EvenFunction::outside(&p, r, 8);
            let values: Vec<u64> = (0..=128).map(|i| u64::from(i > r)).collect();
            let interpolated = EvenFunction::new(&p, &values, 8);
            assert_eq!(outside.coefficients(), interpolated.coefficients(), "{r}");
        }
    }

    #[test]
    fn levels_and_products() {
        let depth = |degree, block| EvenFunction::depth_of(degree, block);
        assert_eq!(depth(13_260, 128), 1 + 7 + 7 + 1);
        assert_eq!(depth(15, 8), 1 + 3 + 1 + 1);
        assert_eq!(depth(7, 8), 1 + 3 + 1 + 1);
    }
}

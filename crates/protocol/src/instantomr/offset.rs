//! InstantOMR's offset key for bound clues: the address's `w`, encrypted under the clue secret.
//!
//! Offsets are linear, so a detector subtracts them from a clue before bootstrapping: `<h_j, w>` is a sum of small
//! public digits of h times encryptions of w. Only additions are needed, and the encryptions consist of the seed of
//! their masks and of 32 to 88 residues. They cost noise: an eighth of the noise of rounding a coordinate.

use crate::clue::OFFSET_LEN;
use crate::instantomr::InstantParams;
use omr_ring::{Gadget, Xof, uniform_residues};
use omr_tfhe::Lwe;

/// Returns the gadget of the signed digits of a residue of h.
fn gadget(params: &InstantParams) -> Gadget {
    let bits = params.spec().offset_bits;
    let digits = params.clue.q().bits().div_ceil(bits);
    Gadget { bits, digits }
}

/// Encryptions of an address's `w` times the weights of digits, modulo q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetKey {
    bodies: Vec<u32>,
    /// Masks row by row.
    masks: Vec<Vec<u32>>,
}

impl OffsetKey {
    /// Returns the number of encryptions in a key: one for each digit of eight residues.
    pub fn samples(params: &InstantParams) -> usize {
        OFFSET_LEN * gadget(params).digits as usize
    }

    /// Returns the standard deviation of the error that subtracting an offset adds to a coordinate, relative to that of
    /// a single error.
    pub fn noise(params: &InstantParams) -> f64 {
        let gadget = gadget(params);
        let mean_square = |bits: u32| f64::from(2 * bits).exp2() / 12.0;
        let last = params.clue.q().bits() - gadget.bits * (gadget.digits - 1);
        let digits = f64::from(gadget.digits - 1) * mean_square(gadget.bits) + mean_square(last);
        (OFFSET_LEN as f64 * digits).sqrt()
    }

    /// Derives the masks of a key, which are not sent.
    pub fn masks(params: &InstantParams, seed: &[u8; 32]) -> Vec<Vec<u64>> {
        let mask = |i| {
            let mut mask = vec![0; params.clue.spec().n];
            let mut stream = Xof::stream("omr instant offset v1", seed, &[i as u64]);
            uniform_residues(&mut stream, params.clue.q(), &mut mask);
            mask
        };
        (0..Self::samples(params)).map(mask).collect()
    }

    /// Returns the values that the samples encrypt, in their order.
    pub fn messages(params: &InstantParams, w: &[u32; OFFSET_LEN]) -> Vec<u64> {
        let (gadget, q) = (gadget(params), params.clue.q());
        let of_residue =
            |&w: &u32| (0..gadget.digits).map(move |t| q.mul(w.into(), 1 << (t * gadget.bits)));
        w.iter().flat_map(of_residue).collect()
    }

    /// Makes a key from its bodies and the seed of its masks.
    ///
    /// Shape:  [`OffsetKey::samples`] residues modulo q.
    pub fn from_bodies(params: &InstantParams, bodies: Vec<u32>, seed: &[u8; 32]) -> Self {
        let masks = Self::masks(params, seed).into_iter();
        let short = |mask: Vec<u64>| mask.into_iter().map(|x| x as u32).collect();
        Self {
            bodies,
            masks: masks.map(short).collect(),
        }
    }

    /// Returns the bodies.
    pub fn bodies(&self) -> &[u32] {
        &self.bodies
    }

    /// Subtracts `<row, w>` from a coordinate modulo `modulus`, which is q or 2 q. Residues modulo q are the even ones
    /// modulo 2 q.
    ///
    /// Noise: adds that of a sum of all samples times digits ([`OffsetKey::noise`]).
    pub fn take_off(
        &self,
        params: &InstantParams,
        row: &[u32; OFFSET_LEN],
        modulus: u64,
        from: &mut Lwe,
    ) {
        let q = params.clue.q();
        let step = (modulus / q.value()) as f64;
        let digits = digits(q.value() as i64, gadget(params), row);
        // |digit| <= 16 and residues below 2^22: sums of 88 stay below 2^33, exact in double precision, in which every
        // processor multiplies several at a time.
        let mut sums = vec![0.0; from.mask.len()];
        let mut body = 0.0;
        for ((&digit, mask), &own) in digits.iter().zip(&self.masks).zip(&self.bodies) {
            let factor = digit as f64;
            for (sum, &x) in sums.iter_mut().zip(mask) {
                *sum += factor * f64::from(x as i32);
            }
            body += factor * f64::from(own);
        }
        let residue = Residue::new(modulus);
        let less = |x: u64, sum: f64| residue.of(x as f64 - step * sum);
        from.body = less(from.body, body);
        for (x, &sum) in from.mask.iter_mut().zip(&sums) {
            *x = less(*x, sum);
        }
    }
}

/// Reduction of whole numbers below 2^51 in absolute value, in double precision.
struct Residue {
    modulus: f64,
    inverse: f64,
}

impl Residue {
    fn new(modulus: u64) -> Self {
        Self {
            modulus: modulus as f64,
            inverse: 1.0 / modulus as f64,
        }
    }

    fn of(&self, x: f64) -> u64 {
        // Adding and subtracting this rounds a number to the nearest integer.
        const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
        let quotient = (x * self.inverse + ROUND) - ROUND;
        let left = x - quotient * self.modulus;
        (if left < 0.0 {
            left + self.modulus
        } else {
            left
        }) as u64
    }
}

/// Returns signed digits of centred residues, in `[-base / 2, base / 2)` except for the last digit of each.
fn digits(q: i64, gadget: Gadget, row: &[u32; OFFSET_LEN]) -> Vec<i64> {
    let (base, count) = (1i64 << gadget.bits, gadget.digits);
    let mut out = Vec::with_capacity(OFFSET_LEN * count as usize);
    for residue in row.iter().copied().map(i64::from) {
        let mut rest = if 2 * residue > q {
            residue - q
        } else {
            residue
        };
        for t in 1..=count {
            let digit = if t == count {
                rest
            } else {
                (rest + base / 2).rem_euclid(base) - base / 2
            };
            rest = (rest - digit) / base;
            out.push(digit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_small_and_add_up() {
        for (q, bits, digits) in [(786_433u32, 5, 4), (4_188_161, 5, 5), (4_188_161, 2, 11)] {
            let half = q / 2;
            let firsts = [0, 1, 15, 16, 31, half, half + 1, q - 1, 524_287, 400_000];
            for first in firsts {
                let row = [first, 5, q - 1, half, half + 1, 17, 0, 99_999];
                check(q.into(), Gadget { bits, digits }, &row);
            }
        }
    }

    #[test]
    fn residues_are_those_of_integers() {
        for modulus in [3u64, 786_433, 4_188_161, 8_376_322] {
            let residue = Residue::new(modulus);
            let (m, far) = (modulus as i64, (1i64 << 34) / modulus as i64);
            for around in [0, 1, -1, far, -far, far / 3] {
                for off in [0, 1, -1, m / 2, m / 2 + 1, -(m / 2) - 1] {
                    let x = around * m + off;
                    assert_eq!(residue.of(x as f64), x.rem_euclid(m) as u64, "{x} of {m}");
                }
            }
        }
    }

    fn check(q: i64, gadget: Gadget, row: &[u32; OFFSET_LEN]) {
        let digits = digits(q, gadget, row);
        let (base, count) = (1i64 << gadget.bits, gadget.digits as usize);
        assert_eq!(digits.len(), OFFSET_LEN * count);
        assert!(digits.iter().all(|d| 2 * d.abs() <= base), "{digits:?}");
        for (own, &residue) in digits.chunks(count).zip(row) {
            let value = own.iter().rev().fold(0, |value, d| base * value + d);
            assert_eq!(value.rem_euclid(q), i64::from(residue));
        }
    }
}

//! What an InstantOMR detector needs for bound clues: the address's `w` under the clue secret.
//!
//! Offsets are linear, so they come off a clue before any bootstrapping: `<h_j, w>` is a sum of small digits of h
//! times encryptions of w, with public digits. Nothing but additions is done, and the encryptions are as small as
//! their masks' seed and 32 or 40 residues. Their noise, a thirtieth of a coordinate's rounding, is all they cost.

use crate::ClueParams;
use crate::clue::OFFSET_LEN;
use crate::instantomr::InstantParams;
use omr_ring::{Xof, uniform_residues};
use omr_tfhe::Lwe;

/// Bits of a digit of h, which is signed.
const DIGIT_BITS: u32 = 5;

/// Digits of a residue.
fn digits_of(params: &ClueParams) -> usize {
    params.q().bits().div_ceil(DIGIT_BITS) as usize
}

/// Encryptions of an address's `w`, times the weights of digits, modulo q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetKey {
    bodies: Vec<u32>,
    /// Row by row, as signed words.
    masks: Vec<Vec<i64>>,
}

impl OffsetKey {
    /// Encryptions in a key: eight residues, in four digits each of 20 bits.
    pub fn samples(params: &ClueParams) -> usize {
        OFFSET_LEN * digits_of(params)
    }

    /// The masks of a key, which are not sent.
    pub fn masks(params: &ClueParams, seed: &[u8; 32]) -> Vec<Vec<u64>> {
        let mask = |i| {
            let mut mask = vec![0; params.spec().n];
            let mut stream = Xof::stream("omr instant offset v1", seed, &[i as u64]);
            uniform_residues(&mut stream, params.q(), &mut mask);
            mask
        };
        (0..Self::samples(params)).map(mask).collect()
    }

    /// What the samples encrypt, in their order.
    pub fn messages(params: &ClueParams, w: &[u32; OFFSET_LEN]) -> Vec<u64> {
        let weight = |t: usize| 1 << (t as u32 * DIGIT_BITS);
        let digits = digits_of(params);
        let of_residue = |&w: &u32| (0..digits).map(move |t| params.q().mul(w.into(), weight(t)));
        w.iter().flat_map(of_residue).collect()
    }

    /// From the bodies.
    ///
    /// Shape:  [`OffsetKey::samples`] residues modulo q.
    pub fn from_bodies(params: &ClueParams, bodies: Vec<u32>, seed: &[u8; 32]) -> Self {
        let masks = Self::masks(params, seed).into_iter();
        let signed = |mask: Vec<u64>| mask.into_iter().map(|x| x as i64).collect();
        Self {
            bodies,
            masks: masks.map(signed).collect(),
        }
    }

    /// The bodies.
    pub fn bodies(&self) -> &[u32] {
        &self.bodies
    }

    /// Takes `<row, w>` off a coordinate modulo q.
    ///
    /// Noise: adds that of a sum of all samples times digits of at most 16.
    pub fn take_off(&self, params: &InstantParams, row: &[u32; OFFSET_LEN], from: &mut Lwe) {
        let q = params.clue.q();
        let digits = digits(q.value() as i64, digits_of(&params.clue), row);
        // |digit| <= 16 and residues below 2^22: sums of 40 stay below 2^32.
        let mut sums = vec![0i64; from.mask.len()];
        let mut body = 0i64;
        for ((&digit, mask), &own) in digits.iter().zip(&self.masks).zip(&self.bodies) {
            for (sum, &x) in sums.iter_mut().zip(mask) {
                *sum += digit * x;
            }
            body += digit * i64::from(own);
        }
        from.body = q.sub(from.body, q.from_i64(body));
        for (x, &sum) in from.mask.iter_mut().zip(&sums) {
            *x = q.sub(*x, q.from_i64(sum));
        }
    }
}

/// Signed digits, in `[-16, 16)` but for the last, of centred residues.
fn digits(q: i64, count: usize, row: &[u32; OFFSET_LEN]) -> Vec<i64> {
    let base = 1i64 << DIGIT_BITS;
    let mut out = Vec::with_capacity(OFFSET_LEN * count);
    for &residue in row {
        let residue = i64::from(residue);
        let mut rest = if 2 * residue > q {
            residue - q
        } else {
            residue
        };
        for t in 1..=count {
            let digit = match t == count {
                true => rest,
                false => (rest + base / 2).rem_euclid(base) - base / 2,
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
        for (q, count) in [(786_433u32, 4), (4_188_161, 5)] {
            let half = q / 2;
            let firsts = [0, 1, 15, 16, 31, half, half + 1, q - 1, 524_287, 400_000];
            for first in firsts {
                let row = [first, 5, q - 1, half, half + 1, 17, 0, 99_999];
                check(q.into(), count, &row);
            }
        }
    }

    fn check(q: i64, count: usize, row: &[u32; OFFSET_LEN]) {
        let digits = digits(q, count, row);
        assert_eq!(digits.len(), OFFSET_LEN * count);
        assert!(digits.iter().all(|d| d.abs() <= 16), "{digits:?}");
        for (own, &residue) in digits.chunks(count).zip(row) {
            let value = own.iter().rev().fold(0, |value, d| 32 * value + d);
            assert_eq!(value.rem_euclid(q), i64::from(residue));
        }
    }
}

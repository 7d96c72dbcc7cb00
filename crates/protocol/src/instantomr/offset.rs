//! What an InstantOMR detector needs for bound clues: the address's `w` under the clue secret.
//!
//! Offsets are linear, so they come off a clue before any bootstrapping: `<h_j, w>` is a sum of small digits of h
//! times encryptions of w, with public digits. Nothing but additions is done, and the encryptions are as small as
//! their masks' seed and 32 residues. Their noise, a thirtieth of a coordinate's rounding, is all they cost.

use crate::ClueParams;
use crate::clue::OFFSET_LEN;
use crate::instantomr::InstantParams;
use omr_ring::{Xof, uniform_residues};
use omr_tfhe::Lwe;

/// Bits of a digit of h, which is signed.
const DIGIT_BITS: u32 = 5;
/// Digits of a residue of up to 20 bits.
const DIGITS: usize = 4;

/// Encryptions of an address's `w`, times the weights of digits, modulo q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetKey {
    bodies: Vec<u32>,
    /// Row by row, as signed words.
    masks: Vec<Vec<i64>>,
}

impl OffsetKey {
    /// Encryptions in a key: eight residues in four digits each.
    pub const SAMPLES: usize = OFFSET_LEN * DIGITS;

    /// The masks of a key, which are not sent.
    pub fn masks(params: &ClueParams, seed: &[u8; 32]) -> Vec<Vec<u64>> {
        let mask = |i| {
            let mut mask = vec![0; params.spec().n];
            let mut stream = Xof::stream("omr instant offset v1", seed, &[i as u64]);
            uniform_residues(&mut stream, params.q(), &mut mask);
            mask
        };
        (0..Self::SAMPLES).map(mask).collect()
    }

    /// What the samples encrypt, in their order.
    pub fn messages(params: &ClueParams, w: &[u32; OFFSET_LEN]) -> Vec<u64> {
        let weight = |t: usize| 1 << (t as u32 * DIGIT_BITS);
        let of_residue = |&w: &u32| (0..DIGITS).map(move |t| params.q().mul(w.into(), weight(t)));
        w.iter().flat_map(of_residue).collect()
    }

    /// From the bodies.
    ///
    /// Shape:  [`OffsetKey::SAMPLES`] residues modulo q.
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
    /// Noise: adds that of a sum of 32 samples times digits of at most 16.
    pub fn take_off(&self, params: &InstantParams, row: &[u32; OFFSET_LEN], from: &mut Lwe) {
        let q = params.clue.q();
        let digits = digits(q.value() as i64, row);
        // |digit| <= 16 and residues below 2^20: sums of 32 stay below 2^29.
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
fn digits(q: i64, row: &[u32; OFFSET_LEN]) -> Vec<i64> {
    let base = 1i64 << DIGIT_BITS;
    let mut out = Vec::with_capacity(OFFSET_LEN * DIGITS);
    for &residue in row {
        let residue = i64::from(residue);
        let mut rest = if 2 * residue > q {
            residue - q
        } else {
            residue
        };
        for t in 1..=DIGITS {
            let digit = match t == DIGITS {
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
        let q = 786_433i64;
        for first in [
            0, 1, 15, 16, 31, 393_216, 393_217, 786_432, 524_287, 400_000,
        ] {
            let row = [first, 5, 786_432, 393_216, 393_217, 17, 0, 99_999];
            let digits = digits(q, &row);
            assert_eq!(digits.len(), OffsetKey::SAMPLES);
            assert!(digits.iter().all(|d| d.abs() <= 16), "{digits:?}");
            for (own, &residue) in digits.chunks(DIGITS).zip(&row) {
                let value = own.iter().rev().fold(0, |value, d| 32 * value + d);
                assert_eq!(value.rem_euclid(q), i64::from(residue));
            }
        }
    }
}

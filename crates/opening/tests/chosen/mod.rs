//! A generator whose words make samplers give errors that were chosen.

use omr_ring::NarrowGaussian;
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

pub(crate) struct Words(std::vec::IntoIter<u64>);

impl Words {
    /// For the centred binomial distribution.
    pub(crate) fn binomial(errors: &[Vec<i64>]) -> Self {
        let ones = |count: i64| (1u64 << count.max(0)) - 1;
        Self::of(errors, |error| ones(error) | ones(-error) << 32)
    }

    /// For the narrow Gaussian distribution with a parameter: a word from the middle of its magnitude's.
    pub(crate) fn narrow(parameter: f64, errors: &[Vec<i64>]) -> Self {
        let gaussian = NarrowGaussian::new(parameter);
        let of = |x: usize| gaussian.probabilities()[x] * if x == 0 { 1.0 } else { 2.0 };
        let word = |error: i64| {
            let magnitude = error.unsigned_abs() as usize;
            let below: f64 = (0..magnitude).map(of).sum();
            let uniform = (below + of(magnitude) / 2.0) * 63f64.exp2();
            (uniform as u64) << 1 | u64::from(error < 0)
        };
        Self::of(errors, word)
    }

    fn of(errors: &[Vec<i64>], word: impl Fn(i64) -> u64) -> Self {
        let words: Vec<u64> = errors.iter().flatten().map(|&error| word(error)).collect();
        Self(words.into_iter())
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

impl TryRng for Words {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("errors take 64 bits at a time")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next().expect("as many words as coefficients"))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("errors take 64 bits at a time")
    }
}

impl TryCryptoRng for Words {}

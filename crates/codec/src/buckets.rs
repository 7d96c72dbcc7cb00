//! InstantOMR's own code: indices in buckets with counters, payloads in random linear combinations,
//! modulo 97 (InstantOMR, sections 5.2.3 and 5.2.4).
//!
//! Differences: the choice of buckets and the factors come from a keyed stream of the message's index,
//! so that sums over any split of a board add up; and a message that was found is taken out of all its
//! buckets, which uncovers others, so that 8 rounds do for 25.

use crate::draws::Draws;
use crate::elimination::eliminate;
use crate::error::{CodecError, DecodeError, Inconsistency};
use crate::{CUBIC_MESSAGES, CUBIC_NEWTON_BOUND, Field};
use omr_errors::Mismatch;

/// The modulus.
const P: u32 = 97;
/// Digits of an index; a bucket has a counter more.
const DIGITS: usize = 3;
const BUCKET: usize = DIGITS + 1;
/// Buckets that each message is put into. Two of 50 messages share all of theirs with 2^-45.
const ROUNDS: usize = 8;
/// Combinations beyond the bound: they are dependent with 97^-7.
const SPARE: usize = 6;

/// A sparse-recovery code modulo 97 for up to `k` pertinent messages.
///
/// For message `i` the detector adds, modulo 97 and only where it is pertinent,
/// * the index weights: for each of 8 rounds, in one bucket of `12 k / 5`, the digits of `i` and 1;
/// * the payload weights: the payload's digits times a random factor, for each of `k + 6` rows.
#[derive(Debug, Clone)]
pub struct BucketCode {
    key: [u8; 32],
    bound: usize,
}

impl BucketCode {
    /// Builds the code for at most `bound` pertinent messages.
    ///
    /// Sums decode only with the seed and the bound that they were made with.
    /// Errors: [`CodecError::Bound`] outside `1..=96`.
    pub fn new(seed: &[u8; 32], bound: usize) -> Result<Self, CodecError> {
        let limit = CUBIC_NEWTON_BOUND;
        if (1..=limit).contains(&bound) {
            Ok(Self {
                key: blake3::derive_key("omr bucket code v1", seed),
                bound,
            })
        } else {
            Err(CodecError::Bound(Mismatch::new(limit, bound)))
        }
    }

    /// Buckets of a round.
    fn buckets(&self) -> usize {
        (12 * self.bound).div_ceil(5)
    }

    /// Linear combinations of payloads.
    fn rows(&self) -> usize {
        self.bound + SPARE
    }

    /// The number of index weights of a message.
    pub fn index_weights(&self) -> usize {
        ROUNDS * self.buckets() * BUCKET
    }

    /// The number of payload weights of a message of `digits` digits.
    pub fn payload_weights(&self, digits: usize) -> usize {
        self.rows() * digits
    }

    /// The numbers that message `index` draws: its bucket of each round, then its factor in each row.
    fn draws(&self, index: u64) -> impl Iterator<Item = u64> {
        let mut draws = Draws::new(&self.key, index);
        let (rounds, rows) = (ROUNDS, self.rows());
        let limits = [(rounds, self.buckets() as u64), (rows, P.into())]
            .into_iter()
            .flat_map(|(count, limit)| std::iter::repeat_n(limit, count));
        limits.map(move |limit| draws.below(limit))
    }

    /// The places of message `index`'s buckets among the index weights.
    fn places(&self, index: u64) -> impl Iterator<Item = usize> {
        let buckets = self.draws(index).take(ROUNDS).enumerate();
        let per_round = self.buckets();
        buckets.map(move |(round, bucket)| (round * per_round + bucket as usize) * BUCKET)
    }

    /// The factors of a message, row by row.
    fn factors(&self, index: u64) -> impl Iterator<Item = u32> {
        self.draws(index).skip(ROUNDS).map(|x| x as u32)
    }

    /// Writes the index weights.
    ///
    /// Shape:  [`BucketCode::index_weights`] values.   Range: out `[0, 97)`.
    /// Panics: on length mismatch; unless `index < 912672`.
    pub fn index_weights_into(&self, index: u64, out: &mut [u8]) {
        assert_eq!(out.len(), self.index_weights(), "index weights");
        assert!(index < CUBIC_MESSAGES, "message {index}");
        out.fill(0);
        for place in self.places(index) {
            out[place..place + BUCKET].copy_from_slice(&content(index));
        }
    }

    /// Writes the payload weights: for each row all digits times its factor.
    ///
    /// Shape:  [`BucketCode::payload_weights`] values.   Range: digits and out `[0, 97)`.
    /// Panics: on length mismatch.
    pub fn payload_weights_into(&self, index: u64, digits: &[u8], out: &mut [u8]) {
        assert_eq!(
            out.len(),
            self.payload_weights(digits.len()),
            "payload weights"
        );
        for (factor, row) in self.factors(index).zip(out.chunks_mut(digits.len().max(1))) {
            for (out, &digit) in row.iter_mut().zip(digits) {
                *out = (factor * u32::from(digit) % P) as u8;
            }
        }
    }

    /// Finds the pertinent messages whose index weights add up to `sums`, in ascending order.
    ///
    /// Shape:  [`BucketCode::index_weights`] sums.   Time: vartime.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]; [`DecodeError::Overflow`] where the
    /// counters of a round exceed the bound (modulo 97); [`DecodeError::Inconsistent`] where no set
    /// of messages has these sums, or their buckets all collide.
    pub fn find_support(&self, sums: &[u8]) -> Result<Vec<u64>, DecodeError> {
        let (expected, found) = (self.index_weights(), sums.len());
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        check_range(sums)?;
        let counters = sums.iter().skip(DIGITS).step_by(BUCKET);
        let first = counters.take(self.buckets()).map(|&c| u32::from(c));
        let count = (first.sum::<u32>() % P) as usize;
        if count > self.bound {
            let bound = self.bound;
            return Err(DecodeError::Overflow { count, bound });
        }
        let mut left = sums.to_vec();
        let mut support = Vec::with_capacity(count);
        while let Some(index) = self.alone(&left).filter(|_| support.len() < count) {
            self.take_out(index, &mut left);
            support.push(index);
        }
        support.sort_unstable();
        match left.iter().position(|&x| x != 0) {
            None => Ok(support),
            Some(exponent) => {
                Err(Inconsistency::Sum(exponent, Mismatch::new(0, left[exponent].into())).into())
            }
        }
    }

    /// A message that is alone in one of its buckets.
    fn alone(&self, left: &[u8]) -> Option<u64> {
        let buckets = left.chunks_exact(BUCKET).enumerate();
        let single = buckets.filter(|(_, bucket)| bucket[DIGITS] == 1);
        single
            .map(|(at, bucket)| (at * BUCKET, number(bucket)))
            .filter(|&(_, index)| index < CUBIC_MESSAGES)
            .find(|&(place, index)| self.places(index).any(|own| own == place))
            .map(|(_, index)| index)
    }

    fn take_out(&self, index: u64, left: &mut [u8]) {
        for place in self.places(index) {
            for (x, own) in left[place..].iter_mut().zip(content(index)) {
                *x = (u32::from(*x) + P - u32::from(own)) as u8 % P as u8;
            }
        }
    }

    /// The payload digits, one row for every message of `support`, whose payload weights add up to
    /// `sums`.
    ///
    /// Shape:  [`BucketCode::payload_weights`] sums.   Time: vartime.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`] for
    /// more messages than rows, or dependent ones; [`DecodeError::Inconsistent`] names the first
    /// row that the others contradict.
    pub fn solve(
        &self,
        support: &[u64],
        digits: usize,
        sums: &[u8],
    ) -> Result<Vec<Vec<u8>>, DecodeError> {
        let (expected, found) = (self.payload_weights(digits), sums.len());
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        check_range(sums)?;
        let columns: Vec<Vec<u32>> = support.iter().map(|&i| self.factors(i).collect()).collect();
        let row = |r: usize| {
            let factors = columns.iter().map(|column| column[r]);
            let own = &sums[r * digits..(r + 1) * digits];
            factors.chain(own.iter().map(|&x| x.into())).collect()
        };
        let mut rows: Vec<Vec<u32>> = (0..self.rows()).map(row).collect();
        eliminate(
            &Field::new(P).expect("97 is prime"),
            &mut rows,
            support.len(),
        )?;
        let payload = |row: &Vec<u32>| row[support.len()..].iter().map(|&x| x as u8).collect();
        Ok(rows[..support.len()].iter().map(payload).collect())
    }
}

/// The digits of an index and the counter's 1.
fn content(index: u64) -> [u8; BUCKET] {
    let digit = |i: u32| (index / u64::from(P).pow(i) % u64::from(P)) as u8;
    [digit(0), digit(1), digit(2), 1]
}

/// The index with these digits.
fn number(bucket: &[u8]) -> u64 {
    let digits = bucket[..DIGITS].iter().rev();
    digits.fold(0, |n, &d| n * u64::from(P) + u64::from(d))
}

fn check_range(sums: &[u8]) -> Result<(), DecodeError> {
    let modulus = P;
    match sums.iter().position(|&x| u32::from(x) >= modulus) {
        None => Ok(()),
        Some(exponent) => Err(DecodeError::SumRange(
            exponent,
            Mismatch::new(modulus, sums[exponent].into()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(sums: &mut [u8], weights: &[u8]) {
        for (x, &y) in sums.iter_mut().zip(weights) {
            *x = ((u32::from(*x) + u32::from(y)) % P) as u8;
        }
    }

    /// Sums over messages with these digits.
    fn sums(code: &BucketCode, messages: &[(u64, Vec<u8>)]) -> (Vec<u8>, Vec<u8>) {
        let digits = messages.first().map_or(0, |(_, digits)| digits.len());
        let mut index = vec![0; code.index_weights()];
        let mut payload = vec![0; code.payload_weights(digits)];
        let (mut own, mut other) = (index.clone(), payload.clone());
        for (i, digits) in messages {
            code.index_weights_into(*i, &mut own);
            code.payload_weights_into(*i, digits, &mut other);
            add(&mut index, &own);
            add(&mut payload, &other);
        }
        (index, payload)
    }

    fn messages(count: u64, digits: usize) -> Vec<(u64, Vec<u8>)> {
        let digit = |i: u64, j: usize| ((i * 31 + j as u64 * j as u64 * 7 + i / 5) % 97) as u8;
        (0..count)
            .map(|i| {
                let index = (i * 7919 + 5) % CUBIC_MESSAGES;
                (index, (0..digits).map(|j| digit(i, j)).collect())
            })
            .collect()
    }

    #[test]
    fn as_many_messages_as_the_bound_come_back() {
        for (bound, count) in [(1, 1), (1, 0), (7, 7), (50, 50), (50, 31), (96, 96)] {
            let code = BucketCode::new(&[4; 32], bound).unwrap();
            let mut messages = messages(count, 20);
            let (index, payload) = sums(&code, &messages);
            messages.sort();
            let support = code.find_support(&index).unwrap();
            let expected: Vec<u64> = messages.iter().map(|(i, _)| *i).collect();
            assert_eq!(support, expected, "{bound} {count}");
            let digits = if count == 0 { 0 } else { 20 };
            let payloads = code.solve(&support, digits, &payload).unwrap();
            let expected: Vec<Vec<u8>> = messages.into_iter().map(|(_, d)| d).collect();
            assert_eq!(payloads, expected);
        }
    }

    #[test]
    fn fifty_messages_come_back_under_every_seed() {
        for seed in 0..200 {
            let code = BucketCode::new(&[seed; 32], 50).unwrap();
            let messages = messages(50, 1);
            let (index, _) = sums(&code, &messages);
            assert_eq!(code.find_support(&index).unwrap().len(), 50, "{seed}");
        }
    }

    #[test]
    fn bad_sums_are_told() {
        let code = BucketCode::new(&[5; 32], 4).unwrap();
        let (index, payload) = sums(&code, &messages(6, 3));
        assert_eq!(
            code.find_support(&index),
            Err(DecodeError::Overflow { count: 6, bound: 4 })
        );
        let (index, _) = sums(&code, &messages(3, 3));
        for at in 0..index.len() {
            let mut damaged = index.clone();
            damaged[at] = (damaged[at] + 1) % 97;
            assert!(code.find_support(&damaged).is_err(), "{at}");
        }
        let support = [5, 7924];
        assert!(matches!(
            code.solve(&support, 3, &payload),
            Err(DecodeError::Inconsistent(_))
        ));
        assert!(matches!(
            code.solve(&support, 4, &payload),
            Err(DecodeError::SumCount(_))
        ));
        assert!(matches!(
            code.find_support(&vec![97; code.index_weights()]),
            Err(DecodeError::SumRange(..))
        ));
        for found in [0, 97] {
            let error = BucketCode::new(&[0; 32], found).unwrap_err();
            assert_eq!(error, CodecError::Bound(Mismatch::new(96, found)));
        }
    }
}

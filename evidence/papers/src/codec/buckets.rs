//! Indices in buckets with counters (OMR2p, PerfOMR1, PerfOMR2).

use super::odds::{Factorials, sum};
use omr_codec::{CodecError, DecodeError, Draws, Field, Inconsistency};
use omr_protocol::Mismatch;

/// The number of rounds and buckets of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketShape {
    /// The number of rounds; a bundle is put into one bucket of each round.
    pub rounds: usize,
    /// The number of buckets of a round.
    pub buckets: usize,
}

impl BucketShape {
    /// The published shape of PerfOMR, for every bound.
    pub const PERFOMR: Self = Self {
        rounds: 16,
        buckets: 400,
    };

    /// Returns the published shape of OMR2p, with as many buckets as a ciphertext has slots.
    pub fn omr2p(slots: usize) -> Self {
        Self {
            rounds: 5,
            buckets: slots,
        }
    }

    /// Returns a shape that grows with the bound. Decoding fails with a probability below 2^-30 for any bound.
    pub fn for_bound(bound: usize) -> Self {
        Self {
            rounds: 8,
            buckets: bound.saturating_mul(5).div_ceil(4).saturating_add(16),
        }
    }

    /// Returns log2 of an upper bound on the probability that `bound` pertinent bundles cannot be decoded.
    ///
    /// Decoding stops at a set of bundles if none of them is alone in a bucket. Such a set of `s` bundles uses
    /// at most `s / 2` buckets in every round. Time: linear in the bound and the number of buckets.
    pub fn failure_log2(&self, bound: usize) -> f64 {
        let factorials = Factorials::up_to(bound.max(self.buckets));
        let term = |s: usize| {
            let few = (s / 2).min(self.buckets);
            let share = few as f64 / self.buckets as f64;
            let round = factorials.choose(self.buckets, few) + s as f64 * share.log2();
            factorials.choose(bound, s) + self.rounds as f64 * round.min(0.0)
        };
        sum((2..=bound).map(term))
    }
}

/// A bundle with pertinent messages, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bundle {
    /// The number of the bundle.
    pub index: u64,
    /// The number of its pertinent messages, at least 1.
    pub count: u32,
}

/// An index with a few sums for each bundle of messages that contains a pertinent one.
///
/// For bundle `j` with `c` pertinent messages the detector adds, modulo p, `c` times the index weights: in one
/// bucket of each round the digits of `j` and finally a 1. For bundles of one message the digits are in base p
/// (OMR2p). For larger bundles a digit contains as many bits of `j` as fit; each bit takes as many bits as the
/// number of the bundle's messages needs (PerfOMR), so that a mixture of bundles is never mistaken for a
/// bundle.
#[derive(Debug, Clone)]
pub struct IndexBuckets {
    key: [u8; 32],
    field: Field,
    shape: BucketShape,
    bundles: u64,
    bundle: u32,
    bound: usize,
    radix: Radix,
}

/// The representation of a bundle's number as digits.
#[derive(Debug, Clone, Copy)]
struct Radix {
    digits: usize,
    /// The number of bits of `j` in a digit, and the width of each; `None` for base p.
    widened: Option<(u32, u32)>,
}

impl Radix {
    fn new(p: u32, bundles: u64, bundle: u32) -> Self {
        let bits = u64::BITS - (bundles - 1).leading_zeros();
        if bundle == 1 {
            let digits = (1..42)
                .find(|digits| u128::from(p).pow(*digits) >= u128::from(bundles))
                .unwrap_or(41) as usize;
            return Self {
                digits,
                widened: None,
            };
        }
        let width = u32::BITS - bundle.leading_zeros();
        let chunks = p.ilog2() / width;
        Self {
            digits: bits.max(1).div_ceil(chunks) as usize,
            widened: Some((chunks, width)),
        }
    }

    /// Returns digit `at` of an index.
    fn digit(&self, p: u32, index: u64, at: usize) -> u32 {
        let Some((chunks, width)) = self.widened else {
            return (u128::from(index) / u128::from(p).pow(at as u32) % u128::from(p)) as u32;
        };
        let first = chunks * at as u32;
        let bit = |i: u32| index.checked_shr(first + i).unwrap_or(0) as u32 & 1;
        (0..chunks).map(|i| bit(i) << (i * width)).sum()
    }

    /// Returns the index with these digits; `None` if a bit is neither 0 nor 1, or if the index is too large.
    fn index(&self, p: u32, digits: &[u32]) -> Option<u64> {
        let Some((chunks, width)) = self.widened else {
            let number = |n: Option<u64>, &d: &u32| n?.checked_mul(p.into())?.checked_add(d.into());
            return digits.iter().rev().fold(Some(0), number);
        };
        let mut index = 0u64;
        for (at, &digit) in (0..).zip(digits) {
            let bits = (0..chunks).map(|i| (i, digit >> (i * width) & 1));
            let mut rest = digit;
            for (i, bit) in bits {
                rest -= bit << (i * width);
                let place = chunks * at + i;
                index |= u64::from(bit)
                    .checked_shl(place)
                    .filter(|&x| x >> place == u64::from(bit))?;
            }
            if rest != 0 {
                return None;
            }
        }
        Some(index)
    }
}

impl IndexBuckets {
    /// Builds the index of `bundles` bundles of `bundle` messages each, at most `bound` of them pertinent.
    ///
    /// Sums decode only with the seed and the numbers with which the detector computed them.
    ///
    /// Errors: [`CodecError::Modulus`]; [`CodecError::Bound`] outside `1..p`; [`CodecError::Dimension`] for no
    /// bundles, rounds or buckets, or for bundles that are empty or too large for the modulus.
    pub fn new(
        p: u32,
        seed: &[u8; 32],
        shape: BucketShape,
        bundles: u64,
        bundle: u32,
        bound: usize,
    ) -> Result<Self, CodecError> {
        let field = Field::new(p)?;
        let limit = p as usize - 1;
        if !(1..=limit).contains(&bound) {
            return Err(CodecError::Bound(Mismatch::new(limit, bound)));
        }
        let checks = [
            (bundles >= 1, "at least one bundle", bundles),
            (
                bundle >= 1 && u32::BITS - bundle.leading_zeros() <= p.ilog2(),
                "bundles of at least one message, and of fewer than the modulus",
                bundle.into(),
            ),
            (
                shape.rounds >= 1 && shape.buckets >= 1,
                "at least one round of at least one bucket",
                shape.rounds.min(shape.buckets) as u64,
            ),
        ];
        for (ok, expected, found) in checks {
            if !ok {
                return Err(CodecError::Dimension(Mismatch::new(expected, found)));
            }
        }
        Ok(Self {
            key: blake3::derive_key("omr earlier index buckets v1", seed),
            field,
            shape,
            bundles,
            bundle,
            bound,
            radix: Radix::new(p, bundles, bundle),
        })
    }

    /// Returns the number of values of a bucket: the digits and the counter.
    pub fn bucket_width(&self) -> usize {
        self.radix.digits + 1
    }

    /// Returns the number of index weights of a bundle.
    pub fn index_weights(&self) -> usize {
        self.shape.rounds * self.shape.buckets * self.bucket_width()
    }

    /// Returns the first position of each of a bundle's buckets among its index weights, round by round.
    pub fn places(&self, bundle: u64) -> impl Iterator<Item = usize> {
        let (width, buckets) = (self.bucket_width(), self.shape.buckets);
        let mut draws = Draws::new(&self.key, bundle);
        (0..self.shape.rounds)
            .map(move |round| (round * buckets + draws.below(buckets as u64) as usize) * width)
    }

    /// Returns the values that a bundle adds at each of its positions: the digits, then 1. Range: out `[0, p)`.
    pub fn content(&self, bundle: u64) -> impl Iterator<Item = u32> {
        let (radix, p) = (self.radix, self.field.modulus());
        let digits = (0..radix.digits).map(move |at| radix.digit(p, bundle, at));
        digits.chain([1])
    }

    /// Writes the index weights of a bundle.
    ///
    /// Shape:  [`IndexBuckets::index_weights`] values.   Range: out `[0, p)`.
    ///
    /// Panics: if `out` has another length; if the index has no bundle `bundle`.
    pub fn index_weights_into(&self, bundle: u64, out: &mut [u32]) {
        assert_eq!(out.len(), self.index_weights(), "index weights");
        assert!(bundle < self.bundles, "bundle {bundle}");
        out.fill(0);
        for place in self.places(bundle) {
            for (out, own) in out[place..].iter_mut().zip(self.content(bundle)) {
                *out = own;
            }
        }
    }

    /// Finds the bundles whose index weights, times the number of their pertinent messages, add up to `sums`.
    /// They are returned in ascending order.
    ///
    /// Shape:  [`IndexBuckets::index_weights`] sums.   Time: vartime.
    ///
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]; [`DecodeError::Overflow`] if the counters
    /// of a round exceed the bound (modulo p); [`DecodeError::Inconsistent`] if no bundles have these sums, or
    /// if all of their buckets collide.
    pub fn find_support(&self, sums: &[u32]) -> Result<Vec<Bundle>, DecodeError> {
        self.check(sums)?;
        let width = self.bucket_width();
        let first = sums.chunks_exact(width).take(self.shape.buckets);
        let add = |sum: u32, bucket: &[u32]| self.field.add(sum, bucket[width - 1]);
        let count = first.fold(0, add);
        if count as usize > self.bound {
            let (count, bound) = (count as usize, self.bound);
            return Err(DecodeError::Overflow { count, bound });
        }
        let mut left = sums.to_vec();
        let mut support = self.peel(&mut left, count);
        match left.iter().position(|&x| x != 0) {
            Some(exponent) => {
                Err(Inconsistency::Sum(exponent, Mismatch::new(0, left[exponent])).into())
            }
            None => {
                support.sort_unstable();
                Ok(support)
            }
        }
    }

    /// Removes bundles that are alone in a bucket, with at most `count` messages in all, until none is left.
    fn peel(&self, left: &mut [u32], mut count: u32) -> Vec<Bundle> {
        let width = self.bucket_width();
        let mut support = Vec::new();
        // Removing a bundle may leave another one alone in a bucket that both shared.
        let mut next: Vec<usize> = (0..left.len()).step_by(width).rev().collect();
        while let Some(place) = next.pop() {
            let alone = self.alone(place, &left[place..place + width]);
            let Some(bundle) = alone.filter(|bundle| bundle.count <= count) else {
                continue;
            };
            count -= bundle.count;
            let factor = self.field.neg(bundle.count);
            for place in self.places(bundle.index) {
                for (x, own) in left[place..].iter_mut().zip(self.content(bundle.index)) {
                    *x = self.field.add(*x, self.field.mul(factor, own));
                }
                next.push(place);
            }
            support.push(bundle);
        }
        support
    }

    /// Returns the bundle that alone fills the bucket at `place`.
    fn alone(&self, place: usize, bucket: &[u32]) -> Option<Bundle> {
        let (&count, digits) = bucket.split_last()?;
        let inverse = self.field.inv(count).filter(|_| count <= self.bundle)?;
        let digits: Vec<u32> = digits.iter().map(|&d| self.field.mul(d, inverse)).collect();
        let index = self.radix.index(self.field.modulus(), &digits)?;
        let own = index < self.bundles && self.places(index).any(|own| own == place);
        own.then_some(Bundle { index, count })
    }

    fn check(&self, sums: &[u32]) -> Result<(), DecodeError> {
        let (expected, found) = (self.index_weights(), sums.len());
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        super::check_range(&self.field, sums)
    }
}

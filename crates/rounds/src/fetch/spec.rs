//! The numbers and rings of the second round.

use crate::RoundsError;
use omr_bgv::{Chain, Plain};
use omr_compress::{KeyUse, Packing, ShapeError, SumsShape, merge_levels};
use omr_ring::{Basis, Kernels, Modulus, Ring, primes_below};
use omr_rlwe::{KeyShape, SharedShape};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The numbers of the second round, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchSpec {
    /// The plaintext modulus.
    pub p: u64,
    /// The dimension of the ring of queries.
    pub n: usize,
    /// The number of buckets, a power of two.
    pub buckets: usize,
    /// The number of buckets in which each message lies.
    pub choices: usize,
    /// The number of messages of a page. A page is this many consecutive messages, counted from the beginning of the
    /// board, and fills one row of each bucket, so that it is the unit of preparing and of queries.
    pub page: usize,
    /// The number of messages that a query asks for.
    pub fetched: usize,
    /// The bits of each of the two primes of sums.
    pub sum_bits: u32,
    /// The bits of the prime that a product drops.
    pub level_bits: u32,
    /// The bits of each of the two special primes of keys.
    pub special_bits: u32,
    /// The dimension of the ring of responses.
    pub final_n: usize,
    /// The bits of the prime of the ring of responses.
    pub final_bits: u32,
    /// The number of digits of a mask coefficient that is switched to the ring of responses.
    pub digits: usize,
    /// The bits of a digit.
    pub digit_bits: u32,
    /// The number of ciphertexts that share a mask.
    pub parts: usize,
    /// The bits of a mask coefficient in a response.
    pub mask_bits: u32,
    /// The bits of a body coefficient in a response to a query of at most `short` rows, and to a longer one.
    pub body_bits: [u32; 2],
    /// The largest number of rows with the first number of body bits.
    pub short: usize,
}

/// The number of primes of sums.
const SUM_PRIMES: usize = 2;
/// The number of primes of a query.
const QUERY_PRIMES: usize = SUM_PRIMES + 1;
/// The number of special primes.
const SPECIAL_PRIMES: usize = 2;

/// The rings of the second round.
pub struct Fetch {
    spec: FetchSpec,
    /// The ring of queries.
    pub ring: Ring,
    /// The slots of the ring of queries.
    pub plain: Plain,
    /// The two levels: a query's, and that of sums.
    pub chain: Chain,
    /// The gadget of the keys.
    pub shape: KeyShape,
    /// The ring of responses.
    pub final_ring: Arc<Ring>,
}

impl Fetch {
    /// Checks the numbers.
    ///
    /// Errors: `Dimension`; `Ring`.
    pub fn new(spec: FetchSpec, kernels: &'static Kernels) -> Result<Self, RoundsError> {
        let check = RoundsError::dimension;
        let power = usize::is_power_of_two;
        check(
            power(spec.n) && power(spec.final_n) && spec.final_n < spec.n,
            "a dimension of queries that is a power of two above that of responses",
            spec.n,
        )?;
        // Sums of one symbol fill a ciphertext's share exactly.
        check(
            power(spec.buckets) && (16..=64).contains(&spec.buckets) && spec.buckets < spec.n,
            "buckets that are a power of two from 16 to 64, below the dimension",
            spec.buckets,
        )?;
        check(
            (1..=spec.buckets).contains(&spec.choices),
            "from one choice up to the number of buckets",
            spec.choices,
        )?;
        check(
            (1..=spec.buckets).contains(&spec.fetched),
            "from one fetched message up to the number of buckets",
            spec.fetched,
        )?;
        // Before the last choice of the last message, `(page - 1) choices + choices - 1` of all n places are taken, and
        // at most `(choices - 1) (positions - 1)` of the others lie in its earlier buckets. So another bucket has room.
        let own = (spec.choices - 1) * (spec.n / spec.buckets);
        let most = (spec.n - own - 1) / spec.choices + 1;
        check(
            (1..=most).contains(&spec.page),
            "a page of at least one message, small enough that buckets always have room",
            spec.page,
        )?;
        check(
            spec.sum_bits <= 32,
            "primes of sums of at most 32 bits",
            spec.sum_bits as usize,
        )?;
        let mut primes = primes_below(spec.sum_bits, spec.n, SUM_PRIMES, &[])?;
        primes.extend(primes_below(spec.level_bits, spec.n, 1, &primes)?);
        primes.extend(primes_below(
            spec.special_bits,
            spec.n,
            SPECIAL_PRIMES,
            &primes,
        )?);
        let (query, sums) = (Basis::new(0..QUERY_PRIMES), Basis::new(0..SUM_PRIMES));
        let special = Basis::new(QUERY_PRIMES..primes.len());
        let last = primes_below(spec.final_bits, spec.final_n, 1, &[])?;
        Ok(Self {
            ring: Ring::with_kernels(spec.n, &primes, kernels)?,
            plain: Plain::new(spec.p, spec.n, kernels)?,
            shape: KeyShape::new(&query, 1, &special),
            chain: Chain::new(vec![query, sums]),
            final_ring: Arc::new(Ring::with_kernels(spec.final_n, &last, kernels)?),
            spec,
        })
    }

    /// Returns the numbers.
    pub fn spec(&self) -> &FetchSpec {
        &self.spec
    }

    /// Returns the number of places in a row of a bucket.
    pub fn positions(&self) -> usize {
        self.spec.n / self.spec.buckets
    }

    /// Returns the plaintext modulus.
    pub fn p(&self) -> &Modulus {
        self.plain.p()
    }

    /// Returns the primes of sums.
    pub fn sums(&self) -> &Basis {
        self.chain.basis(1)
    }

    /// Returns the gadget with one special prime, for packing sums.
    pub(crate) fn lowered(&self) -> KeyShape {
        let one = Basis::new([QUERY_PRIMES]);
        self.shape.lowered(self.sums(), &one)
    }

    /// Returns the bucket and the position of each slot.
    pub(crate) fn slot_places(&self) -> Vec<[usize; 2]> {
        let (order, period) = (self.plain.order(), 2 * self.spec.buckets);
        let place = |slot: usize| {
            let exponent = order.exponent(slot);
            [exponent % period / 2, exponent / period]
        };
        (0..self.spec.n).map(place).collect()
    }

    /// Returns `zeta^exponent` for the `zeta = psi^positions` at whose odd powers polynomials in `X^positions` have
    /// their values in buckets: bucket b has that of `zeta^(2 b + 1)`.
    pub(crate) fn bucket_root(&self, exponent: usize) -> u64 {
        let period = 2 * self.spec.n;
        self.plain.root(self.positions() * exponent % period)
    }

    /// Returns the levels of the keys of automorphisms `X -> X^(2^level + 1)`, which expand queries and pack sums.
    pub fn levels(&self) -> RangeInclusive<u32> {
        merge_levels(self.spec.n, self.spec.buckets)
    }

    /// Returns the exponent of the automorphism of a level.
    pub fn exponent(&self, level: u32) -> usize {
        KeyUse::Merge(level).exponent(self.spec.n)
    }

    /// Returns the shape by which ciphertexts share a mask in the ring of responses.
    pub fn final_shape(&self) -> SharedShape {
        SharedShape {
            components: self.spec.n / self.spec.final_n,
            parts: self.spec.parts,
            digits: self.spec.digits,
            digit_bits: self.spec.digit_bits,
        }
    }

    /// Returns the bits of a body coefficient in the answer to a query of this number of rows.
    pub fn body_bits(&self, rows: usize) -> u32 {
        let [short, long] = self.spec.body_bits;
        if rows <= self.spec.short { short } else { long }
    }

    /// Returns how the sums of a query of this number of rows are packed.
    pub fn packing(&self, rows: usize) -> Packing<'_> {
        Packing {
            small: &self.ring,
            p: self.plain.p(),
            limbs: SUM_PRIMES,
            final_ring: &self.final_ring,
            final_shape: self.final_shape(),
            mask_bits: self.spec.mask_bits,
            body_bits: self.body_bits(rows),
        }
    }

    /// Returns the shape of an answer of this number of symbols.
    ///
    /// Errors: `Symbols`.
    pub fn answer_shape(&self, symbols: usize) -> Result<SumsShape, ShapeError> {
        SumsShape::new(self.spec.n, self.spec.buckets, symbols)
    }

    /// Returns the number of ciphertexts of a query of this number of rows: the positions, and the rows.
    pub fn query_ciphertexts(&self, rows: usize) -> usize {
        1 + rows.div_ceil(self.positions())
    }

    /// Returns the numbers of rows of the ciphertexts that select them.
    pub(crate) fn row_parts(&self, rows: usize) -> Vec<usize> {
        let most = self.positions();
        let part = |first: usize| most.min(rows - first);
        (0..rows).step_by(most).map(part).collect()
    }
}

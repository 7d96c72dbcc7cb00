//! What a digest costs, counted: how often each unit of work is done in each stage.
//!
//! One function a stage; each mirrors the module of the same work and says which. The seconds of a
//! unit are measured ([`crate::measure::Units`]), so a change of a kernel needs no change here; a change
//! of what is computed does.

mod compression;
mod detection;

use omr_protocol::sophomr::{DigestPlan, Outline};
use std::ops::{Add, AddAssign, Mul};

/// A unit of work. Rows are of the large ring where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A transform of the large ring, either way: row and, for every other one, twiddles from memory.
    Ntt,
    /// One source row into one target row of a basis conversion.
    Convert,
    /// Writing a target row of a basis conversion.
    ConvertRow,
    /// One product of rows in the sums of a key switch, the row of the key from memory.
    KeyDot,
    /// The same with a piece of the key that an input before it has brought into cache.
    Dot,
    /// Reading a row from memory and changing another: copies, scalings, additions.
    Pass,
    /// The image of a row under an automorphism.
    Permute,
    /// Slots of one diagonal cut from the clues, and interpolated modulo p.
    Diagonal,
    /// A diagonal modulo one prime, transformed in cache and written past it.
    Encode,
    /// One product of rows in the sums over baby steps; these and the diagonals from memory.
    AffineDot,
    /// Reading a row from memory.
    Stream,
    /// First touch of a row of memory that the system has just given.
    Fresh,
    /// Checking a clue.
    Clue,
    /// A transform of the small ring.
    SmallNtt,
    /// As `Convert`, in the small ring.
    SmallConvert,
    /// As `Dot`, in the small ring.
    SmallDot,
    /// As `Pass`, in the small ring, rows in cache.
    SmallPass,
    /// Permuting a row of the small ring.
    SmallGather,
    /// Moving the numbers of a row of the small ring one by one.
    SmallScatter,
    /// A row of the small ring of inverses modulo p, looked up.
    SmallLookup,
    /// One product of rows of the small ring in the sums over codes.
    CodeDot,
    /// Packing a payload into symbols, with its checksum, and placing these.
    Payload,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 22] = [
        Unit::Ntt,
        Unit::Convert,
        Unit::ConvertRow,
        Unit::KeyDot,
        Unit::Dot,
        Unit::Pass,
        Unit::Permute,
        Unit::Diagonal,
        Unit::Encode,
        Unit::AffineDot,
        Unit::Stream,
        Unit::Fresh,
        Unit::Clue,
        Unit::SmallNtt,
        Unit::SmallConvert,
        Unit::SmallDot,
        Unit::SmallPass,
        Unit::SmallGather,
        Unit::SmallScatter,
        Unit::SmallLookup,
        Unit::CodeDot,
        Unit::Payload,
    ];
}

/// How often each unit is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work([f64; Unit::ALL.len()]);

impl Work {
    /// `count` times one unit.
    pub fn of(unit: Unit, count: usize) -> Self {
        let mut work = Self::default();
        work.0[unit as usize] = count as f64;
        work
    }

    /// How often `unit` is done.
    pub fn count(&self, unit: Unit) -> f64 {
        self.0[unit as usize]
    }
}

impl Add for Work {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(x, y)| *x += y);
    }
}

impl Mul<usize> for Work {
    type Output = Self;
    fn mul(self, times: usize) -> Self {
        Self(self.0.map(|count| count * times as f64))
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// The stages of a digest in their order, by the detector's names, for one group of full batches.
pub fn stages(outline: &Outline, plan: &DigestPlan) -> [(&'static str, Work); 8] {
    let batches = plan.batches();
    let compressions = batches * plan.rounds();
    [
        ("baby_steps", detection::baby_steps(outline)),
        ("clues", detection::clues(outline) * batches),
        ("affine", detection::affine(outline) * batches),
        ("range_check", detection::range_check(outline) * batches),
        ("ring_switch", detection::ring_switch(outline) * batches),
        ("codes", compression::codes(outline, plan) * compressions),
        (
            "payloads",
            compression::payloads(outline, plan) * compressions,
        ),
        (
            "packing",
            compression::packing(outline, plan) * plan.rounds(),
        ),
    ]
}

/// What a hybrid key switch does to rows (`omr-rlwe/hybrid.rs`).
struct SwitchShape<'a> {
    /// Primes of the ciphertext.
    limbs: usize,
    /// Primes of the ciphertext in each digit; empty digits left out.
    digits: &'a [usize],
    special: usize,
    /// Primes that remain.
    kept: usize,
    /// Primes that come.
    added: usize,
}

/// Counts for one input. Additions of parts that are not switched count as passes.
struct SwitchCounts {
    transforms: usize,
    conversions: usize,
    converted_rows: usize,
    products: usize,
    passes: usize,
}

impl SwitchShape<'_> {
    fn counts(&self) -> SwitchCounts {
        let all = self.limbs + self.special;
        let raise =
            |f: &dyn Fn(usize) -> usize| self.digits.iter().map(|&own| f(own)).sum::<usize>();
        let dropped = all - self.kept;
        let raised = raise(&|own| all - own);
        let results = self.kept + self.added;
        SwitchCounts {
            transforms: self.limbs + raised + 2 * (dropped + results),
            // The last source of each is the quotient, which reads every other source once more.
            conversions: raise(&|own| (own + 1) * (all - own) + own)
                + 2 * ((dropped + 1) * results + dropped),
            converted_rows: raised + 2 * results,
            products: 2 * self.digits.len() * all,
            // The body added to primes that go, the division by them, copies of rows that come.
            passes: 2 * (self.limbs - self.kept) + 2 * results,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::sophomr::Params;

    /// As `reference/roofline.py` counts, but for a product more a coordinate in the range check of `sophomr-v3`.
    #[test]
    fn transforms_of_the_default_set() {
        let params = Params::named("sophomr-v3").expect("published");
        let outline = Outline::new(params.spec().clone()).expect("published");
        let plan = DigestPlan::new(&params, 0..65_536, 50, Some(612)).expect("a plan");
        let stages = stages(&outline, &plan);
        let large = stages.map(|(_, work)| work.count(Unit::Ntt));
        let giants_and_level_1 = 15 * 2 * 140 + 278;
        let window_norm_power = 2 * 2_632 + 136 + 1_664;
        assert_eq!(
            large[..5],
            [64 * 144, 0, giants_and_level_1, window_norm_power, 16].map(f64::from)
        );
        let small = stages.map(|(_, work)| work.count(Unit::SmallNtt));
        assert_eq!(
            small[4..],
            [32, 6_048 + 4_096 + 8_192, 2_048 + 4_096, 3_568].map(f64::from)
        );
        let count = |stage: usize, unit| stages[stage].1.count(unit);
        assert_eq!(count(2, Unit::Encode), 24_576.0);
        assert_eq!(count(2, Unit::AffineDot), 98_304.0);
        assert_eq!(count(5, Unit::SmallDot) + count(6, Unit::CodeDot), {
            let key_switches = 504.0 * 2.0 * 4.0;
            16_384.0 + 524_288.0 + key_switches
        });
    }
}

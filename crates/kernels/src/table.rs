//! Twiddle factors of one negacyclic transform.

use crate::{AlignedVec, KernelError, Modulus, modulus::Factor};
use std::sync::OnceLock;

/// Transforms have at most `2^MAX_LOG_N` points.
pub const MAX_LOG_N: u32 = 17;

/// Everything a negacyclic transform of `n` points modulo `q` needs.
///
/// `n` is a power of two from 2 to `2^17` and `q` is 1 modulo `2n`.
#[derive(Clone, Debug)]
pub struct NttTable {
    modulus: Modulus,
    n: usize,
    psi: u64,
    forward: TwiddleTable,
    /// Made for the first inverse transform: who makes keys needs none.
    inverse: OnceLock<TwiddleTable>,
    /// Made by the AVX2 back end, forward and inverse.
    #[cfg(target_arch = "x86_64")]
    doubles: [OnceLock<FloatTwiddles>; 2],
    last: [Factor; 2],
}

/// Powers of a root in bit-reversed order, then `floor(2^52 w / q)` of each power `w`: entry
/// `m + i` is the factor of block `i` where a level has `m` blocks.
#[derive(Clone, Debug)]
struct TwiddleTable(AlignedVec);

impl TwiddleTable {
    fn new(m: &Modulus, n: usize, root: u64) -> Self {
        let shift = usize::BITS - n.trailing_zeros();
        let mut words = AlignedVec::zeroed(2 * n);
        let (w, quotient) = words.split_at_mut(n);
        let mut power = 1;
        for i in 0..n {
            let slot = i.reverse_bits() >> shift;
            let factor = m.factor(power);
            (w[slot], quotient[slot]) = (factor.w, factor.quotient);
            power = m.mul(power, root);
        }
        Self(words)
    }

    fn rows(&self) -> Twiddles<'_> {
        let (w, quotient) = self.0.split_at(self.0.len() / 2);
        Twiddles { w, quotient }
    }
}

/// The rows of a [`TwiddleTable`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twiddles<'a> {
    pub(crate) w: &'a [u64],
    pub(crate) quotient: &'a [u64],
}

impl Twiddles<'_> {
    /// Entry `slot`.
    #[inline]
    pub(crate) fn at(&self, slot: usize) -> Factor {
        Factor {
            w: self.w[slot],
            quotient: self.quotient[slot],
        }
    }

    /// The first seven entries of the tree below `slot`, where the children of entry `s` are `2s`
    /// and `2s + 1`. They start at 1; entry 0 repeats entry 1.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(crate) fn heap(&self, slot: usize) -> [Factor; 8] {
        let (w, quotient) = (words_heap(self.w, slot), words_heap(self.quotient, slot));
        std::array::from_fn(|i| Factor {
            w: w[i],
            quotient: quotient[i],
        })
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn words_heap(words: &[u64], slot: usize) -> [u64; 8] {
    let (twos, fours) = (words.as_chunks().0, words.as_chunks().0);
    let (s1, [s2, s3], [s4, s5, s6, s7]) = (words[slot], twos[slot], fours[slot]);
    [s1, s1, s2, s3, s4, s5, s6, s7]
}

/// The twiddles of a transform as doubles from `-q/2` to `q/2`, in the order in which vectors of four take them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
pub(crate) struct FloatTwiddles {
    /// Entries of [`TwiddleTable`] but for the last two levels.
    pub(crate) heap: Vec<f64>,
    /// The last two levels, for each leaf of 16 residues: the factors of the upper level in the order 0, 2, 1, 3, then
    /// those of the lower one in the order 0, 4, 2, 6, 1, 5, 3, 7.
    pub(crate) leaves: Vec<[[f64; 4]; 3]>,
}

#[cfg(target_arch = "x86_64")]
impl FloatTwiddles {
    fn new(m: &Modulus, tw: Twiddles<'_>) -> Self {
        let n = tw.w.len();
        let at = |slot: usize| m.to_centered(tw.w[slot]) as f64;
        let leaf = |slot: usize| {
            let (twos, ones) = (4 * slot, 8 * slot);
            [
                [0, 2, 1, 3].map(|i| at(twos + i)),
                [0, 4, 2, 6].map(|i| at(ones + i)),
                [1, 5, 3, 7].map(|i| at(ones + i)),
            ]
        };
        Self {
            heap: (0..n / 4).map(at).collect(),
            leaves: (n / 16..n / 8).map(leaf).collect(),
        }
    }
}

impl NttTable {
    /// Builds the tables of an `n`-point transform.
    ///
    /// Errors: [`KernelError::TransformSize`] when `n` is not a power of two in `2..=2^17`,
    /// [`KernelError::NoRootOfUnity`] when `q` is not 1 modulo `2n`.
    pub fn new(modulus: Modulus, n: usize) -> Result<Self, KernelError> {
        let max = 1 << MAX_LOG_N;
        if !n.is_power_of_two() || !(2..=max).contains(&n) {
            return Err(KernelError::TransformSize {
                found: n,
                min: 2,
                max,
            });
        }
        let order = 2 * n as u64;
        if modulus.value() % order != 1 {
            return Err(KernelError::NoRootOfUnity {
                modulus: modulus.value(),
                order,
            });
        }
        let psi = smallest_root(&modulus, n as u64);
        let n_inv = modulus.inv(modulus.reduce(n as u64));
        // The inverse twiddle of the first block of two.
        let root = modulus.pow(modulus.inv(psi), n as u64 / 2);
        Ok(Self {
            modulus,
            n,
            psi,
            forward: TwiddleTable::new(&modulus, n, psi),
            last: [n_inv, modulus.mul(n_inv, root)].map(|w| modulus.factor(w)),
            inverse: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            doubles: [OnceLock::new(), OnceLock::new()],
        })
    }

    /// The modulus of the rows.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Number of points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The primitive `2n`-th root of unity: `x^((q - 1) / 2n)` for the smallest `x >= 2` that
    /// makes it one.
    pub fn psi(&self) -> u64 {
        self.psi
    }

    pub(crate) fn forward(&self) -> Twiddles<'_> {
        self.forward.rows()
    }

    pub(crate) fn inverse(&self) -> Twiddles<'_> {
        self.inverse.get_or_init(|| self.inverse_table()).rows()
    }

    fn inverse_table(&self) -> TwiddleTable {
        TwiddleTable::new(&self.modulus, self.n, self.modulus.inv(self.psi))
    }

    /// The forward twiddles as doubles. Panics: in transforms of fewer than 16 points.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn forward_floats(&self) -> &FloatTwiddles {
        self.doubles[0].get_or_init(|| FloatTwiddles::new(&self.modulus, self.forward()))
    }

    /// The inverse twiddles as doubles. Panics: in transforms of fewer than 16 points.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn inverse_floats(&self) -> &FloatTwiddles {
        // The integers are not kept, so that tables are as large as those of other back ends.
        let made = || FloatTwiddles::new(&self.modulus, self.inverse_table().rows());
        self.doubles[1].get_or_init(made)
    }

    /// `1 / n`, alone and times the inverse twiddle of the root.
    pub(crate) fn last_factors(&self) -> [Factor; 2] {
        self.last
    }

    /// [`Self::last_factors`], multiplied by `c`.
    pub(crate) fn scaled_last_factors(&self, c: u64) -> [Factor; 2] {
        let m = &self.modulus;
        self.last.map(|factor| m.factor(m.mul(factor.w, c)))
    }
}

/// `x^((q - 1) / 2n)` for the smallest `x >= 2` such that its `n`-th power is -1.
fn smallest_root(m: &Modulus, n: u64) -> u64 {
    let e = (m.value() - 1) / (2 * n);
    // Half of all x, the quadratic non-residues, qualify; x = q - 1 or below is always reached.
    (2..m.value())
        .map(|x| m.pow(x, e))
        .find(|&psi| m.pow(psi, n) == m.value() - 1)
        .expect("an odd prime has a quadratic non-residue")
}

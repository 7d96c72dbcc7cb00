use super::FinalRingSpec;
use crate::clue::OFFSET_LEN;
use crate::earlier::{LweKind, LweSpec};
use crate::params::{Bits, ClueSpec, ParamsError, SetSpec, dimension};
use omr_rlwe::noise::NoiseModel;

/// The clues on the boards that a set's detectors scan.
#[derive(Clone, Debug, PartialEq)]
pub enum Posted {
    /// Ring LWE, under the set's own name.
    Own,
    /// Ring LWE, under the name of the set that they come from.
    Of(&'static str),
    /// LWE. A detector makes clues of the set's ring of them ([`LweParams::in_ring`]).
    ///
    /// [`LweParams::in_ring`]: crate::earlier::LweParams::in_ring
    Lwe {
        /// The clue's name.
        name: &'static str,
        /// The specification.
        spec: LweSpec,
    },
}

/// A parameter set as it is published, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Whether a later set took its place.
    pub old: bool,
    /// Bits of security of the detection key, as of [`Security::keys`](crate::params::Security::keys).
    pub key_bits: f64,
    /// Plaintext modulus, also the modulus of clues.
    pub p: u64,
    /// Dimension of the large ring: messages in a batch.
    pub n: usize,
    /// Dimension of the small ring.
    pub small_n: usize,
    /// The ring of digests.
    pub final_ring: FinalRingSpec,
    /// Non-zero coefficients of the large ring's secret.
    pub weight: usize,
    /// Bound on `|s(zeta)|^2 / weight` for that secret (`Secret::fixed_weight`).
    pub embedding_bound: f64,
    /// Clues as the affine transform takes them.
    pub clue: ClueSpec,
    /// Clues as they are posted.
    pub posted: Posted,
    /// The window: pertinent when both coordinates of d that are looked at lie in `[-range, range]`.
    pub range: u64,
    /// Baby steps of the affine transform.
    pub baby: usize,
    /// Whether one polynomial decides each coordinate, without a power after it: for integers always, for residues
    /// that of OMR.
    pub whole: bool,
    /// Powers in one block of the polynomial that decides.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
    /// Whether detection keys have what PerfOMR1's oblivious expansion takes besides.
    pub expansion: bool,
}

impl ParamsSpec {
    /// Coordinates of a ring clue that are looked at.
    pub const COORDINATES: usize = 2;

    /// Most coordinates of a clue that are looked at.
    pub const MOST_COORDINATES: usize = 8;

    /// Fewest coefficients that detection keys merge into one ciphertext, or split it into.
    pub(crate) fn least_width(&self) -> usize {
        match self.expansion {
            true => 1,
            false => omr_compress::MIN_WIDTH,
        }
    }

    /// Coordinates of a clue that are looked at.
    pub fn coordinates(&self) -> usize {
        match &self.posted {
            Posted::Lwe { spec, .. } => spec.coordinates,
            _ => Self::COORDINATES,
        }
    }

    /// Clue secrets: one of a ring for all coordinates, or one vector for each.
    pub fn secrets(&self) -> usize {
        match &self.posted {
            Posted::Lwe { spec, .. } => spec.secrets(),
            _ => 1,
        }
    }

    /// The degree in the squared distance of the one polynomial that decides each coordinate; `None` for a window
    /// and a power.
    pub fn whole_degree(&self) -> Option<usize> {
        match self.integers() {
            Some(clue) => Some(clue.largest_distance() as usize),
            None => self.whole.then_some((self.p as usize - 1) / 2),
        }
    }

    /// The clue whose distances are integers, not residues, if it is one.
    pub fn integers(&self) -> Option<&LweSpec> {
        match &self.posted {
            Posted::Lwe { spec, .. } if matches!(spec.kind, LweKind::Integers { .. }) => Some(spec),
            _ => None,
        }
    }

    /// The rotations of the secrets that are held: coordinates of one secret are a step apart.
    pub fn baby_steps(&self) -> usize {
        self.baby + self.coordinates() / self.secrets() - 1
    }

    /// SophOMR's part of every published set that has one, the default first.
    pub fn published() -> Vec<ParamsSpec> {
        let sets = SetSpec::published().into_iter();
        sets.filter_map(|set| set.bulk).collect()
    }

    /// The least bits of security over detection key and clues of ring LWE; 0 without any.
    pub fn security_bits(&self) -> f64 {
        let clue = match (&self.posted, self.insecure) {
            (_, true) => return 0.0,
            (Posted::Lwe { .. }, _) => return self.key_bits,
            _ => self.clue.security(),
        };
        let least = |bits: [Bits; 2]| {
            bits.map(|bits| bits.least())
                .into_iter()
                .fold(self.key_bits, f64::min)
        };
        clue.map_or(0.0, least)
    }

    /// Clues of LWE have estimates of their own ([`EarlierSet`](crate::earlier::EarlierSet)).
    ///
    /// Errors: `WeakClue`.
    pub(super) fn check_clue(&self) -> Result<(), ParamsError> {
        match (&self.posted, self.insecure || self.old) {
            (_, true) | (Posted::Lwe { .. }, _) => Ok(()),
            _ => self.clue.check_security(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParamsError> {
        let power = usize::is_power_of_two;
        dimension(
            power(self.n) && self.n <= 1 << 16,
            "a power of two up to 65536",
            self.n,
        )?;
        dimension(
            power(self.small_n) && self.small_n >= 64 && self.small_n <= self.n,
            "a power of two from 64 up to the large dimension",
            self.small_n,
        )?;
        dimension(
            power(self.clue.n) && 4 * self.clue.n <= self.n,
            "a power of two up to a quarter of the large dimension",
            self.clue.n,
        )?;
        dimension(
            power(self.baby) && OFFSET_LEN * self.baby <= self.clue.n,
            "a power of two up to an eighth of the clue dimension",
            self.baby,
        )?;
        dimension(
            self.coordinates() <= Self::MOST_COORDINATES,
            "at most 8 coordinates that are looked at",
            self.coordinates(),
        )?;
        dimension(
            self.clue.coordinates >= self.coordinates(),
            "as many clue coordinates as are looked at",
            self.clue.coordinates,
        )?;
        dimension(
            [self.clue.q, self.clue.rounded] == [self.p; 2],
            "clues modulo the plaintext modulus",
            self.clue.q as usize,
        )?;
        dimension(power(self.block), "a power of two", self.block)?;
        if let Posted::Lwe { spec, .. } = &self.posted {
            self.check_lwe(spec)?;
        }
        self.final_ring.check(self.small_n)
    }

    fn check_lwe(&self, clue: &LweSpec) -> Result<(), ParamsError> {
        let fits = match clue.kind {
            LweKind::Integers { .. } => clue.n == self.clue.n,
            _ => clue.n <= self.clue.n,
        };
        dimension(fits, "an LWE clue of the ring's dimension", clue.n)?;
        // Squares of different distances must differ.
        let distance = clue.largest_distance() as u64;
        let fits = match clue.kind {
            LweKind::Integers { .. } => 2 * distance < self.p,
            _ => u64::from(clue.q) == self.p,
        };
        dimension(fits, "distances below half of p", distance as usize)?;
        let range = u64::from(clue.range) == self.range;
        dimension(range, "the window of the clue", self.range as usize)
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        NoiseModel {
            n: self.n,
            p: self.p,
            weight: self.weight as f64,
        }
    }

    /// log2 of the probability that an impertinent message passes the window.
    pub fn false_positive_log2(&self) -> f64 {
        if let Posted::Lwe { spec, .. } = &self.posted {
            return spec.false_positive_log2();
        }
        let window = (2 * self.range + 1) as f64;
        Self::COORDINATES as f64 * (window / self.p as f64).log2()
    }

    /// log2 of the probability that a pertinent message is missed (exact convolution, union bound).
    pub fn miss_log2(&self) -> f64 {
        if let Posted::Lwe { spec, .. } = &self.posted {
            return spec.miss_log2();
        }
        let noise = self.clue.noise();
        let beyond = (noise.len() / 2).saturating_sub(self.range as usize);
        // Summed from the outside in: no cancellation near 2^-30.
        let tail: f64 = noise[..beyond].iter().map(|p| 2.0 * p).sum();
        (Self::COORDINATES as f64 * tail).log2()
    }
}

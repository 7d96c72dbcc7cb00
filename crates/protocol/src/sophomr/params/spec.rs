//! SophOMR's part of a parameter set as it is published.

use super::{FinalRingSpec, tail_bits};
use crate::clue::{OFFSET_LEN, norms};
use crate::params::{Bits, ClueSpec, ParamsError, Posting, SetSpec, dimension};
use omr_opening::{ClueNoise, ClueShape, OpeningSpec};
use omr_rlwe::noise::NoiseModel;

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
    /// The window: pertinent when both coordinates of d that are looked at lie in `[-range, range]`.
    pub range: u64,
    /// Baby steps of the affine transform, where there is one.
    pub baby: usize,
    /// How clues are packed and opened in place of the affine transform; `None` where clues meet the top modulus.
    pub opening: Option<OpeningSpec>,
    /// Powers in one block of the window polynomial.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
}

impl ParamsSpec {
    /// Coordinates of a clue that are looked at.
    pub const COORDINATES: usize = 2;

    /// Half the window in units of the clues' modulus, which is another than p where clues are opened.
    pub fn clue_range(&self) -> u64 {
        self.range * self.clue.q / self.p
    }

    /// SophOMR's part of every published set that has one, the default first.
    pub fn published() -> Vec<ParamsSpec> {
        let sets = SetSpec::published().into_iter();
        sets.filter_map(|set| set.sophomr).collect()
    }

    /// The least bits of security over detection key and clues; 0 without any.
    pub fn security_bits(&self) -> f64 {
        if self.insecure {
            return 0.0;
        }
        let least = |bits: [Bits; 2]| {
            bits.map(|bits| bits.least())
                .into_iter()
                .fold(self.key_bits, f64::min)
        };
        self.clue.security().map_or(0.0, least)
    }

    /// Errors: `WeakClue` below 128 bits, but for sets that are marked insecure or old.
    pub(super) fn check_clue(&self) -> Result<(), ParamsError> {
        match self.insecure || self.old {
            true => Ok(()),
            false => self.clue.check_security(),
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
            self.opening.is_some() || self.clue.q == self.p,
            "clues modulo the plaintext modulus",
            self.clue.q as usize,
        )?;
        dimension(
            self.clue.posting == Posting::Whole
                || self.opening.is_some() && self.clue.posting == Posting::Halved,
            "clues that are posted whole, or halved and opened",
            self.clue.posted_modulus() as usize,
        )?;
        dimension(power(self.block), "a power of two", self.block)?;
        self.final_ring.check(self.small_n)
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        NoiseModel {
            n: self.n,
            p: self.p,
            weight: self.weight as f64,
        }
    }

    /// Bits that a level drops, so that its noise is back at the floor and the squaring chain explodes at no embedding
    /// ([`tail_bits`]).
    pub fn level_bits(&self) -> f64 {
        self.noise_model().floor() + tail_bits(self.embedding_bound)
    }

    /// log2 of the probability that an impertinent message passes the window.
    pub fn false_positive_log2(&self) -> f64 {
        let window = (2 * self.range + 1) as f64;
        Self::COORDINATES as f64 * (window / self.p as f64).log2()
    }

    /// Clues as packing takes them.
    pub fn clue_shape(&self) -> ClueShape {
        ClueShape {
            n: self.clue.n,
            q: self.clue.modulus(),
            coordinates: Self::COORDINATES,
        }
    }

    /// log2 of the probability that a pertinent message is missed (union bound; exact convolution, or the saddle point
    /// where clues are packed).
    pub fn miss_log2(&self) -> f64 {
        self.miss_log2_among(1.0)
    }

    /// The same where strangers fill the board with the longest vectors that are posted.
    pub fn hostile_miss_log2(&self) -> f64 {
        let [_, longest] = norms(self.clue.n);
        self.miss_log2_among(longest)
    }

    /// `norm`: the mean square of the block's residues, in that of uniform ones; it counts where clues are packed.
    fn miss_log2_among(&self, norm: f64) -> f64 {
        if let Some(opening) = &self.opening {
            let added = ClueNoise::new(opening, &self.clue_shape(), self.p, norm);
            return super::miss::packed(&self.clue, &added, self.p, self.range)
                + (Self::COORDINATES as f64).log2();
        }
        let noise = self.clue.noise();
        let beyond = (noise.len() / 2).saturating_sub(self.range as usize);
        // Summed from the outside in: no cancellation near 2^-30.
        let tail: f64 = noise[..beyond].iter().map(|p| 2.0 * p).sum();
        (Self::COORDINATES as f64 * tail).log2()
    }
}

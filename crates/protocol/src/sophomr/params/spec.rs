//! SophOMR's part of a parameter set as it is published.

use super::{FinalRingSpec, FrontEnd, RingsSpec};
use crate::clue::norms;
use crate::params::{Bits, ClueSpec, ParamsError, Posting, SetSpec, dimension};
use omr_opening::{ClueNoise, ClueShape, OpeningSpec};
use omr_rlwe::noise::{self, NoiseModel};

/// A parameter set as it is published, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Bits of security of the detection key, as of [`Security::keys`](crate::params::Security::keys).
    pub key_bits: f64,
    /// Plaintext modulus.
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
    /// Clues.
    pub clue: ClueSpec,
    /// The window: pertinent when both coordinates of d that are looked at lie in `[-range, range]`.
    pub range: u64,
    /// How clues are packed at one small prime and opened in slots.
    pub opening: OpeningSpec,
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

    /// Half the window in units of the clues' modulus.
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

    /// The rings and digits of its circuit.
    pub fn rings(&self) -> RingsSpec {
        RingsSpec {
            name: self.name,
            insecure: self.insecure,
            p: self.p,
            n: self.n,
            small_n: self.small_n,
            final_ring: self.final_ring.clone(),
            weight: self.weight,
            embedding_bound: self.embedding_bound,
            range: self.range,
            block: self.block,
            rotation_digits: self.rotation_digits,
            product_digits: self.product_digits,
        }
    }

    /// Opened clues, then SophOMR's range check.
    ///
    /// Errors: `Ring` where p is no modulus.
    pub(super) fn front_end(&self) -> Result<FrontEnd, ParamsError> {
        let rings = self.rings();
        let (model, opening) = (rings.noise_model(), &self.opening);
        let [_, slots] = omr_opening::slot_noise(opening, &model, rings.baby_step_noise());
        let giants = noise::sum(rings.giant_step_noise(), opening.points / opening.baby - 1);
        Ok(FrontEnd {
            noise: noise::add(slots, giants),
            drops: rings.window_drops()?,
            compact: true,
        })
    }

    /// Errors: `Dimension`; `WeakClue` below 128 bits, but for sets that are marked insecure.
    pub(super) fn check(&self) -> Result<(), ParamsError> {
        self.rings().check()?;
        dimension(
            self.clue.n.is_power_of_two() && 4 * self.clue.n <= self.n,
            "a power of two up to a quarter of the large dimension",
            self.clue.n,
        )?;
        dimension(
            self.clue.posting == Posting::Halved,
            "clues that are posted halved",
            self.clue.posted_modulus() as usize,
        )?;
        let found = self.clue.secrets()[0].coordinates.len();
        let expected = "as many clue coordinates as are looked at";
        dimension(found >= Self::COORDINATES, expected, found)?;
        if self.insecure {
            return Ok(());
        }
        self.clue.check_security()
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        self.rings().noise_model()
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

    /// log2 of the probability that a pertinent message is missed (union bound; saddle point of the noise of packed
    /// clues).
    pub fn miss_log2(&self) -> f64 {
        self.miss_log2_among(1.0)
    }

    /// log2 of the probability that a pertinent message is missed where strangers fill the board with the longest vectors
    /// that are posted.
    pub fn hostile_miss_log2(&self) -> f64 {
        let [_, longest] = norms(self.clue.n);
        self.miss_log2_among(longest)
    }

    /// `norm` is the mean square of the block's residues, in units of that of uniform ones.
    fn miss_log2_among(&self, norm: f64) -> f64 {
        let added = ClueNoise::new(&self.opening, &self.clue_shape(), self.p, norm);
        super::miss::packed(&self.clue, &added, self.p, self.range)
            + (Self::COORDINATES as f64).log2()
    }
}

//! SophOMR's part of a parameter set, as published.

use super::{FinalRingSpec, FrontEnd, RingsSpec};
use crate::params::{Bits, ClueSpec, ParamsError, Posting, SetSpec, dimension, miss};
use omr_opening::{ClueNoise, ClueShape, OpeningSpec};
use omr_rlwe::noise::{self, NoiseModel};

/// SophOMR's part of a parameter set, as published and unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Bits of security of the detection key, as in [`Security::keys`](crate::params::Security::keys).
    pub key_bits: f64,
    /// Plaintext modulus.
    pub p: u64,
    /// Dimension of the large ring, which is the number of messages in a batch.
    pub n: usize,
    /// Dimension of the small ring.
    pub small_n: usize,
    /// The ring of digests.
    pub final_ring: FinalRingSpec,
    /// Non-zero coefficients of the large ring's secret.
    pub weight: usize,
    /// Bound on `|s(zeta)|^2 / weight` for the large ring's secret (`Secret::fixed_weight`).
    pub embedding_bound: f64,
    /// Clues.
    pub clue: ClueSpec,
    /// Half of the window: a message is pertinent if both checked coordinates of d lie in `[-range, range]`.
    pub range: u64,
    /// Parameters of packing clues at one small prime and opening them in slots.
    pub opening: OpeningSpec,
    /// Powers in one block of the window polynomial.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
}

impl ParamsSpec {
    /// Number of coordinates of a clue that SophOMR checks.
    pub const COORDINATES: usize = 2;

    /// Returns half of the window in units of the clues' modulus.
    pub fn clue_range(&self) -> u64 {
        self.range * self.clue.q / self.p
    }

    /// Returns SophOMR's part of every published set that has one, the default first.
    pub fn published() -> Vec<ParamsSpec> {
        let sets = SetSpec::published().into_iter();
        sets.filter_map(|set| set.sophomr).collect()
    }

    /// Returns the least bits of security of detection key and clues; 0 for an insecure set.
    pub fn security_bits(&self) -> f64 {
        if self.insecure {
            return 0.0;
        }
        let least = |parts: [Bits; 2]| {
            parts
                .map(|bits| bits.least())
                .into_iter()
                .fold(self.key_bits, f64::min)
        };
        self.clue.security().map_or(0.0, least)
    }

    /// Returns the rings and digits of the circuit.
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

    /// Returns the noise and the levels of opened clues that are followed by SophOMR's range check.
    ///
    /// Errors: `Ring` if p is no modulus.
    pub(super) fn front_end(&self) -> Result<FrontEnd, ParamsError> {
        let rings = self.rings();
        let (model, opening) = (rings.noise_model(), &self.opening);
        let turn = rings.baby_step_noise();
        let [_, slots] = omr_opening::slot_noise(opening, &model, turn)?;
        let giants = noise::sum(rings.giant_step_noise(), opening.points / opening.baby - 1);
        Ok(FrontEnd {
            noise: noise::add(slots, giants),
            drops: rings.window_drops()?,
            compact: true,
        })
    }

    /// Checks the specification.
    ///
    /// Errors: `Dimension`; `WeakClue` below 128 bits of security, unless the set is marked insecure.
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

    /// Returns the noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        self.rings().noise_model()
    }

    /// Returns log2 of the probability that an impertinent message is inside the window.
    pub fn false_positive_log2(&self) -> f64 {
        let window = (2 * self.range + 1) as f64;
        Self::COORDINATES as f64 * (window / self.p as f64).log2()
    }

    /// Returns the shape of clues for packing.
    pub fn clue_shape(&self) -> ClueShape {
        ClueShape {
            n: self.clue.n,
            q: self.clue.modulus(),
            coordinates: Self::COORDINATES,
        }
    }

    /// Returns log2 of the probability that a pertinent message is missed (union bound; saddle point of the noise of
    /// packed clues).
    pub fn miss_log2(&self) -> f64 {
        let [honest, _] = miss::mean_squares(self.clue.n);
        self.miss_log2_among(honest)
    }

    /// Returns log2 of the probability that a pertinent message is missed if strangers fill the board with clues that
    /// have the longest accepted vectors.
    pub fn hostile_miss_log2(&self) -> f64 {
        let [_, longest] = miss::mean_squares(self.clue.n);
        self.miss_log2_among(longest)
    }

    /// Returns log2 of the probability that a pertinent message is missed, where `norm` is the mean square of the
    /// block's residues ([`miss::mean_squares`]).
    fn miss_log2_among(&self, norm: f64) -> f64 {
        let added = ClueNoise::new(&self.opening, &self.clue_shape(), self.p, norm);
        let beyond = self.range as f64 + 0.5;
        miss::packed(&self.clue, &added, self.p as f64, beyond) + (Self::COORDINATES as f64).log2()
    }
}

//! InstantOMR's part of a parameter set: [`InstantSpec`] (unchecked) and [`InstantParams`] (checked, with its rings).

use super::OffsetKey;
use crate::params::{
    ClueParams, ClueSecret, ParamsError, SecretSpec, SetSpec, dimension, largest_log_pq,
};
use omr_errors::Mismatch;
use omr_ring::{Gadget, Kernels, NarrowGaussian, Ring, primes_below};
use omr_rlwe::{SharedShape, rounding_noise};
use omr_tfhe::noise::{self, PhaseError};
use omr_tfhe::{BootstrapShape, RotationRing, Window};
use std::sync::Arc;

/// Specification of the InstantOMR engine, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantSpec {
    /// Dimension of the ring of rotations and digests.
    pub n: usize,
    /// Bits of the ring's modulus, which is the largest prime below 2 to this power.
    pub modulus_bits: u32,
    /// Parameter of the discrete Gaussian errors of the ring's keys.
    pub sigma: f64,
    /// Bits of a digit of an accumulator: first layers use one, second layers two.
    pub digit_bits: u32,
    /// Half of the first layer's window, in units of `1/2n`: a coordinate of d is a hit if it lies in `[-half, half]`.
    pub half: u32,
    /// Half of the second layer's window, as a fraction of the step from one number of hits to the next. Above one
    /// half, messages with all hits may have larger errors, and messages that lack a single hit, which are rare, are
    /// accepted more often.
    pub verdict: [u32; 2],
    /// Bits of the digits with which offsets of bound clues are subtracted.
    pub offset_bits: u32,
    /// Bits of the modulus of the key switch between the layers, which is the largest prime below 2 to this power.
    pub switch_bits: u32,
    /// Parameter of the switching key's errors.
    pub switch_sigma: f64,
    /// Digits of the switching key.
    pub switch: Gadget,
    /// Digits of the trace's key.
    pub trace: Gadget,
    /// Number of secrets, and thus of bodies, that share a mask of a digest.
    pub bodies: usize,
    /// Largest number of messages of a group, whose sums are one set of ciphertexts.
    pub group: u64,
}

/// Modulus of a digest's sums.
pub const SUMS_MODULUS: u32 = 97;

/// Bits of a mask coefficient of a digest.
pub const INSTANT_MASK_BITS: u32 = 15;

/// Bits of a body coefficient of a digest.
pub const INSTANT_BODY_BITS: u32 = 10;

/// Number of digits of a mask in the switching key to the secrets of digests.
const SHARED_DIGITS: usize = 2;
const SHARED_DIGIT_BITS: u32 = 16;

/// InstantOMR's part of a checked parameter set, with its rings.
pub struct InstantParams {
    name: &'static str,
    spec: InstantSpec,
    /// Parameters of clues.
    pub clue: Arc<ClueParams>,
    /// The ring of rotations and digests.
    pub ring: RotationRing,
    /// The ring of the key switch.
    pub small: RotationRing,
    /// Distribution of the errors of the ring's keys.
    pub noise: NarrowGaussian,
    /// Distribution of the errors of the switching key.
    pub switch_noise: NarrowGaussian,
}

impl InstantParams {
    /// Returns InstantOMR's part of the published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`; `NoEngine` if the set has no InstantOMR.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        Ok(Arc::new(Self::new(
            SetSpec::named(name)?,
            Kernels::detect(),
        )?))
    }

    /// Checks a set and makes its rings.
    ///
    /// Errors: `NoEngine`; dimensions that do not fit; keys or clues below 128 bits of security, unless the set is
    /// marked insecure.
    pub fn new(set: SetSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        let missing = || ParamsError::NoEngine {
            name: set.name.to_owned(),
            expected: "InstantOMR",
        };
        let spec = set.instantomr.clone().ok_or_else(missing)?;
        spec.check(&set)?;
        if !set.insecure {
            set.clue.check_security()?;
        }
        let ring = |n, bits| -> Result<RotationRing, ParamsError> {
            let primes = primes_below(bits, n, 1, &[])?;
            Ok(RotationRing::new(Ring::with_kernels(n, &primes, kernels)?))
        };
        Ok(Self {
            ring: ring(spec.n, spec.modulus_bits)?,
            small: ring(set.clue.n, spec.switch_bits)?,
            noise: NarrowGaussian::new(spec.sigma),
            switch_noise: NarrowGaussian::new(spec.switch_sigma),
            clue: Arc::new(ClueParams::new(set.name, set.clue, kernels)?),
            name: set.name,
            spec,
        })
    }

    /// Returns the set's versioned name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the specification.
    pub fn spec(&self) -> &InstantSpec {
        &self.spec
    }

    /// Returns the shape of the bootstrapping key.
    pub fn bootstrap(&self) -> BootstrapShape {
        let (block, _) = self.blocks();
        BootstrapShape {
            n: self.clue.spec().n,
            block,
            gadget: Gadget {
                bits: self.spec.digit_bits,
                digits: 2,
            },
        }
    }

    /// Returns the clue secret that InstantOMR uses, with its coordinates in clues.
    pub fn secret(&self) -> ClueSecret<'_> {
        self.clue.spec().instant()
    }

    /// Returns the number of coordinates of a clue that the first layer evaluates.
    pub fn coordinates(&self) -> usize {
        self.secret().coordinates.len()
    }

    /// Returns the number of coefficients of a block of the clue secret, and the secret's largest weight.
    pub fn blocks(&self) -> (usize, usize) {
        match self.secret().spec {
            SecretSpec::Blocks { block, weight } => (*block, *weight.end()),
            SecretSpec::Ternary { .. } => unreachable!("checked when made"),
        }
    }

    /// Returns the shape of the switching key to the secrets of digests.
    pub fn shared(&self) -> SharedShape {
        SharedShape {
            components: 1,
            parts: self.spec.bodies,
            digits: SHARED_DIGITS,
            digit_bits: SHARED_DIGIT_BITS,
        }
    }

    /// Returns the windows of both layers: for the first, coordinates near 0; for the second, the full number of hits.
    /// In the second layer a step is one hit, and the value opposite the window is far from every possible number of
    /// hits.
    pub fn windows(&self) -> [Window; 2] {
        let (turn, q) = (2 * self.ring.n() as u64, self.ring.q());
        let hits = self.coordinates() as u64;
        let steps = 2 * (2 * hits + 1);
        let [part, whole] = self.spec.verdict.map(u64::from);
        let first = Window {
            centre: 0,
            half: self.spec.half,
            value: q / steps,
        };
        let second = Window {
            centre: (hits * turn / steps) as u32,
            half: (turn * part / (whole * steps)) as u32,
            value: (q + u64::from(SUMS_MODULUS) / 2) / u64::from(SUMS_MODULUS),
        };
        [first, second]
    }

    /// Returns log2 of the probability that an impertinent message is accepted: with hits in all coordinates, or in all
    /// but one and an error so large that the second layer accepts it (Gaussian tail).
    pub fn false_positive_log2(&self) -> f64 {
        let (grid, half) = self.grid();
        let share = f64::from(2 * half + 1) / grid as f64;
        let hits = self.coordinates() as i32;
        let [_, window] = self.windows();
        let turn = 2 * self.ring.n() as u32;
        let step = f64::from(turn) / f64::from(2 * (2 * hits as u32 + 1));
        let beyond = (step - f64::from(window.half)) / f64::from(turn);
        let off = tail_log2(beyond / self.middle_variance().sqrt()).exp2() / 2.0;
        (share.powi(hits) + f64::from(hits) * share.powi(hits - 1) * off).log2()
    }

    /// Returns log2 of the probability that a pertinent message is missed in either layer (convolution, Gaussian tail,
    /// union bound).
    pub fn miss_log2(&self) -> f64 {
        let (_, weight) = self.blocks();
        let first = self.phase_error(weight).rate(self.spec.half);
        (self.coordinates() as f64 * first + self.missed_later()).log2()
    }

    /// Returns the least half window with which at most 2^`limit` of pertinent messages are missed; `None` if the
    /// second layer alone misses more.
    pub fn least_window(&self, limit: f64) -> Option<u32> {
        let (_, weight) = self.blocks();
        let left = limit.exp2() - self.missed_later();
        let error = self.phase_error(weight);
        let most = left / self.coordinates() as f64;
        // Far out the rate is 0 in floating point, but the second layer's is not.
        let fits = |half: &u32| left > 0.0 && error.rate(*half) <= most;
        (1..self.ring.n() as u32 / 8).find(fits)
    }

    /// Returns the share of messages that the second layer misses.
    fn missed_later(&self) -> f64 {
        let [_, window] = self.windows();
        let room = f64::from(window.half) / (2.0 * self.ring.n() as f64);
        tail_log2(room / self.middle_variance().sqrt()).exp2()
    }

    /// Returns the distribution of coordinates around 0 of clues for a secret of this weight.
    pub fn phase_error(&self, weight: usize) -> ClueError {
        let (grid, _) = self.grid();
        let (block, _) = self.blocks();
        let rounding = if self.rounds_blocks() {
            PhaseError::blockwise(self.clue.spec().n / block, block, weight)
        } else {
            PhaseError::uniform(weight)
        };
        let sd = self
            .clue
            .spec()
            .noise_sd(&self.secret())
            .hypot(self.offset_sd());
        ClueError {
            rounding,
            sd: sd * grid as f64,
            units: (2 * self.ring.n() as u64 / grid) as u32,
        }
    }

    /// Returns the standard deviation of the error that subtracting the offset of a bound clue adds to a coordinate, as
    /// a fraction of the modulus.
    fn offset_sd(&self) -> f64 {
        let errors = NarrowGaussian::new(self.secret().sigma).sd();
        OffsetKey::noise(self) * errors / self.clue.q().value() as f64
    }

    /// Returns whether the detector rounds clues, block by block; otherwise senders have rounded them.
    pub fn rounds_blocks(&self) -> bool {
        self.clue.spec().modulus() > 2 * self.ring.n() as u64
    }

    /// Returns the number of units in a turn to which phases of clues are rounded, and the half window in these units.
    fn grid(&self) -> (u64, u32) {
        let turn = 2 * self.ring.n() as u64;
        let grid = turn.min(self.clue.spec().modulus());
        (grid, self.spec.half / (turn / grid) as u32)
    }

    /// Returns the variance of the sum of hits at the input of the second layer, as a fraction of the modulus.
    pub fn middle_variance(&self) -> f64 {
        let (_, weight) = self.blocks();
        let n = self.ring.n();
        let mut one_digit = self.bootstrap();
        one_digit.gadget.digits = 1;
        let key = variance(&self.noise, &self.ring);
        let rotation =
            noise::rotation(&one_digit, n, weight as f64, key) + noise::rounding(&one_digit, n);
        let down = noise::modulus_switch(self.small.q(), 2.0 / 3.0 * n as f64);
        let switch_key = variance(&self.switch_noise, &self.small);
        let switch = noise::lwe_switch(self.spec.switch, n, switch_key);
        let (block, _) = self.blocks();
        let phase = PhaseError::blockwise(self.clue.spec().n / block, block, weight);
        let rounding = phase.variance() / (2.0 * n as f64).powi(2);
        self.coordinates() as f64 * rotation + down + switch + rounding
    }

    /// Returns the variance of the constant coefficient of a message's verdict, and the mean variance of the others.
    pub fn verdict_variances(&self) -> [f64; 2] {
        let (_, weight) = self.blocks();
        let (n, key) = (self.ring.n(), variance(&self.noise, &self.ring));
        let rotation = noise::rotation(&self.bootstrap(), n, weight as f64, key);
        [
            rotation + noise::trace(self.spec.trace, n, key),
            noise::trace_others(self.spec.trace, n, key),
        ]
    }

    /// Returns the variance that a second layer in double precision adds to the constant coefficient of a verdict.
    fn rounding_variance(&self) -> f64 {
        noise::rounding(&self.bootstrap(), self.ring.n())
    }

    /// Returns the number of messages of a group that may have their second layer in double precision, if the group
    /// will have at most `messages`. With this number, a digest's noise is at most that of a full group in exact
    /// arithmetic: variances add up, and the rounding may use the variance of the messages that are missing.
    pub fn in_double_precision(&self, messages: u64) -> u64 {
        let [constant, others] = self.verdict_variances();
        let exact = constant + (self.ring.n() - 1) as f64 * others;
        let spare = self.spec.group.saturating_sub(messages) as f64 * exact;
        messages.min((spare / self.rounding_variance()) as u64)
    }

    /// Returns the standard deviation of a coefficient of a digest over `messages` messages if `doubles` of them had
    /// their second layer in double precision, in units of the sums; an error of one half makes a sum wrong. The
    /// rounding of bodies, which is at most [`Self::body_rounding`], is not included.
    pub fn coefficient_sd(&self, messages: u64, doubles: u64) -> f64 {
        let [constant, others] = self.verdict_variances();
        let n = self.ring.n();
        let sums = noise::plain_sum(messages, SUMS_MODULUS, n, constant, others)
            + noise::plain_sum(doubles, SUMS_MODULUS, n, self.rounding_variance(), 0.0);
        let shared = self.shared();
        let parts = [
            shared.mask_noise(n),
            shared.key_noise(n, self.ring.q()),
            rounding_noise(n, INSTANT_MASK_BITS),
        ];
        let rounding: f64 = parts.iter().map(|sd| sd * sd).sum();
        f64::from(SUMS_MODULUS) * (sums + rounding).sqrt()
    }

    /// Returns the largest error that rounding a body adds to a sum.
    pub fn body_rounding() -> f64 {
        f64::from(SUMS_MODULUS) / f64::from(INSTANT_BODY_BITS + 1).exp2()
    }

    /// Returns log2 of a bound on the probability that any of `coefficients` coefficients of a full group is wrong.
    pub fn failure_log2(&self, coefficients: usize) -> f64 {
        let sd = self.coefficient_sd(self.spec.group, 0);
        (coefficients as f64).log2() + tail_log2((0.5 - Self::body_rounding()) / sd)
    }
}

/// The error of a coordinate of a clue at the input of the first layer: rounding and the clue's own noise.
pub struct ClueError {
    rounding: PhaseError,
    sd: f64,
    /// Units of a turn in a unit of rounding.
    units: u32,
}

impl ClueError {
    /// Returns the probability of an error of more than `half` units of a turn.
    pub fn rate(&self, half: u32) -> f64 {
        self.rounding.miss_log2(half / self.units, self.sd).exp2()
    }
}

impl InstantSpec {
    fn check(&self, set: &SetSpec) -> Result<(), ParamsError> {
        let secret = set.clue.instant();
        let SecretSpec::Blocks { block, .. } = *secret.spec else {
            return Err(ParamsError::Dimension(Mismatch::new(
                "a clue secret in blocks",
                set.clue.n,
            )));
        };
        dimension(
            block > 0 && block <= omr_ring::MAX_BLOCK && block <= set.clue.n,
            "blocks of 1 to 10",
            block,
        )?;
        let least = set.clue.n.max(512);
        let fits = self.n.is_power_of_two() && self.n >= least && self.n <= 1 << 16;
        dimension(
            fits,
            "a power of two from 512 and the clue's dimension up",
            self.n,
        )?;
        // Every sum of hits and misses has its own step, and there is room beside it.
        let most = 2 * self.n / (4 * (2 * secret.coordinates.len() + 1));
        let half = self.half as usize;
        dimension(
            half < self.n / 2 && most > 0,
            "a window within half a turn",
            half,
        )?;
        dimension(
            self.group > 0 && self.group <= omr_codec::CUBIC_MESSAGES,
            "a group of at most 912,672 messages",
            self.group as usize,
        )?;
        dimension(self.bodies > 0, "bodies", self.bodies)?;
        let (limit, found) = (largest_log_pq(self.n, None), f64::from(self.modulus_bits));
        if found > limit && !set.insecure {
            let n = self.n;
            return Err(ParamsError::Insecure { n, limit, found });
        }
        Ok(())
    }
}

/// Returns the variance of errors as a fraction of a ring's modulus.
fn variance(errors: &NarrowGaussian, ring: &RotationRing) -> f64 {
    (errors.sd() / ring.q() as f64).powi(2)
}

/// Returns log2 of a bound on the probability that a Gaussian variable lies `deviations` standard deviations from its
/// mean.
fn tail_log2(deviations: f64) -> f64 {
    1.0 - deviations * deviations / 2.0 * std::f64::consts::LOG2_E
}

//! SophOMR's circuit as its paper has it, and variations of it: an affine transform makes encrypted distances of clues.

use super::SetError;
use omr_protocol::Mismatch;
use omr_protocol::ParamsError;
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::params::{ClueParams, ClueSpec, Posting, SecretSpec, dimension};
use omr_protocol::sophomr::{FinalRingSpec, FrontEnd, Rings, RingsSpec};
use omr_ring::Kernels;
use omr_rlwe::noise;
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

/// What a detector with an affine transform works with, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Rings and digits.
    pub rings: RingsSpec,
    /// The clue of the ring that posted clues are made to. Its modulus is that of plaintexts.
    pub clue: ClueSpec,
    /// Baby steps of the affine transform.
    pub baby: usize,
    /// Bits of security of the detection key; 0 of tiny sets.
    pub key_bits: f64,
}

/// SophOMR's clue and circuit as its paper has them, with 128 bits of security: secret, randomness and errors alike, so
/// that none of them is the easiest to guess. 140 of 1,024 coefficients are as dense as errors of standard deviation
/// 0.3801.
pub(crate) fn sophomr() -> Spec {
    Spec {
        rings: RingsSpec {
            name: Spec::SOPHOMR,
            insecure: false,
            p: 786_433,
            n: 1 << 16,
            small_n: 1 << 13,
            final_ring: FinalRingSpec {
                n: 1 << 11,
                bodies: 8,
                modulus_bits: 50,
                digits: 2,
                digit_bits: 16,
            },
            weight: 4096,
            embedding_bound: 12.0,
            range: 40,
            block: 8,
            rotation_digits: 2,
            product_digits: 2,
        },
        clue: ClueSpec {
            n: 1024,
            q: 786_433,
            secret: SecretSpec::Ternary { weight: 140 },
            second: None,
            weight: 140,
            sigma: 0.4495,
            coordinates: 2,
            posting: Posting::Whole,
        },
        baby: 64,
        key_bits: 128.0,
    }
}

/// The circuit of [`sophomr`] in tiny dimensions, without any security.
pub(crate) fn tiny_sophomr() -> Spec {
    let full = sophomr();
    Spec {
        rings: RingsSpec {
            name: Spec::TINY_SOPHOMR,
            insecure: true,
            n: 1 << 11,
            small_n: 1 << 8,
            final_ring: FinalRingSpec {
                n: 1 << 6,
                ..full.rings.final_ring
            },
            weight: 128,
            range: 38,
            ..full.rings
        },
        clue: ClueSpec {
            n: 64,
            secret: SecretSpec::Ternary { weight: 16 },
            weight: 16,
            sigma: 0.5,
            ..full.clue
        },
        baby: 8,
        key_bits: 0.0,
    }
}

impl Spec {
    /// The name of SophOMR's set with the affine transform of its paper.
    pub const SOPHOMR: &'static str = "sophomr-affine-v1";

    /// The name of its tiny set, for tests.
    pub const TINY_SOPHOMR: &'static str = "insecure-tiny-sophomr-affine-v1";

    /// SophOMR's set of this name with the affine transform.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, SetError> {
        match name {
            Self::SOPHOMR => Ok(sophomr()),
            Self::TINY_SOPHOMR => Ok(tiny_sophomr()),
            _ => Err(SetError::Unknown(Mismatch::new(
                Self::SOPHOMR.to_owned(),
                name.to_owned(),
            ))),
        }
    }

    fn check(&self) -> Result<(), ParamsError> {
        let power = usize::is_power_of_two;
        dimension(
            power(self.clue.n) && 4 * self.clue.n <= self.rings.n,
            "a power of two up to a quarter of the large dimension",
            self.clue.n,
        )?;
        dimension(
            power(self.baby) && OFFSET_LEN * self.baby <= self.clue.n,
            "a power of two up to an eighth of the clue dimension",
            self.baby,
        )?;
        dimension(
            self.clue.q == self.rings.p,
            "clues modulo the plaintext modulus",
            self.clue.q as usize,
        )?;
        dimension(
            self.clue.posting == Posting::Whole,
            "clues that are posted whole",
            self.clue.posted_modulus() as usize,
        )
    }

    /// Noise after the affine transform, with plaintexts of random slots: each of `clue.n` products takes a fresh
    /// ciphertext turned up to `baby` times, and the giant steps add theirs.
    fn noise(&self) -> f64 {
        let model = self.rings.noise_model();
        let turns = noise::sum(self.rings.baby_step_noise(), self.baby / 2);
        let baby = noise::add(model.fresh(), turns);
        let products = noise::sum(model.times_plain(baby), self.clue.n);
        let giants = self.clue.n / self.baby - 1;
        noise::add(products, noise::sum(self.rings.giant_step_noise(), giants))
    }
}

/// What keys and levels depend on beside a [`Spec`].
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// The name that clues are posted under.
    pub clue_name: &'static str,
    /// Coordinates of a clue that are looked at.
    pub coordinates: usize,
    /// Clue secrets: one of a ring for all coordinates, or one vector for each.
    pub secrets: usize,
    /// The residue b, in every coordinate, of a slot without a clue: with `a = 0` it is impertinent.
    pub nobody: u32,
    /// Bits that each level below the affine transform drops, in their order.
    pub drops: Vec<f64>,
    /// Fewest coefficients that detection keys merge into one ciphertext, or split it into: a power of two.
    pub least_width: usize,
}

impl Circuit {
    /// SophOMR's circuit: two coordinates of one secret, a window polynomial, a norm and a Fermat power.
    ///
    /// Errors: `Ring` where p is no modulus.
    pub fn sophomr(spec: &Spec) -> Result<Self, ParamsError> {
        Ok(Self {
            clue_name: spec.rings.name,
            coordinates: 2,
            secrets: 1,
            nobody: (spec.clue.modulus() / 2) as u32,
            drops: spec.rings.window_drops()?,
            least_width: omr_compress::MIN_WIDTH,
        })
    }

    /// Rotations of the secrets that the affine transform holds: coordinates of one secret are a step apart.
    pub fn baby_steps(&self, spec: &Spec) -> usize {
        spec.baby + self.coordinates / self.secrets - 1
    }
}

/// A checked circuit with its rings, moduli and shapes of keys. It stands where [`Rings`], a part of it, are asked for.
pub struct Params {
    spec: Spec,
    circuit: Circuit,
    rings: Rings,
    /// Clues as the affine transform takes them.
    pub clue: Arc<ClueParams>,
}

impl Params {
    /// SophOMR's set of this name with the affine transform, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, SetError> {
        let spec = Spec::named(name)?;
        let circuit = Circuit::sophomr(&spec)?;
        Ok(Self::new(spec, circuit)?)
    }

    /// Checks a specification and derives its modulus chain, on the best kernels of this CPU. The security of its clues
    /// is the caller's to check.
    ///
    /// Errors: dimensions that do not fit; keys below 128 bits, unless the set is marked insecure.
    pub fn new(spec: Spec, circuit: Circuit) -> Result<Self, ParamsError> {
        spec.check()?;
        let found = spec.clue.secrets()[0].coordinates.len();
        let expected = "as many clue coordinates as are looked at";
        dimension(found >= circuit.coordinates, expected, found)?;
        let kernels = Kernels::detect();
        let front = FrontEnd {
            noise: spec.noise(),
            drops: circuit.drops.clone(),
            compact: false,
        };
        let rings = Rings::new(&spec.rings, &front, kernels)?;
        let clue = ClueParams::new(circuit.clue_name, spec.clue.clone(), kernels)?;
        Ok(Self {
            spec,
            circuit,
            rings,
            clue: Arc::new(clue),
        })
    }

    /// The specification.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The circuit's shape.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// For each kind of key: ring dimension, weight of the fixed-weight secret (`None`: uniform ternary) and log2 of the
    /// modulus of its RLWE samples.
    pub fn key_moduli(&self) -> Vec<(usize, Option<usize>, f64)> {
        self.rings.key_moduli(self.spec.rings.weight)
    }

    /// Slots of a giant step of the affine transform.
    pub fn giant_step(&self) -> usize {
        self.spec.baby
    }

    /// Levels of merging that any digest may need. Oblivious expansion goes the same way back.
    pub fn merge_levels(&self) -> RangeInclusive<u32> {
        omr_compress::merge_levels(self.small_n(), self.circuit.least_width)
    }
}

impl Deref for Params {
    type Target = Rings;

    fn deref(&self) -> &Rings {
        &self.rings
    }
}

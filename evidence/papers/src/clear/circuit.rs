//! SophOMR's circuit as in its paper, where an affine transform computes encrypted distances of clues, and
//! variations of this circuit.

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

/// Parameters of a detector with an affine transform, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The rings and the digits of the keys.
    pub rings: RingsSpec,
    /// The ring LWE clue that the circuit evaluates; posted LWE clues are converted to it. Its modulus is the
    /// plaintext modulus.
    pub clue: ClueSpec,
    /// The number of baby steps of the affine transform.
    pub baby: usize,
    /// Bits of security of the detection key; 0 for tiny sets.
    pub key_bits: f64,
}

/// Returns SophOMR's clue and circuit as in its paper, with 128 bits of security. Secret, randomness and errors
/// of the clue are about equally hard to guess: a vector with 140 of 1,024 coefficients non-zero is as dense as
/// errors of standard deviation 0.3801.
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
        key_bits: 128.8,
    }
}

/// Returns the circuit of [`sophomr`] in tiny dimensions, without any security.
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

    /// The name of the tiny set with this circuit, for tests.
    pub const TINY_SOPHOMR: &'static str = "insecure-tiny-sophomr-affine-v1";

    /// Returns SophOMR's set with the affine transform that has this name.
    ///
    /// Errors: `Unknown` if no set has the name.
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

    /// Returns the noise after the affine transform, for plaintexts of random slots. The transform adds
    /// `clue.n` products with a fresh ciphertext that was rotated up to `baby` times; the giant steps add their
    /// own noise.
    fn noise(&self) -> f64 {
        let model = self.rings.noise_model();
        let turns = noise::sum(self.rings.baby_step_noise(), self.baby / 2);
        let baby = noise::add(model.fresh(), turns);
        let products = noise::sum(model.times_plain(baby), self.clue.n);
        let giants = self.clue.n / self.baby - 1;
        noise::add(products, noise::sum(self.rings.giant_step_noise(), giants))
    }
}

/// The properties of a circuit that determine keys and levels, in addition to a [`Spec`].
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// The name of the parameters in posted clues.
    pub clue_name: &'static str,
    /// The number of a clue's coordinates that the detector evaluates.
    pub coordinates: usize,
    /// The number of clue secrets: 1 if all coordinates share a ring element, else one vector for each
    /// coordinate.
    pub secrets: usize,
    /// The residue b, for every coordinate, of a slot without a clue. With `a = 0` such a slot is impertinent.
    pub nobody: u32,
    /// Bits that each level below the affine transform drops, in order.
    pub drops: Vec<f64>,
    /// The smallest number of coefficients that detection keys merge into one ciphertext, or extract from one:
    /// a power of two.
    pub least_width: usize,
}

impl Circuit {
    /// Returns SophOMR's circuit: two coordinates of one secret, a window polynomial, a norm and a Fermat
    /// power.
    ///
    /// Errors: `Ring` if p is not a valid modulus.
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

    /// Returns the number of rotated secrets that the affine transform stores. Coordinates that share a secret
    /// are one step apart.
    pub fn baby_steps(&self, spec: &Spec) -> usize {
        spec.baby + self.coordinates / self.secrets - 1
    }
}

/// A checked circuit with its rings, moduli and shapes of keys. It dereferences to the [`Rings`] that it
/// contains.
pub struct Params {
    spec: Spec,
    circuit: Circuit,
    rings: Rings,
    /// The ring LWE clue that the affine transform evaluates.
    pub clue: Arc<ClueParams>,
}

impl Params {
    /// Returns SophOMR's set with the affine transform that has this name, with the fastest kernels of this
    /// CPU.
    ///
    /// Errors: `Unknown` if no set has the name.
    pub fn named(name: &str) -> Result<Self, SetError> {
        let spec = Spec::named(name)?;
        let circuit = Circuit::sophomr(&spec)?;
        Ok(Self::new(spec, circuit)?)
    }

    /// Checks a specification and derives its modulus chain, for the fastest kernels of this CPU. The caller
    /// checks the security of the clues.
    ///
    /// Errors: `Dimension` or another [`ParamsError`] if the dimensions do not fit each other, or if keys have
    /// less than 128 bits of security and the set is not marked insecure.
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

    /// Returns the specification.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the shape of the circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Returns three values for each kind of key: the ring dimension, the weight of the fixed-weight secret
    /// (`None` for a uniform ternary one), and log2 of the modulus of the RLWE samples.
    pub fn key_moduli(&self) -> Vec<(usize, Option<usize>, f64)> {
        self.rings.key_moduli(self.spec.rings.weight)
    }

    /// Returns by how many slots a giant step of the affine transform rotates.
    pub fn giant_step(&self) -> usize {
        self.spec.baby
    }

    /// Returns the levels at which any digest may merge ciphertexts. Oblivious expansion uses these levels in
    /// reverse order.
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

//! Parameter sets: [`ParamsSpec`] (public, unchecked) and [`Params`] (checked, ready to use).

mod chain;
mod clue;
mod final_ring;
mod instant;
mod outline;
mod published;
mod security;
mod set;
mod spec;
mod test;

pub use chain::tail_bits;
pub use clue::{ClueParams, ClueSpec, SecretSpec};
pub use final_ring::{FinalNoise, FinalRingSpec};
pub use instant::{INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantParams, InstantSpec, SUMS_MODULUS};
pub use outline::Outline;
pub(crate) use published::{INSECURE_TINY_V2, SOPHOMR_V2, SOPHOMR_V3};
pub use security::{
    Bits, CLUE_ESTIMATES, ClueEstimate, LEAST_BITS, ROTATION_KEY_BITS, Security, largest_log_pq,
};
pub use set::{ParamSet, SetSpec};
pub use spec::{ParamsSpec, Posted};
pub use test::DistanceTest;

use crate::digest::{BODY_BITS, MASK_BITS};
use crate::earlier::{EarlierSet, LweParams};
use chain::{BASE_PRIMES, Primes};
use omr_bgv::{Chain, Plain};
use omr_codec::Nodes;
use omr_compress::Setting;
use omr_ring::{Basis, Kernels, Modulus, Ring, RingError};
use omr_rlwe::noise::NoiseModel;
use omr_rlwe::{KeyShape, SharedShape};
use std::sync::Arc;

/// What can be wrong with parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// No published set has this name.
    #[error("expected one of the parameter sets {known}, found {found:?}")]
    Unknown {
        /// The published names.
        known: String,
        /// The name asked for.
        found: String,
    },
    /// No earlier scheme has this name.
    #[error("expected one of the schemes {known}, found {found:?}")]
    Scheme {
        /// Their names.
        known: String,
        /// The name asked for.
        found: String,
    },
    /// The set lacks an engine.
    #[error("expected a parameter set with {expected}, found {name}, which has none")]
    NoEngine {
        /// The set.
        name: String,
        /// The engine.
        expected: &'static str,
    },
    /// A key would fall below 128 bits of security.
    #[error(
        "expected log2(PQ) of at most {limit} bits in dimension {n} for 128-bit security, found {found:.1}"
    )]
    Insecure {
        /// Ring dimension.
        n: usize,
        /// The largest modulus that is estimated secure.
        limit: f64,
        /// The key's modulus.
        found: f64,
    },
    /// A clue's secret below 128 bits of security, or one that nobody estimated.
    #[error("expected clues of at least 128 bits of security, found {found:.1} for the {part}")]
    WeakClue {
        /// What is weak.
        part: &'static str,
        /// Its bits of security; 0 where none are known.
        found: f64,
    },
    /// An old set for new keys or a new board.
    #[error(
        "expected a parameter set of at least 128 bits for new keys and boards, found {name} with {bits:.1}: \
         use {instead}, or allow it with --allow-old"
    )]
    Old {
        /// The set.
        name: &'static str,
        /// Its bits of security.
        bits: f64,
        /// The set that took its place.
        instead: &'static str,
    },
    /// A set below 128 bits that nobody asked for.
    #[error(
        "expected a parameter set of at least 128 bits, found {name} with {bits}: it is for comparison \
         only, and must be allowed explicitly"
    )]
    Weak {
        /// The set.
        name: &'static str,
        /// Its bits of security.
        bits: f64,
    },
    /// Dimensions that do not fit each other.
    #[error("dimension: expected {expected}, found {found}")]
    Dimension {
        /// What fits.
        expected: &'static str,
        /// What was given.
        found: usize,
    },
    /// A prime does not exist or does not fit.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The sparse-recovery code does not fit the plaintext modulus.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

/// Errors: `Dimension` unless `ok`.
pub(crate) fn dimension(ok: bool, expected: &'static str, found: usize) -> Result<(), ParamsError> {
    match ok {
        true => Ok(()),
        false => Err(ParamsError::Dimension { expected, found }),
    }
}

/// The set that commands use unless told otherwise.
pub const DEFAULT: &str = "sophomr-v3";

/// The set whose clues serve both engines.
pub const HYBRID: &str = "hybrid-v2";

/// A checked parameter set with its rings, moduli and key shapes.
pub struct Params {
    spec: ParamsSpec,
    primes: Primes,
    /// The large ring: detection.
    pub ring: Ring,
    /// Slots of the large ring.
    pub plain: Plain,
    /// Modulus chain of the large ring.
    pub chain: Chain,
    /// The small ring: compression.
    pub small: Ring,
    /// Slots of the small ring.
    pub small_plain: Plain,
    /// The ring of digests, of one prime.
    pub final_ring: Ring,
    /// Clues as the affine transform takes them.
    pub clue: Arc<ClueParams>,
    /// Clues as they are posted, where these are of LWE.
    pub lwe: Option<LweParams>,
    /// The polynomial that decides.
    pub test: DistanceTest,
    /// Nodes of the sparse-recovery code.
    pub nodes: Nodes,
    /// Gadget of the baby step's rotation key.
    pub step_shape: KeyShape,
    /// Gadget of the giant step's rotation key.
    pub giant_shape: KeyShape,
    /// Gadget of the relinearisation key.
    pub product_shape: KeyShape,
    /// Gadget of the ring-switching key.
    pub descent_shape: KeyShape,
    /// Gadget of the small ring's keys.
    pub small_shape: KeyShape,
    /// Shape of the key to the ring of digests.
    pub final_shape: SharedShape,
}

impl Params {
    /// SophOMR's part of the published set of this name, or what an earlier scheme's set detects with, on
    /// the best kernels of this CPU.
    ///
    /// Errors: `Unknown`; `NoEngine` where the set has no SophOMR.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        if let Some(spec) = EarlierSet::detection_named(name) {
            return Ok(Arc::new(Self::new(spec, Kernels::detect())?));
        }
        let set = SetSpec::named(name)?;
        let spec = set.bulk.ok_or_else(|| ParamsError::NoEngine {
            name: name.to_owned(),
            expected: "SophOMR",
        })?;
        Ok(Arc::new(Self::new(spec, Kernels::detect())?))
    }

    /// Checks a specification and derives its modulus chain from the noise model.
    ///
    /// Errors: dimensions that do not fit; keys or clues below 128 bits, unless the set is marked insecure or, for
    /// clues, old.
    pub fn new(spec: ParamsSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        spec.check()?;
        let primes = Primes::derive(&spec)?;
        let ring = Ring::with_kernels(spec.n, &primes.universe(), kernels)?;
        let small = Ring::with_kernels(spec.small_n, &primes.small_universe(), kernels)?;
        let plain = Plain::new(spec.p, spec.n, kernels)?;
        let chain = primes.chain();
        let descent_special = primes.descent_special();
        let small_special = Basis::new(BASE_PRIMES..BASE_PRIMES + descent_special.len());
        let (clue_name, lwe) = match &spec.posted {
            Posted::Own => (spec.name, None),
            Posted::Of(name) => (*name, None),
            Posted::Lwe { name, spec } => (*name, Some(LweParams::new(name, *spec)?)),
        };
        let params = Self {
            test: DistanceTest::new(plain.p(), &spec)?,
            nodes: Nodes::new(spec.p as u32, spec.n)?,
            step_shape: primes.step_shape(&spec),
            giant_shape: primes.giant_shape(&spec),
            product_shape: primes.product_shape(&spec),
            descent_shape: KeyShape::new(chain.basis(chain.len() - 1), 1, &descent_special),
            small_shape: KeyShape::new(&Basis::new(0..BASE_PRIMES), 1, &small_special),
            small_plain: Plain::new(spec.p, spec.small_n, kernels)?,
            final_ring: spec.final_ring.ring(kernels)?,
            final_shape: spec.final_ring.shape(spec.small_n),
            clue: Arc::new(ClueParams::new(clue_name, spec.clue.clone(), kernels)?),
            lwe,
            spec,
            primes,
            ring,
            plain,
            chain,
            small,
        };
        params.check_security()?;
        Ok(params)
    }

    fn check_security(&self) -> Result<(), ParamsError> {
        if self.spec.insecure {
            return Ok(());
        }
        self.spec.check_clue()?;
        for (n, weight, found) in self.key_moduli() {
            let limit = largest_log_pq(n, weight);
            if found > limit {
                return Err(ParamsError::Insecure { n, limit, found });
            }
        }
        Ok(())
    }

    /// For each kind of key: ring dimension, weight of the fixed-weight secret (`None`: uniform
    /// ternary) and log2 of the modulus of its RLWE samples.
    pub fn key_moduli(&self) -> Vec<(usize, Option<usize>, f64)> {
        let large = |shape: &KeyShape| {
            (
                self.spec.n,
                Some(self.spec.weight),
                self.ring.log2(&shape.extended()),
            )
        };
        // The ring-switching key hides a secret of the small ring.
        let descent = self.ring.log2(&self.descent_shape.extended());
        vec![
            large(&self.step_shape),
            large(&self.giant_shape),
            large(&self.product_shape),
            (self.spec.small_n, None, descent),
            (
                self.spec.small_n,
                None,
                self.small.log2(&self.small_shape.extended()),
            ),
            (
                self.spec.final_ring.n,
                None,
                self.final_ring.log2(&self.final_ring.everything()),
            ),
        ]
    }

    /// The specification.
    pub fn spec(&self) -> &ParamsSpec {
        &self.spec
    }

    /// The set's versioned name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The plaintext modulus, also that of clues.
    pub fn p(&self) -> &Modulus {
        self.plain.p()
    }

    /// Messages in one batch: the slots of the large ring.
    pub fn slots(&self) -> usize {
        self.spec.n
    }

    /// The small ring's ciphertext modulus, in its own numbering of primes.
    pub fn small_basis(&self) -> Basis {
        Basis::new(0..BASE_PRIMES)
    }

    /// What compression works with.
    pub fn compression(&self) -> Setting<'_> {
        Setting {
            plain: &self.plain,
            small: &self.small,
            small_plain: &self.small_plain,
            limbs: BASE_PRIMES,
            nodes: &self.nodes,
            final_ring: &self.final_ring,
            final_shape: self.final_shape,
            mask_bits: MASK_BITS,
            body_bits: BODY_BITS,
        }
    }

    /// The exponent of the giant step's rotation.
    pub fn giant_step(&self) -> usize {
        self.spec.baby
    }

    /// The c of the norm `g1^2 + g1 g2 + c g2^2`, which is zero only where g1 and g2 are.
    pub fn norm_constant(&self) -> i64 {
        chain::norm_constant(self.p())
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        self.spec.noise_model()
    }

    /// Predicted noise (log2 of the rms embedding) after the affine transform, before switching.
    pub fn affine_noise(&self) -> f64 {
        self.primes.affine_noise
    }
}

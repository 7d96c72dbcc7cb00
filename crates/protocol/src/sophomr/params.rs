//! SophOMR's part of a parameter set: [`ParamsSpec`] (public, unchecked) and [`Params`] (checked, ready to use).

mod chain;
mod circuit;
mod final_ring;
mod lower;
mod miss;
mod outline;
mod recipient;
mod spec;
mod terminals;

pub use chain::tail_bits;
pub use circuit::Circuit;
pub use final_ring::{FinalNoise, FinalRingSpec};
pub use outline::Outline;
pub use recipient::RecipientParams;
pub use spec::ParamsSpec;

use super::key::KeptMasks;
use super::{BODY_BITS, MASK_BITS};
use crate::params::{ClueParams, ParamsError, SetSpec, largest_log_pq};
use chain::{BASE_PRIMES, Primes};
use omr_bgv::{Chain, Plain, RangePolynomial};
use omr_compress::Setting;
use omr_opening::{Opening, OpeningSpec};
use omr_ring::{Basis, Kernels, Modulus, Ring};
use omr_rlwe::KeyShape;
use omr_rlwe::noise::NoiseModel;
use std::ops::Deref;
use std::sync::Arc;

/// A checked parameter set with its rings, moduli and key shapes. It stands where [`RecipientParams`], a part of it, are
/// asked for.
pub struct Params {
    spec: ParamsSpec,
    circuit: Circuit,
    primes: Primes,
    recipient: Arc<RecipientParams>,
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
    /// Clues as the affine transform takes them.
    pub clue: Arc<ClueParams>,
    /// Zero at the squared distances of the window: by it the detector decides.
    pub window: RangePolynomial,
    /// Packing and opening of clues; `None` where clues meet the top modulus.
    pub opening: Option<Opening>,
    /// Gadget of the baby step's rotation key.
    pub step_shape: KeyShape,
    /// Gadget of the giant step's rotation key.
    pub giant_shape: KeyShape,
    /// Gadget of the relinearisation key.
    pub product_shape: KeyShape,
    /// Gadgets of the keys that detectors make from it, for lower levels: ever fewer primes.
    pub lowered_shapes: Vec<KeyShape>,
    /// Gadget of the ring-switching key.
    pub descent_shape: KeyShape,
    /// Gadget of the small ring's keys.
    pub small_shape: KeyShape,
    /// Masks that several detection keys in memory have.
    pub(super) kept_masks: KeptMasks,
}

impl Params {
    /// SophOMR's part of the published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`; `NoEngine` where the set has no SophOMR.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        let spec = SetSpec::named(name)?.into_sophomr()?;
        Ok(Arc::new(Self::new(spec, Kernels::detect())?))
    }

    /// Checks a specification and derives its modulus chain from the noise model.
    ///
    /// Errors: dimensions that do not fit; keys or clues below 128 bits, unless the set is marked insecure or, for
    /// clues, old.
    pub fn new(spec: ParamsSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        let circuit = Circuit::sophomr(&spec)?;
        if !spec.insecure {
            spec.check_clue()?;
        }
        Self::with_circuit(spec, circuit, kernels)
    }

    /// The parameters of another circuit on a set's rings. The security of its clues is the caller's to check.
    ///
    /// Errors: dimensions that do not fit; keys below 128 bits, unless the set is marked insecure.
    pub fn with_circuit(
        spec: ParamsSpec,
        circuit: Circuit,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let recipient = RecipientParams::new(&spec, kernels)?;
        circuit.check(&spec)?;
        let primes = Primes::derive(&spec, &circuit.drops)?;
        let ring = Ring::with_kernels(spec.n, &primes.universe(), kernels)?;
        let small = Ring::with_kernels(spec.small_n, &primes.small_universe(), kernels)?;
        let plain = Plain::new(spec.p, spec.n, kernels)?;
        let chain = primes.chain();
        let descent_special = primes.descent_special();
        let small_special = Basis::new(BASE_PRIMES..BASE_PRIMES + descent_special.len());
        let opening =
            |opening: &OpeningSpec| Opening::new(spec.clue_shape(), opening.clone(), &plain);
        let params = Self {
            opening: spec.opening.as_ref().map(opening).transpose()?,
            window: RangePolynomial::new(plain.p(), spec.range, spec.block),
            step_shape: primes.step_shape(&spec),
            giant_shape: primes.giant_shape(&spec),
            product_shape: primes.product_shape(),
            lowered_shapes: primes.lowered_shapes(&spec),
            descent_shape: KeyShape::new(chain.basis(chain.len() - 1), 1, &descent_special),
            small_shape: KeyShape::new(&Basis::new(0..BASE_PRIMES), 1, &small_special),
            small_plain: Plain::new(spec.p, spec.small_n, kernels)?,
            kept_masks: KeptMasks::default(),
            clue: Arc::new(ClueParams::new(
                circuit.clue_name,
                spec.clue.clone(),
                kernels,
            )?),
            circuit,
            spec,
            primes,
            recipient: Arc::new(recipient),
            ring,
            plain,
            chain,
            small,
        };
        params.check_keys()?;
        Ok(params)
    }

    fn check_keys(&self) -> Result<(), ParamsError> {
        if self.spec.insecure {
            return Ok(());
        }
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

    /// What recipients need of it.
    pub fn recipient(&self) -> &Arc<RecipientParams> {
        &self.recipient
    }

    /// The circuit's shape.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The plaintext modulus, also that of clues.
    pub fn p(&self) -> &Modulus {
        self.plain.p()
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

    /// Slots of a giant step of the affine transform, or of the transform that opens clues.
    pub fn giant_step(&self) -> usize {
        match &self.opening {
            Some(opening) => opening.transform_steps()[1],
            None => self.spec.baby,
        }
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

impl Deref for Params {
    type Target = RecipientParams;

    fn deref(&self) -> &RecipientParams {
        &self.recipient
    }
}

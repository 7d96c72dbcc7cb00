//! The rings of SophOMR's circuit: moduli, shapes of keys and the window, from the distances on.

use super::chain::{self, BASE_PRIMES, GIANT_SLACK, Primes, STEP_EXCESS};
use super::{FinalRingSpec, RecipientParams, tail_bits};
use crate::params::{ParamsError, dimension, largest_log_pq};
use crate::sophomr::{BODY_BITS, MASK_BITS};
use omr_bgv::{Chain, Plain, RangePolynomial};
use omr_compress::{Packing, Setting};
use omr_ring::{Basis, Kernels, Modulus, Ring};
use omr_rlwe::KeyShape;
use omr_rlwe::noise::NoiseModel;
use std::ops::Deref;
use std::sync::Arc;

/// Dimensions and digits of the circuit that decides which messages are pertinent, unchecked. [`FrontEnd`] describes
/// how clues become encrypted distances.
#[derive(Clone, Debug, PartialEq)]
pub struct RingsSpec {
    /// The parameter set's name.
    pub name: &'static str,
    /// Whether the set is for tests only, so that keys below 128 bits are accepted.
    pub insecure: bool,
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
    /// Half of the window: a distance is inside if it lies in `[-range, range]`.
    pub range: u64,
    /// Powers in one block of the window polynomial.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
}

/// The noise of distances and the demands of the levels after them, from which the levels of a circuit are derived.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontEnd {
    /// Noise of the distances (log2 of the root mean square embedding) before the first switch of the modulus.
    pub noise: f64,
    /// Bits that each level below the distances drops, in the order of the levels.
    pub drops: Vec<f64>,
    /// Whether levels have few, nearly full primes and terminal ones. Otherwise each level drops one prime.
    pub compact: bool,
}

impl RingsSpec {
    /// Checks the dimensions.
    ///
    /// Errors: `Dimension`.
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
        dimension(power(self.block), "a power of two", self.block)?;
        self.final_ring.check(self.small_n)
    }

    /// Returns the noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        NoiseModel {
            n: self.n,
            p: self.p,
            weight: self.weight as f64,
        }
    }

    /// Returns the noise that a rotation by a baby step adds (log2 of the root mean square embedding).
    pub fn baby_step_noise(&self) -> f64 {
        let model = self.noise_model();
        model.key_switch(self.rotation_digits, 0.0, STEP_EXCESS)
    }

    /// Returns the noise that a rotation by a giant step adds (log2 of the root mean square embedding).
    pub fn giant_step_noise(&self) -> f64 {
        let model = self.noise_model();
        model.gadget(self.rotation_digits, GIANT_SLACK, 0.0)
    }

    /// Returns the bits that a level drops, so that its noise returns to the floor and the chain of squarings overflows
    /// at no embedding ([`tail_bits`]).
    pub fn level_bits(&self) -> f64 {
        self.noise_model().floor() + tail_bits(self.embedding_bound)
    }

    /// Returns the bits that the levels of SophOMR's range check drop: those of the window polynomial, the norm of two
    /// coordinates and its Fermat power.
    ///
    /// Errors: `Ring` if p is no modulus.
    pub fn window_drops(&self) -> Result<Vec<f64>, ParamsError> {
        chain::window_drops(self)
    }
}

/// The rings of a checked set, their moduli and the shapes of the detection key's parts. They dereference to
/// [`RecipientParams`], which are a part of them.
pub struct Rings {
    recipient: Arc<RecipientParams>,
    front_noise: f64,
    /// The large ring, for detection.
    pub ring: Ring,
    /// Slots of the large ring.
    pub plain: Plain,
    /// Modulus chain of the large ring.
    pub chain: Chain,
    /// The small ring, for compression. Its last primes are those of sums.
    pub small: Ring,
    /// The number of primes of sums.
    sum_primes: usize,
    /// Slots of the small ring.
    pub small_plain: Plain,
    /// The polynomial that is zero at the distances inside the window, by which the detector decides.
    pub window: RangePolynomial,
    /// Gadget of the baby step's rotation key.
    pub step_shape: KeyShape,
    /// Gadget of the giant step's rotation key.
    pub giant_shape: KeyShape,
    /// Gadget of the relinearisation key.
    pub product_shape: KeyShape,
    /// Gadgets of the keys that detectors derive from the relinearisation key for lower levels, with fewer and fewer
    /// primes.
    pub lowered_shapes: Vec<KeyShape>,
    /// Gadget of the ring-switching key.
    pub descent_shape: KeyShape,
    /// Gadget of the small ring's keys.
    pub small_shape: KeyShape,
}

impl Rings {
    /// Checks a specification and derives the modulus chain from the noise model.
    ///
    /// Errors: dimensions that do not fit; keys below 128 bits of security, unless the set is marked insecure.
    pub fn new(
        spec: &RingsSpec,
        front: &FrontEnd,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let recipient = Arc::new(RecipientParams::new(spec, kernels)?);
        let primes = Primes::derive(spec, front)?;
        let plain = Plain::new(spec.p, spec.n, kernels)?;
        let chain = primes.chain();
        let descent_special = primes.descent_special();
        let small_special = Basis::new(BASE_PRIMES..BASE_PRIMES + descent_special.len());
        let rings = Self {
            recipient,
            front_noise: front.noise,
            ring: Ring::with_kernels(spec.n, &primes.universe(), kernels)?,
            small: Ring::with_kernels(spec.small_n, &primes.small_universe(), kernels)?,
            sum_primes: primes.sum_primes(),
            window: RangePolynomial::new(plain.p(), spec.range, spec.block),
            step_shape: primes.step_shape(spec),
            giant_shape: primes.giant_shape(spec),
            product_shape: primes.product_shape(),
            lowered_shapes: primes.lowered_shapes(spec),
            descent_shape: KeyShape::new(chain.basis(chain.len() - 1), 1, &descent_special),
            small_shape: KeyShape::new(&Basis::new(0..BASE_PRIMES), 1, &small_special),
            small_plain: Plain::new(spec.p, spec.small_n, kernels)?,
            plain,
            chain,
        };
        rings.check_keys(spec)?;
        Ok(rings)
    }

    /// Checks the security of all keys, unless the set is marked insecure.
    ///
    /// Errors: `Insecure`.
    fn check_keys(&self, spec: &RingsSpec) -> Result<(), ParamsError> {
        if spec.insecure {
            return Ok(());
        }
        for (n, weight, found) in self.key_moduli(spec.weight) {
            let limit = largest_log_pq(n, weight);
            if found > limit {
                return Err(ParamsError::Insecure { n, limit, found });
            }
        }
        Ok(())
    }

    /// Returns for each kind of key: ring dimension, weight of the fixed-weight secret (`None`: uniform ternary) and
    /// log2 of the modulus of its RLWE samples. `weight` is that of the large ring's secret.
    pub fn key_moduli(&self, weight: usize) -> Vec<(usize, Option<usize>, f64)> {
        let large = |shape: &KeyShape| {
            let bits = self.ring.log2(&shape.extended());
            (self.ring.n(), Some(weight), bits)
        };
        // The ring-switching key hides a secret of the small ring.
        let descent = self.ring.log2(&self.descent_shape.extended());
        let small = self.small.log2(&self.small_shape.extended());
        let last = self.final_ring.log2(&self.final_ring.everything());
        vec![
            large(&self.step_shape),
            large(&self.giant_shape),
            large(&self.product_shape),
            (self.small.n(), None, descent),
            (self.small.n(), None, small),
            (self.final_ring.n(), None, last),
        ]
    }

    /// Returns the part that recipients need.
    pub fn recipient(&self) -> &Arc<RecipientParams> {
        &self.recipient
    }

    /// Returns the plaintext modulus.
    pub fn p(&self) -> &Modulus {
        self.plain.p()
    }

    /// Returns the basis of the small ring's ciphertext modulus, by the small ring's numbers of its primes.
    pub fn small_basis(&self) -> Basis {
        Basis::new(0..BASE_PRIMES)
    }

    /// Returns the parameters of compression.
    pub fn compression(&self) -> Setting<'_> {
        Setting {
            plain: &self.plain,
            small_plain: &self.small_plain,
            nodes: &self.nodes,
            packing: Packing {
                small: &self.small,
                p: self.plain.p(),
                limbs: BASE_PRIMES,
                final_ring: &self.final_ring,
                final_shape: self.final_shape,
                mask_bits: MASK_BITS,
                body_bits: BODY_BITS,
            },
            sum_primes: self.sum_primes,
        }
    }

    /// Returns the c of the norm `g1^2 + g1 g2 + c g2^2`, which is zero only if g1 and g2 are.
    pub fn norm_constant(&self) -> i64 {
        chain::norm_constant(self.p())
    }

    /// Returns the predicted noise (log2 of the root mean square embedding) of the distances, before the first switch
    /// of the modulus.
    pub fn front_noise(&self) -> f64 {
        self.front_noise
    }
}

impl Deref for Rings {
    type Target = RecipientParams;

    fn deref(&self) -> &RecipientParams {
        &self.recipient
    }
}

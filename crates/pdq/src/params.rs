//! Parameter sets: [`Spec`] (public, unchecked) and [`Params`] (checked, ready to use).

mod primes;
mod spec;

pub use spec::Spec;

use crate::{ParamsError, noise};
use omr_bgv::{Chain, Evaluator, Plain};
use omr_codec::Nodes;
use omr_compress::{Packing, Setting};
use omr_protocol::params::largest_log_pq;
use omr_ring::{Basis, Kernels, Modulus, Ring, primes_below};
use omr_rlwe::noise::{NoiseModel, add, sum};
use omr_rlwe::{KeyShape, SharedShape};
use primes::Primes;
use std::sync::Arc;

/// Bits of a mask coefficient of an answer.
pub const MASK_BITS: u32 = 29;

/// Bits of a body coefficient of an answer.
pub const BODY_BITS: u32 = 22;

/// A checked parameter set with its rings, moduli and key shapes.
pub struct Params {
    spec: Spec,
    /// The large ring: tests of rows.
    pub ring: Ring,
    /// Slots of the large ring: rows of a block.
    pub plain: Plain,
    /// Level 0 takes constants; level 1 what was selected; each product one more; the last one is compressed.
    pub chain: Chain,
    /// The small ring: compression.
    pub small: Ring,
    /// Slots of the small ring.
    pub small_plain: Plain,
    /// The ring of answers, of one prime.
    pub final_ring: Arc<Ring>,
    /// Nodes of the sparse-recovery code.
    pub nodes: Nodes,
    /// Gadget of relinearisation and expansion.
    pub product_shape: KeyShape,
    /// Gadget of the ring-switching key.
    pub descent_shape: KeyShape,
    /// Gadget of the small ring's keys.
    pub small_shape: KeyShape,
    /// Shape of the key to the ring of answers.
    pub final_shape: SharedShape,
    small_basis: Basis,
    sum_primes: usize,
    scales: Vec<u64>,
}

impl Params {
    /// The published set of this name, on the best kernels of this CPU. Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        Ok(Arc::new(Self::new(Spec::named(name)?, Kernels::detect())?))
    }

    /// Checks a specification and derives its modulus chain from the noise model.
    ///
    /// Errors: a key below 128 bits, unless the set is marked insecure; primes that do not exist.
    pub fn new(spec: Spec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        let primes = Primes::derive(&spec)?;
        let ring = Ring::with_kernels(spec.n, &primes.universe(), kernels)?;
        let small = Ring::with_kernels(spec.small_n, &primes.small_universe(), kernels)?;
        let plain = Plain::new(spec.p, spec.n, kernels)?;
        let small_basis = Basis::new(0..spec.base_primes);
        let specials = Basis::new(spec.base_primes..spec.base_primes + spec.descent_special);
        let final_primes = primes_below(50, spec.final_n, 1, &[])?;
        let (chain, sum_primes) = (primes.chain(), primes.sum_primes());
        let base = chain.basis(chain.len() - 1).clone();
        let params = Self {
            product_shape: primes.product_shape(),
            descent_shape: KeyShape::new(&base, spec.descent_digits, &primes.descent_special()),
            small_shape: KeyShape::new(&small_basis, spec.descent_digits, &specials),
            nodes: Nodes::new(spec.p as u32, spec.n)?,
            small_plain: Plain::new(spec.p, spec.small_n, kernels)?,
            final_ring: Arc::new(Ring::with_kernels(spec.final_n, &final_primes, kernels)?),
            final_shape: SharedShape {
                components: spec.small_n / spec.final_n,
                parts: 1,
                digits: 2,
                digit_bits: 16,
            },
            scales: scales(&ring, &chain, plain.p()),
            spec,
            ring,
            plain,
            chain,
            small,
            small_basis,
            sum_primes,
        };
        params.check_security()?;
        Ok(params)
    }

    fn check_security(&self) -> Result<(), ParamsError> {
        if self.spec.insecure {
            return Ok(());
        }
        for (n, found) in self.key_moduli() {
            let limit = largest_log_pq(n, None);
            if found > limit {
                return Err(ParamsError::Insecure { n, limit, found });
            }
        }
        Ok(())
    }

    /// Ring dimension and log2 of the modulus of each kind of key's RLWE samples; all secrets are uniform ternary.
    pub fn key_moduli(&self) -> Vec<(usize, f64)> {
        let descent = self.ring.log2(&self.descent_shape.extended());
        vec![
            (self.spec.n, self.ring.log2(&self.product_shape.extended())),
            // The ring-switching key hides a secret of the small ring.
            (self.spec.small_n, descent),
            (
                self.spec.small_n,
                self.small.log2(&self.small_shape.extended()),
            ),
            (
                self.spec.final_n,
                self.final_ring.log2(&self.final_ring.everything()),
            ),
        ]
    }

    /// The specification.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The set's versioned name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The plaintext modulus.
    pub fn p(&self) -> &Modulus {
        self.plain.p()
    }

    /// Rows of a block: the slots of the large ring.
    pub fn slots(&self) -> usize {
        self.spec.n
    }

    /// Products that may follow one another.
    pub fn depth(&self) -> usize {
        self.spec.depth
    }

    /// The small ring's ciphertext modulus, in its own numbering of primes.
    pub fn small_basis(&self) -> &Basis {
        &self.small_basis
    }

    /// The level that is compressed.
    pub fn last_level(&self) -> usize {
        self.chain.len() - 1
    }

    /// By what slots of level `level` are multiplied: the same for all values of a level, so that they add.
    pub fn scale(&self, level: usize) -> u64 {
        self.scales[level]
    }

    /// Returns the product of the primes that level `level` drops on the way to the next, modulo p.
    pub fn dropped(&self, level: usize) -> u64 {
        let dropped = self.chain.basis(level).minus(self.chain.basis(level + 1));
        self.ring.product_mod(&dropped, self.p())
    }

    /// By what constants at `level` are multiplied, so that selections come at the next level's scale.
    pub fn leaf_scale(&self, level: usize) -> u64 {
        self.p().mul(self.scale(level + 1), self.dropped(level))
    }

    /// The evaluator of the large ring.
    pub fn evaluator(&self) -> Evaluator<'_> {
        Evaluator {
            ring: &self.ring,
            plain: &self.plain,
            chain: &self.chain,
            stop: None,
        }
    }

    /// Whether the client learns no more than the result: the last level has room for flooding.
    pub fn two_sided(&self) -> bool {
        self.spec.flooding_bits > 0
    }

    /// Bits of the flooding noise where there is any: uniform in `-2^bits..2^bits`, times p.
    pub fn flooding(&self) -> Option<u32> {
        let modulus = self.small.log2(&self.small_basis);
        let bits = noise::flooding(&self.spec, modulus);
        self.two_sided().then_some(bits)
    }

    /// Returns the noise that key switches add to a coefficient before constants are multiplied with it, for ciphertexts of
    /// `width` exponents: one switch to the small ring, then `width / 4` on average, as codes are turned step by step.
    pub(crate) fn switches(&self, width: usize) -> f64 {
        let spec = &self.spec;
        let modulus = self.small.log2(&self.small_basis);
        let special = self.small.log2(&self.small_shape.extended()) - modulus;
        let digits = spec.descent_digits;
        let coefficient = |model: NoiseModel| {
            let digit = modulus / digits as f64;
            model.gadget(digits, digit, special) - (model.n as f64).log2() / 2.0
        };
        let floor = noise::sums(spec).floor();
        let turn = add(coefficient(spec.small_noise_model()), floor);
        let descent = add(coefficient(spec.noise_model()), floor);
        add(descent, sum(turn, width / 4))
    }

    /// Returns the rings and shapes that compression works in.
    pub fn compression(&self) -> Setting<'_> {
        Setting {
            plain: &self.plain,
            small_plain: &self.small_plain,
            nodes: &self.nodes,
            packing: Packing {
                small: &self.small,
                p: self.plain.p(),
                limbs: self.spec.base_primes,
                final_ring: &self.final_ring,
                final_shape: self.final_shape,
                mask_bits: MASK_BITS,
                body_bits: BODY_BITS,
            },
            sum_primes: self.sum_primes,
        }
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        self.spec.noise_model()
    }
}

/// Scale 1 at level 0; dropping a prime divides by it, a product squares first.
fn scales(ring: &Ring, chain: &Chain, p: &Modulus) -> Vec<u64> {
    let mut scales = vec![1];
    for level in 1..chain.len() {
        let dropped = chain.basis(level - 1).minus(chain.basis(level));
        let by = p.inv(ring.product_mod(&dropped, p));
        let last: u64 = scales[level - 1];
        scales.push(p.mul(p.mul(last, last), by));
    }
    scales
}

use super::{ParamsError, ParamsSpec};
use omr_bgv::{Chain, RangePolynomial, fermat_depth};
use omr_ring::{Basis, Modulus, primes_below, primes_near};
use omr_rlwe::KeyShape;
use omr_rlwe::noise::{self, NoiseModel};

/// Largest size of a prime: one bit below what the kernels take.
const PRIME_BITS: f64 = 49.9;

/// Size of the special primes: the largest below 2^50.
const SPECIAL_BITS: f64 = 49.99;

/// Primes of the last level, which the small ring shares.
const BASE_PRIMES: usize = 2;

/// The primes of a parameter set, by purpose. Universe order: top, special, then the chain.
pub(super) struct Primes {
    /// Level 0: the affine transform.
    top: Vec<u64>,
    /// Special primes of key switching.
    special: Vec<u64>,
    /// Levels 1 and below: the base first, then the drops, the last dropped first.
    lower: Vec<u64>,
    rotation_special: usize,
    product_special: usize,
    descent_special: usize,
    pub(super) affine_noise: f64,
}

/// Bits that a level must drop above the root mean square floor, so that the squaring chain
/// explodes at no embedding, ever, but with probability 2^-40 a batch.
///
/// At the worst embedding the secret's square is `bound` times the mean. The mask's is exponential;
/// in units of the level's modulus the chain is `v -> v^2 + x`, which leaves the basin `v < 1`
/// most cheaply by several moderate kicks: the exponent is about 0.67 of a single kick's. The exact
/// transition densities (`reference/squaring_tail.py`) give, for the bits returned here at
/// n = 65,536 and bound 12 (4.77): failure 2^-53 a batch averaged over keys, 2^-47.5 for a key with
/// four embeddings at the bound.
pub fn tail_bits(n: usize, depth: usize, bound: f64) -> f64 {
    let chances = (n / 2 * depth) as f64;
    let exponent = (40f64.exp2() * chances).ln() / 0.67;
    (bound.log2() + exponent.log2()) / 2.0
}

impl Primes {
    pub(super) fn derive(spec: &ParamsSpec) -> Result<Self, ParamsError> {
        let model = spec.noise_model();
        let depth = RangePolynomial::new(
            &Modulus::new(spec.p).map_err(omr_ring::RingError::from)?,
            spec.clue.range,
            spec.block,
        )
        .depth()
            + 1
            + fermat_depth(spec.p);
        let level = model.floor() + tail_bits(spec.n, depth, spec.embedding_bound);
        let mut drops = Vec::new();
        let scalar_level = 1 + spec.block.trailing_zeros() as usize;
        let norm_level = depth - fermat_depth(spec.p) - 1;
        for step in 0..depth {
            drops.push(match step {
                // Scalars modulo p, `block` of them summed.
                s if s == scalar_level => {
                    model.times_scalar(0.0) + (spec.block as f64).log2() / 2.0 + 1.0
                }
                // The norm g1^2 - nu g2^2, nu small: both its square and its cube pass here.
                s if s == norm_level + 1 || s == norm_level + 2 => {
                    level + norm_growth_bits(spec.p) * 2.0
                }
                _ => level,
            });
        }
        Self::find(spec, &model, &drops)
    }

    fn find(spec: &ParamsSpec, model: &NoiseModel, drops: &[f64]) -> Result<Self, ParamsError> {
        let mut taken = vec![spec.p];
        let mut take = |bits: f64, count: usize| -> Result<Vec<u64>, ParamsError> {
            let found = primes_near(bits, spec.n, count, &taken)?;
            taken.extend(&found);
            Ok(found)
        };
        let base_bits = compression_bits(spec);
        let mut lower = take(base_bits / BASE_PRIMES as f64, BASE_PRIMES)?;
        for &bits in drops.iter().rev() {
            lower.extend(take(bits, 1)?);
        }
        let lower_bits: f64 = base_bits + drops.iter().sum::<f64>();
        let affine_noise = affine_noise(spec, model);
        let top_bits = lower_bits + affine_noise + adversary_margin(spec) - model.floor();
        let count = (top_bits / PRIME_BITS).ceil() as usize;
        let top = take(top_bits / count as f64, count)?;
        let rotation_special = count.div_ceil(spec.rotation_digits);
        let product_special = product_special(spec, &lower);
        let descent_special = ((base_bits + 5.0) / SPECIAL_BITS).ceil() as usize;
        let specials = rotation_special.max(product_special).max(descent_special);
        let special = primes_below(50, spec.n, specials, &taken)?;
        Ok(Self {
            top,
            special,
            lower,
            rotation_special,
            product_special,
            descent_special,
            affine_noise,
        })
    }

    pub(super) fn universe(&self) -> Vec<u64> {
        [&self.top[..], &self.special, &self.lower].concat()
    }

    pub(super) fn small_universe(&self) -> Vec<u64> {
        [
            &self.lower[..BASE_PRIMES],
            &self.special[..self.descent_special],
        ]
        .concat()
    }

    fn lower_from(&self) -> usize {
        self.top.len() + self.special.len()
    }

    pub(super) fn chain(&self) -> Chain {
        let from = self.lower_from();
        let lower = (BASE_PRIMES..=self.lower.len())
            .rev()
            .map(|end| Basis::new(from..from + end));
        Chain::new(
            [Basis::new(0..self.top.len())]
                .into_iter()
                .chain(lower)
                .collect(),
        )
    }

    fn special(&self, count: usize) -> Basis {
        Basis::new(self.top.len()..self.top.len() + count)
    }

    pub(super) fn descent_special(&self) -> Basis {
        self.special(self.descent_special)
    }

    pub(super) fn rotation_shape(&self, spec: &ParamsSpec) -> KeyShape {
        let top = Basis::new(0..self.top.len());
        KeyShape::new(
            &top,
            spec.rotation_digits,
            &self.special(self.rotation_special),
        )
    }

    pub(super) fn product_shape(&self, spec: &ParamsSpec) -> KeyShape {
        let from = self.lower_from();
        // The digit of the primes that are dropped first comes first.
        let all = Basis::new((from..from + self.lower.len()).rev());
        KeyShape::new(
            &all,
            spec.product_digits,
            &self.special(self.product_special),
        )
    }
}

/// Special primes of relinearisation. A product is rescaled at once, so that its own noise hides
/// that of a gadget larger than P: by 20 bits always, by 32 in the one product that still meets
/// the whole first digit.
fn product_special(spec: &ParamsSpec, lower: &[u64]) -> usize {
    let size = lower.len().div_ceil(spec.product_digits);
    let bits = |primes: &[u64]| primes.iter().map(|&q| (q as f64).log2()).sum::<f64>();
    let mut needed = 0f64;
    for (digit, primes) in lower.rchunks(size).enumerate() {
        needed = needed.max(bits(primes) - if digit == 0 { 32.0 } else { 20.0 });
    }
    (needed / SPECIAL_BITS).ceil() as usize
}

/// The least quadratic non-residue modulo p: the norm's constant.
pub(super) fn non_residue(p: &Modulus) -> u64 {
    (2..)
        .find(|&x| p.pow(x, (p.value() - 1) / 2) != 1)
        .expect("half of all residues are none")
}

/// Noise of `g1^2 - nu g2^2` over that of one square, in bits.
fn norm_growth_bits(p: u64) -> f64 {
    let nu = non_residue(&Modulus::new(p).expect("checked prime")) as f64;
    (1.0 + nu * nu).log2() / 2.0
}

/// Noise after the affine transform, with plaintexts of random slots: each of `clue.n` products
/// takes a fresh ciphertext turned up to `baby` times.
fn affine_noise(spec: &ParamsSpec, model: &NoiseModel) -> f64 {
    let turn = model.key_switch(spec.rotation_digits, 0.0, 0.0);
    let baby = noise::add(model.fresh(), noise::sum(turn, spec.baby / 2));
    noise::sum(model.times_plain(baby), spec.clue.n)
}

/// Clue bytes are chosen by strangers: an encoded diagonal reaches at most `n p / 2` at an
/// embedding, against the mean `p sqrt(n / 12)`. The noise it multiplies is unknown to them, so
/// the products still add as independent ones; 3 bits cover the tail of that sum.
fn adversary_margin(spec: &ParamsSpec) -> f64 {
    (3.0 * spec.n as f64).log2() / 2.0 + 3.0
}

/// Modulus of the last level: what compression needs, for the most merged batches.
fn compression_bits(spec: &ParamsSpec) -> f64 {
    let small = NoiseModel {
        n: spec.small_n,
        p: spec.p,
        weight: spec.small_n as f64 * 2.0 / 3.0,
    };
    let embed = (spec.small_n as f64).log2() / 2.0;
    let classes = spec.n / spec.small_n;
    // Noise of one coefficient: constants, payloads (largest norm, not the mean: senders choose
    // them), all automorphisms and classes, merged batches, packing.
    let start = noise::add(
        spec.noise_model().floor() - (spec.n as f64).log2() / 2.0,
        small.floor() - embed,
    );
    let constants = noise::sum(small.times_plain(start), classes);
    let worst_payload = 3f64.log2() / 2.0;
    let batches = (spec.p as usize - 1) / spec.n;
    let compressed = |width: usize| {
        let terms = width * classes * batches;
        let packing = (spec.small_n / width) as f64;
        noise::sum(small.times_plain(constants) + worst_payload, terms) + packing.log2()
    };
    let tail = 3.5;
    let sign = 1.0;
    compressed(16).max(compressed(64)) + tail + sign
}

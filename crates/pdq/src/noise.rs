//! The noise that the circuits add, as log2 of the root mean square over the embeddings (see
//! [`omr_rlwe::noise`]).

use crate::params::Spec;
use omr_compress::{Moduli, SumsNoise};
use omr_rlwe::noise;

/// Levels of expansion: a ciphertext of a query holds up to 2 to this constants.
pub(crate) const EXPANSION_LEVELS: usize = 7;

/// Largest radix of a digit, in bits.
pub(crate) const MAX_DIGIT_BITS: u32 = 8;

/// A constant after expansion: each level adds a ciphertext to its own image, and a key switch.
pub(crate) fn expanded(spec: &Spec) -> f64 {
    let model = spec.noise_model();
    // Special primes are about as large as a digit.
    let switch = model.key_switch(digits(spec), 0.0, 0.0);
    let one_level = |noise: f64| noise::add(noise::sum(noise, 2), switch);
    (0..EXPANSION_LEVELS).fold(model.fresh(), |noise, _| one_level(noise))
}

fn digits(spec: &Spec) -> usize {
    (spec.base_primes + spec.depth + 1).div_ceil(spec.digit_primes)
}

/// A selection, the sum of one product with a mask for each value of the widest digit, before its level is dropped.
pub(crate) fn selected(spec: &Spec) -> f64 {
    noise::sum(
        spec.noise_model().times_plain(expanded(spec)),
        1 << MAX_DIGIT_BITS,
    )
}

/// Returns the moduli of compression, for the most merged blocks and with room for flooding.
pub(crate) fn moduli(spec: &Spec) -> Moduli {
    let tail = 4.5;
    let sign = 1.0;
    let blocks = (spec.p as usize - 1) / spec.n;
    let margin = tail + sign + f64::from(spec.flooding_bits);
    let index = last(spec) - (spec.n as f64).log2() / 2.0;
    sums(spec).moduli(index, blocks, margin)
}

/// Returns the noise model of compression.
pub(crate) fn sums(spec: &Spec) -> SumsNoise {
    SumsNoise {
        small: spec.small_noise_model(),
        classes: spec.n / spec.small_n,
    }
}

/// The noisiest index that is let through: 2.8 bits above the floor.
pub(crate) fn last(spec: &Spec) -> f64 {
    spec.noise_model().floor() + 2.8
}

/// Returns the noise of one coefficient of a packed ciphertext of `width` exponents and `blocks` blocks. `start` is the
/// noise of the small ciphertexts that constants are multiplied with.
pub(crate) fn packed(spec: &Spec, start: f64, width: usize, blocks: usize) -> f64 {
    let (sums, moduli) = (sums(spec), moduli(spec));
    // That of the switch to the modulus of sums, as the switch back scales it.
    let rounding = sums.floor() + moduli.base_bits - moduli.sum_bits();
    noise::add(sums.constants(start), rounding) + sums.growth(width, blocks)
}

/// The share of the half step between sums that flooding may take, log2: 0.277. Rounding a body takes up to 0.281, and
/// the rest is 8.6 standard deviations of the last steps' noise.
const FLOODING_SHARE: f64 = -1.85;

/// Returns the bits of flooding noise that fit a modulus of `modulus` bits. The noise is uniform in `-2^bits..2^bits`,
/// times p.
///
/// Uniform noise has the least statistical distance from itself shifted, of all that stay within the same bounds.
pub(crate) fn flooding(spec: &Spec, modulus: f64) -> u32 {
    let half_step = modulus - (spec.p as f64).log2() - 1.0;
    (half_step + FLOODING_SHARE).floor() as u32
}

/// Returns the distance between a coefficient of noise `compressed` under `flooding` bits of flooding and flooding alone:
/// log2 of the mean statistical distance, `|e| / 2^(bits + 1)` for a normal e.
pub(crate) fn distance(spec: &Spec, flooding: u32, compressed: f64) -> f64 {
    let shift = compressed - (spec.p as f64).log2() + std::f64::consts::FRAC_2_PI.log2() / 2.0;
    shift - f64::from(flooding) - 1.0
}

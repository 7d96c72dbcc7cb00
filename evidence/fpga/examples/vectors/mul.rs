//! Test vectors of products `a b 2^(-17 words)` modulo every prime of the multiplier.

use crate::Outcome;
use crate::image::{Kind, Writer};
use chacha20::ChaCha20Rng;
use omr_papers::clear::{Params, Spec};
use omr_ring::primes_below;
use rand_core::{Rng, SeedableRng};
use std::path::Path;

/// The number of vectors for each prime.
const COUNT: usize = 20_000;

/// All primes are 1 modulo this number.
const STEP: u64 = 1 << 17;

/// Returns the primes of the large ring of SophOMR's affine transform.
pub(crate) fn sophomr_primes() -> Outcome<Vec<u64>> {
    let params = Params::named(Spec::SOPHOMR)?;
    let (ring, ids) = (&params.ring, params.ring.everything());
    let own = ids.ids().iter().map(|&id| ring.modulus(id).value());
    let mut primes: Vec<u64> = own.collect();
    primes.sort_unstable();
    // The smallest and the largest prime of this width.
    primes.extend(primes_below(50, STEP as usize / 2, 1, &primes)?);
    Ok(primes)
}

/// Returns 29 primes of 60 bits, as many as the published accelerator has: 19 of ciphertexts, 10 special.
pub(crate) fn paper_primes() -> Vec<u64> {
    let below = ((1 << 60) / STEP - 1) * STEP + 1;
    (0..)
        .map(|i| below - i * STEP)
        .filter(|&q| is_prime(q))
        .take(29)
        .collect()
}

/// Returns whether q, below 2^62, is prime, by the test of Miller and Rabin with the first twelve primes as
/// bases, which is exact below 2^64.
fn is_prime(q: u64) -> bool {
    let (s, d) = (
        (q - 1).trailing_zeros(),
        (q - 1) >> (q - 1).trailing_zeros(),
    );
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
        .iter()
        .all(|&base| {
            let mut x = power(base, d, q);
            let one = x == 1;
            (0..s).any(|_| {
                let minus_one = x == q - 1;
                x = product(x, x, q);
                minus_one
            }) || one
        })
}

fn product(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut result, mut square) = (1, base % q);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, square, q);
        }
        square = product(square, square, q);
        exponent >>= 1;
    }
    result
}

/// Writes the vectors of `primes`: corners, then random operands.
pub(crate) fn write(path: &Path, set: &str, width: u32, primes: &[u64]) -> Outcome<()> {
    let mut out = Writer::create(path, Kind::Products, set, width, 0)?;
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(width));
    out.word(primes.len() as u64)?;
    for &q in primes {
        let words = width.div_ceil(17);
        let two = power(2, u64::from(17 * words), q);
        let unit = power(two, q - 2, q);
        out.word(q)?;
        out.word(COUNT as u64)?;
        let corners = [
            0,
            1,
            2,
            (1 << 17) - 1,
            1 << 17,
            q / 2,
            q - (1 << 17),
            q - 2,
            q - 1,
        ];
        for i in 0..COUNT {
            let squared = corners.len() * corners.len();
            let [a, b] = if i < squared {
                [corners[i / corners.len()], corners[i % corners.len()]].map(|x| x % q)
            } else {
                [rng.next_u64() % q, rng.next_u64() % q]
            };
            for x in [a, b, product(product(a, b, q), unit, q)] {
                out.word(x)?;
            }
        }
    }
    out.finish()
}

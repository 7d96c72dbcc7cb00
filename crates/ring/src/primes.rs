//! The search for primes that suit a ring.

use crate::RingError;
use omr_kernels::is_prime;

/// The `count` largest primes below `2^bits` that are 1 modulo `2n` and not in `taken`.
///
/// Errors: `TooFewPrimes` if they would fall below `2^(bits-1)`.
pub fn primes_below(
    bits: u32,
    n: usize,
    count: usize,
    taken: &[u64],
) -> Result<Vec<u64>, RingError> {
    let step = 2 * n as u64;
    let mut candidate = ((1u64 << bits) - 2) / step * step + 1;
    let mut found = Vec::with_capacity(count);
    while found.len() < count && candidate > 1 << (bits - 1) {
        if is_prime(candidate) && !taken.contains(&candidate) {
            found.push(candidate);
        }
        candidate -= step;
    }
    enough(found, count, bits, step)
}

/// `count` primes that are 1 modulo `2n`, nearest to `2^log2` from above, not in `taken`.
///
/// Errors: `TooFewPrimes` if they would pass `2^(log2 + 2)` or 2^50.
pub fn primes_near(
    log2: f64,
    n: usize,
    count: usize,
    taken: &[u64],
) -> Result<Vec<u64>, RingError> {
    let step = 2 * n as u64;
    let start = log2.exp2();
    let limit = (4.0 * start).min(50f64.exp2()) as u64;
    let mut candidate = start as u64 / step * step + 1;
    let mut found = Vec::with_capacity(count);
    while found.len() < count && candidate < limit {
        if candidate as f64 >= start && is_prime(candidate) && !taken.contains(&candidate) {
            found.push(candidate);
        }
        candidate += step;
    }
    enough(found, count, log2 as u32, step)
}

fn enough(found: Vec<u64>, expected: usize, bits: u32, step: u64) -> Result<Vec<u64>, RingError> {
    if found.len() < expected {
        return Err(RingError::TooFewPrimes {
            expected,
            found: found.len(),
            bits,
            step,
        });
    }
    Ok(found)
}

//! Samplers: uniform residues, centred binomial errors, ternary and fixed-weight secrets.

#[cfg(not(target_family = "wasm"))]
use crate::parallel::ParallelIterator;
use crate::{Basis, Eval, Modulus, Poly, Ring, RowStream, Xof};
use rand_core::{CryptoRng, Rng};
use zeroize::Zeroize;

/// Fills `out` with uniform residues by rejection. Time: variable, for public values.
pub fn uniform_residues(rng: &mut impl Rng, m: &Modulus, out: &mut [u64]) {
    let mut buffer = [0u8; 4096];
    let mut made = 0;
    while made < out.len() {
        rng.fill_bytes(&mut buffer);
        made += keep_residues(&buffer, m, &mut out[made..]);
    }
}

/// Writes the words of `bytes`, cut to the modulus's bits, that are residues, until `out` is full; gives how many. What
/// is behind them in `out` is of any content.
fn keep_residues(bytes: &[u8], m: &Modulus, out: &mut [u64]) -> usize {
    let mask = u64::MAX >> (64 - m.bits());
    let mut made = 0;
    for word in bytes.as_chunks::<8>().0 {
        let Some(place) = out.get_mut(made) else {
            break;
        };
        // A rejected word is written over: a branch would be guessed wrong where many are.
        *place = u64::from_le_bytes(*word) & mask;
        made += usize::from(*place < m.value());
    }
    made
}

/// A uniform polynomial in the evaluation domain, one stream for each prime: any subset of the
/// primes can be made alone. It lies where the polynomials of `ring` do.
pub fn uniform_poly(
    ring: &Ring,
    basis: &Basis,
    domain: &str,
    seed: &[u8; 32],
    index: &[u64],
) -> Poly<Eval> {
    let mut out = Poly::lasting(ring, basis);
    if let Some(backend) = ring.backend() {
        let rows = basis.ids().iter().map(|&prime| RowStream {
            prime,
            key: Xof::key(domain, seed, &path(index, ring.modulus(prime))),
            to: out.at(prime),
        });
        backend.draw(&rows.collect::<Vec<_>>());
        return out;
    }
    out.par_rows_mut()
        .for_each(|(id, row)| uniform_row(ring.modulus(id), domain, seed, index, row));
    out
}

/// The row of [`uniform_poly`] modulo one prime.
pub fn uniform_row(m: &Modulus, domain: &str, seed: &[u8; 32], index: &[u64], row: &mut [u64]) {
    uniform_residues(&mut Xof::stream(domain, seed, &path(index, m)), m, row);
}

/// The index of the stream of a row.
fn path(index: &[u64], m: &Modulus) -> Vec<u64> {
    [index, &[m.value()]].concat()
}

/// `n` coefficients of the centred binomial distribution with 21 coin pairs: standard deviation
/// `sqrt(21/2)` = 3.24. Time: constant.
pub fn centered_binomial(rng: &mut impl CryptoRng, n: usize) -> Vec<i64> {
    const COINS: u64 = (1 << 21) - 1;
    (0..n)
        .map(|_| {
            let word = rng.next_u64();
            let (a, b) = (word & COINS, word >> 32 & COINS);
            i64::from(a.count_ones()) - i64::from(b.count_ones())
        })
        .collect()
}

/// `n` coefficients uniform in {-1, 0, 1}. Time: constant. The bias is below 2^-61.
pub fn uniform_ternary(rng: &mut impl CryptoRng, n: usize) -> Vec<i64> {
    (0..n)
        .map(|_| ((u128::from(rng.next_u64()) * 3) >> 64) as i64 - 1)
        .collect()
}

/// `n` coefficients (a power of two) with exactly `weight` of them +1 or -1, uniform among all
/// such vectors: random keys are sorted by a fixed network. Time: constant.
///
/// Panics: when `weight > n` or `n` is no power of two.
pub fn fixed_weight(rng: &mut impl CryptoRng, n: usize, weight: usize) -> Vec<i64> {
    assert!(
        weight <= n && n.is_power_of_two(),
        "weight fits a power-of-two dimension"
    );
    let mut keys: Vec<u64> = (0..n)
        .map(|i| rng.next_u64() & !1 | u64::from(i < weight))
        .collect();
    sort_network(&mut keys);
    let coeffs = keys
        .iter()
        .map(|&key| {
            let (present, sign) = ((key & 1) as i64, (key >> 1 & 1) as i64);
            present * (1 - 2 * sign)
        })
        .collect();
    keys.zeroize();
    coeffs
}

/// Bitonic sort: the comparisons depend on the length alone.
fn sort_network(keys: &mut [u64]) {
    let n = keys.len();
    let mut size = 2;
    while size <= n {
        let mut distance = size / 2;
        while distance > 0 {
            for (block, pair) in keys.chunks_mut(2 * distance).enumerate() {
                let ascending = (block * 2 * distance) & size == 0;
                let (low, high) = pair.split_at_mut(distance);
                for (a, b) in low.iter_mut().zip(high) {
                    let (min, max) = ((*a).min(*b), (*a).max(*b));
                    (*a, *b) = if ascending { (min, max) } else { (max, min) };
                }
            }
            distance /= 2;
        }
        size *= 2;
    }
}

//! Locks: in sets with two-sided privacy each row's symbols are masked by a key of its own, whose symbols stand beside
//! them.
//!
//! The sums of x^e times a symbol, e < bound, of more rows than the bound are linear equations in too few unknowns: any
//! bound many of the nodes' columns are independent (Vandermonde), so each row's key alone is uniform given the
//! equations of all keys. Its mask, a hash of the key, is then uniform to anyone who did not guess the key (random oracle),
//! and with it the sums of masked symbols. So an answer that overflows reveals no values, not even their sums.

use omr_ring::{Modulus, Xof};
use rand_core::Rng;

/// Symbols of a row's key: log2 p of 20.17 bits each, 141 in all.
pub(crate) const LOCK_SYMBOLS: usize = 7;

/// The key of the row at a position. `seed`: the server's, for one answer.
pub(crate) fn key(seed: &[u8; 32], position: u64, p: &Modulus) -> [u32; LOCK_SYMBOLS] {
    let mut key = [0; LOCK_SYMBOLS];
    residues("omr pdq row key v1", seed, position, p, &mut key);
    key
}

/// Masks a row's symbols.
pub(crate) fn lock(key: &[u32], position: u64, p: &Modulus, symbols: &mut [u32]) {
    let add = |x, mask| p.add(x, mask);
    apply(key, position, p, symbols, add);
}

/// Takes the mask off.
pub(crate) fn unlock(key: &[u32], position: u64, p: &Modulus, symbols: &mut [u32]) {
    let sub = |x, mask| p.sub(x, mask);
    apply(key, position, p, symbols, sub);
}

fn apply(
    key: &[u32],
    position: u64,
    p: &Modulus,
    symbols: &mut [u32],
    with: impl Fn(u64, u64) -> u64,
) {
    let mut seed = [0; 32];
    for (bytes, symbol) in seed.chunks_mut(4).zip(key) {
        bytes.copy_from_slice(&symbol.to_le_bytes());
    }
    let mut mask = vec![0; symbols.len()];
    residues("omr pdq row mask v1", &seed, position, p, &mut mask);
    for (symbol, mask) in symbols.iter_mut().zip(mask) {
        *symbol = with((*symbol).into(), mask.into()) as u32;
    }
}

/// Uniform residues, by rejection.
fn residues(domain: &str, seed: &[u8; 32], position: u64, p: &Modulus, out: &mut [u32]) {
    let mut stream = Xof::stream(domain, seed, &[position]);
    let unused = 32 - p.bits();
    for x in out {
        *x = loop {
            let candidate = stream.next_u32() >> unused;
            if u64::from(candidate) < p.value() {
                break candidate;
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_and_the_place_unlock() {
        let p = Modulus::new(1_179_649).unwrap();
        let plain: Vec<u32> = (0..40).map(|i| i * 29_489).collect();
        let mine = key(&[1; 32], 5, &p);
        let mut locked = plain.clone();
        lock(&mine, 5, &p, &mut locked);
        assert!(locked.iter().all(|&x| u64::from(x) < p.value()));
        let opened = |key: &[u32], place| {
            let mut out = locked.clone();
            unlock(key, place, &p, &mut out);
            out
        };
        assert_eq!(opened(&mine, 5), plain);
        let mut other = mine;
        other[LOCK_SYMBOLS - 1] ^= 1;
        for wrong in [opened(&other, 5), opened(&mine, 6), locked.clone()] {
            let equal = wrong.iter().zip(&plain).filter(|(a, b)| a == b).count();
            assert!(equal < 3, "{equal} of 40");
        }
    }

    /// Mean and mean square of uniform residues, to 4.5 deviations; all keys differ.
    #[test]
    fn keys_are_uniform() {
        let p = Modulus::new(1_179_649).unwrap();
        let keys: Vec<_> = (0..4_000).map(|place| key(&[2; 32], place, &p)).collect();
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        let unit = |&x: &u32| f64::from(x) / p.value() as f64;
        let values: Vec<f64> = keys.iter().flatten().map(unit).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|x| x * x).sum::<f64>() / count;
        assert!(
            (mean - 0.5).abs() < 4.5 * (1.0 / 12.0 / count).sqrt(),
            "{mean}"
        );
        // The fourth moment is 1/5.
        let deviation = ((1.0 / 5.0 - 1.0 / 9.0) / count).sqrt();
        assert!((square - 1.0 / 3.0).abs() < 4.5 * deviation, "{square}");
    }
}

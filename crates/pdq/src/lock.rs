//! Locks: in sets with two-sided privacy each row's symbols are masked by a key of its own, whose symbols stand beside
//! them.
//!
//! The sums of x^e times a symbol, e < bound, of more rows than the bound are linear equations in too few unknowns: any
//! bound many of the nodes' columns are independent (Vandermonde), so each row's key alone is uniform given the
//! equations of all keys. Its mask, a hash of the key, is then uniform to whoever did not guess the key (random oracle),
//! and with it the sums of what is masked. So an answer that overflows tells no values, not even their sums.

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

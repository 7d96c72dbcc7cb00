//! Expansion of one ciphertext to its first coefficients, judged by decryption.
mod common;

use common::{Insecure, P, Shape};
use omr_bgv::*;
use omr_rlwe::Rlwe;
use rand_core::Rng;

const N: usize = 64;
const LEVELS: usize = 5;

/// Returns a scheme of two primes and one special prime, and the keys of all levels of expansion.
fn scheme() -> (Insecure, Vec<GaloisKey>) {
    let shape = Shape {
        n: N,
        weight: 16,
        bound: 20.0,
        drops: vec![],
        base: (36.0, 2),
        special: 1,
    };
    let mut t = Insecure::new(&shape, 30);
    let keys = (0..LEVELS).map(|i| t.galois((N >> i) + 1, 1)).collect();
    (t, keys)
}

/// Encrypts a polynomial.
fn encrypt(t: &mut Insecure, coeffs: &[u64]) -> Rlwe {
    let slots = t.plain.decode(coeffs.to_vec());
    t.encrypt_slots(&slots).into_pair()
}

/// Decrypts a polynomial.
fn open(t: &Insecure, pair: &Rlwe) -> Vec<u32> {
    t.plain
        .encode(&t.open(&Ciphertext::new(pair.clone(), 0, 1)))
}

#[test]
fn every_count_of_first_constants() {
    let (mut t, keys) = scheme();
    for count in 1..=1_usize << LEVELS {
        let stride = count.next_power_of_two();
        let mut coeffs = vec![0; N];
        for (number, coeff) in coeffs.iter_mut().enumerate() {
            if number % stride < count {
                *coeff = u64::from(t.rng.next_u32()) % P;
            }
        }
        let ct = encrypt(&mut t, &coeffs);
        let expander = Expander::new(&t.ring, ct.basis(), t.plain.p(), keys.iter().collect());
        let constants = expander.first_constants(ct, count);
        assert_eq!(constants.len(), count);
        for (j, constant) in constants.iter().enumerate() {
            let mut expected = vec![0; N];
            for at in (0..N).step_by(stride) {
                expected[at] = ((coeffs[at + j] << doublings(j, count)) % P) as u32;
            }
            assert_eq!(open(&t, constant), expected, "constant {j} of {count}");
        }
    }
}

/// A binary tree of `count` leaves, whose depths are their doublings, has `count - 1` inner nodes: the switches.
#[test]
fn doublings_are_the_depths_of_a_tree() {
    for count in 1..300 {
        let depths = (0..count).map(|leaf| doublings(leaf, count));
        let parts: u32 = depths.map(|depth| 1 << (16 - depth)).sum();
        assert_eq!(parts, 1 << 16, "{count} leaves");
    }
}

//! Sums end to end: keys, vectors, digests and their decryption, against sums in the clear.

mod world;

use omr_compress::{PackedError, SumsShape};
use omr_errors::Mismatch;
use world::{InsecureWorld, P};

const SMALL: usize = 128;

/// Each slot's place: any permutation does.
fn places() -> Vec<u32> {
    (0..512).map(|slot| (slot * 37 + 5) % 512).collect()
}

fn identity() -> Vec<u32> {
    (0..512).collect()
}

/// Draws vectors and symbols of a number of batches, all random modulo p: sums are linear, sparse or not.
fn random(
    world: &mut InsecureWorld,
    shape: SumsShape,
    batches: usize,
) -> (Vec<Vec<u32>>, Vec<Vec<Vec<u32>>>) {
    let vectors = (0..batches).map(|_| world.values()).collect();
    let mut symbols = || (0..shape.symbols()).map(|_| world.values()).collect();
    let symbols = (0..batches).map(|_| symbols()).collect();
    (vectors, symbols)
}

/// Compresses random vectors with random symbols in the clear.
fn exact(limbs: usize, bits: u32, shape: SumsShape, batches: usize) {
    let mut world = InsecureWorld::new(limbs, bits, shape.width());
    let (vectors, symbols) = random(&mut world, shape, batches);
    let encrypted: Vec<_> = (0..)
        .zip(&vectors)
        .map(|(i, v)| world.encrypt(v, i))
        .collect();
    let digest = world.digest(shape, &encrypted, &symbols, &places());
    let found = world.phases().sums(shape, &digest).unwrap();
    assert_eq!(found, world.expected(shape, &vectors, &symbols, &places()));
}

#[test]
fn one_batch_under_two_primes() {
    exact(2, 47, SumsShape::new(SMALL, 20, 6).unwrap(), 1);
}

#[test]
fn two_batches_under_two_primes() {
    exact(2, 47, SumsShape::new(SMALL, 16, 8).unwrap(), 2);
}

#[test]
fn one_batch_under_three_primes() {
    exact(3, 40, SumsShape::new(SMALL, 5, 11).unwrap(), 1);
}

#[test]
fn two_batches_and_two_rounds_under_three_primes() {
    let shape = SumsShape::new(SMALL, 70, 3).unwrap();
    assert_eq!((shape.rounds(), shape.ciphertexts()), (2, 2));
    exact(3, 40, shape, 2);
}

#[test]
fn an_index_vector_counts_itself() {
    let shape = SumsShape::new(SMALL, 16, 2).unwrap();
    let mut world = InsecureWorld::new(2, 47, shape.width());
    let mut vector = vec![0; 512];
    for slot in [0, 3, 300, 511] {
        vector[slot] = 1;
    }
    let encrypted = world.encrypt(&vector, 0);
    let symbols = [vec![vec![1; 512], world.values()]];
    let digest = world.digest(shape, &[encrypted], &symbols, &identity());
    let sums = world.phases().sums(shape, &digest).unwrap();
    assert_eq!(sums[0][0], 4);
    let support = omr_codec::find_support(world.setting().nodes, &sums[0], 15).unwrap();
    let slots: Vec<usize> = support.iter().map(|found| found.slot).collect();
    assert_eq!(slots, [0, 3, 300, 511]);
    let sum: u64 = slots
        .iter()
        .map(|&slot| u64::from(symbols[0][1][slot]))
        .sum();
    assert_eq!(u64::from(sums[1][0]), sum % P);
}

#[test]
fn encrypted_symbols() {
    for (limbs, bits) in [(2, 47), (3, 40)] {
        let shape = SumsShape::new(SMALL, 16, 9).unwrap();
        let mut world = InsecureWorld::new(limbs, bits, shape.width());
        let (vectors, symbols) = random(&mut world, shape, 2);
        let product = |a: u32, b: u32| (u64::from(a) * u64::from(b) % P) as u32;
        let mut number = 0;
        let mut encrypted = |vector: &[u32], symbol: &[u32]| {
            let each = vector.iter().zip(symbol);
            let slots: Vec<u32> = each.map(|(&v, &x)| product(v, x)).collect();
            number += 1;
            world.encrypt(&slots, number)
        };
        let products: Vec<Vec<_>> = vectors
            .iter()
            .zip(&symbols)
            .map(|(vector, symbols)| symbols.iter().map(|x| encrypted(vector, x)).collect())
            .collect();
        let expected = world.expected(shape, &vectors, &symbols, &identity());
        for digest in [
            world.digest_of_encrypted(shape, &products),
            world.digest_of_encrypted_codes(shape, &products),
        ] {
            let found = world.phases().sums(shape, &digest).unwrap();
            assert_eq!(found, expected, "{limbs} primes");
        }
    }
}

#[test]
fn digests_of_another_shape_are_refused() {
    let shape = SumsShape::new(SMALL, 16, 9).unwrap();
    let mut world = InsecureWorld::new(2, 47, shape.width());
    let (vectors, symbols) = random(&mut world, shape, 1);
    let encrypted = world.encrypt(&vectors[0], 0);
    let digest = world.digest(shape, &[encrypted], &symbols, &places());
    let phases = world.phases();
    let refused = |symbols, digest: &[_]| {
        let shape = SumsShape::new(SMALL, 16, symbols).unwrap();
        phases.sums(shape, digest).unwrap_err()
    };
    assert_eq!(
        refused(9, &[]),
        PackedError::Ciphertexts(Mismatch::new(1, 0))
    );
    assert_eq!(refused(8, &digest), PackedError::Parts(Mismatch::new(1, 2)));
    assert_eq!(
        refused(10, &digest),
        PackedError::Body(Mismatch::new(32, 16))
    );
    let mut short = digest.clone();
    short[0].mask.pop();
    assert_eq!(refused(9, &short), PackedError::Mask(Mismatch::new(32, 31)));
}

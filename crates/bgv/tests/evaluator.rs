//! Properties `dec(op(enc(x))) = op(x)` of the evaluator, at an insecure small dimension.
mod common;

use common::{Insecure, P, Shape};
use omr_bgv::*;
use omr_errors::Mismatch;
use omr_ring::*;
use omr_rlwe::*;

const N: usize = 1 << 10;

/// Returns a scheme whose levels drop primes of 36 bits, down to two of them.
fn scheme(levels: usize, seed: u64) -> Insecure {
    let shape = Shape {
        n: N,
        weight: 64,
        bound: 20.0,
        drops: vec![36.0; levels - 2],
        base: (36.0, 2),
        special: levels.div_ceil(2),
    };
    Insecure::new(&shape, seed)
}

fn zip(a: &[u32], b: &[u32], f: impl Fn(u64, u64) -> u64) -> Vec<u32> {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| (f(x.into(), y.into()) % P) as u32)
        .collect()
}

#[test]
fn linear_operations() {
    let mut t = scheme(4, 1);
    let (a, b) = (t.slots(), t.slots());
    let (x, y) = (t.encrypt_slots(&a), t.encrypt_slots(&b));
    assert_eq!(t.open(&x), a);
    let ev = t.ev();
    let mut sum = x.clone();
    ev.add_assign(&mut sum, &y).unwrap();
    assert_eq!(t.open(&sum), zip(&a, &b, |x, y| x + y));
    ev.sub_assign(&mut sum, &y).unwrap();
    ev.neg_assign(&mut sum);
    assert_eq!(t.open(&sum), zip(&a, &a, |x, _| P - x));
    let mut c = x.clone();
    ev.add_constant_assign(&mut c, P - 5);
    ev.mul_scalar_assign(&mut c, 786_000);
    assert_eq!(t.open(&c), zip(&a, &a, |x, _| (x + P - 5) * 786_000));
    ev.add_plain_assign(&mut c, &t.plain.encode(&b));
    assert_eq!(t.open(&c), zip(&a, &b, |x, y| (x + P - 5) * 786_000 + y));
    let mut d = x.clone();
    let encoded = t
        .ring
        .lift_plain(&t.plain.encode(&b), P as u32, t.chain.basis(0));
    ev.mul_plain_assign(&mut d, &encoded);
    ev.mul_plain_add(&mut d, &x, &encoded).unwrap();
    assert_eq!(t.open(&d), zip(&a, &b, |x, y| 2 * x * y));
    let low = ev.at_level(&d, 1).unwrap();
    assert_ne!(low.scale(), 1, "switching leaves a scale");
    assert_eq!(t.open(&low), zip(&a, &b, |x, y| 2 * x * y));
    let mixed = ev
        .linear_combination(&[(3, &low), (7, &ev.at_level(&y, 1).unwrap())], 11)
        .unwrap();
    assert_eq!(t.open(&mixed), zip(&a, &b, |x, y| 6 * (x * y % P) + 7 * y));
}

#[test]
fn products_for_every_digit_count() {
    for dnum in 2..=4 {
        let mut t = scheme(8, 10 + dnum as u64);
        let key = t.relin(dnum);
        let (a, b) = (t.slots(), t.slots());
        let (x, y) = (t.encrypt_slots(&a), t.encrypt_slots(&b));
        let ev = t.ev();
        let mut product = ev.mul(&x, &y, &key).unwrap();
        let mut expected = zip(&a, &b, |x, y| x * y);
        assert_eq!(t.open(&product), expected);
        for _ in 0..5 {
            product = ev.mul(&product, &product, &key).unwrap();
            expected = zip(&expected, &expected, |x, y| x * y);
            assert_eq!(t.open(&product), expected);
        }
        assert!(matches!(
            ev.mul(&product, &product, &key),
            Err(EvalError::Exhausted(_))
        ));
    }
}

#[test]
fn one_digit_below_many_special_primes() {
    let mut t = scheme(8, 20);
    // At level 3 and below: four or five primes of 36 bits below four of 49.
    let low = t.chain.basis(3).clone();
    let shape = KeyShape::new(&low, 1, &t.special);
    let s = t.secret.poly(&t.ring, &shape.extended());
    let square = s.product(&t.ring, &s);
    let key = SwitchingKey::generate(
        &t.ring,
        &shape,
        &square,
        &s,
        P,
        MaskSeed::new(&[2; 32], 0),
        &mut t.rng,
    );
    let a = t.slots();
    let fresh = t.encrypt_slots(&a);
    let ev = t.ev();
    let x = ev.at_level(&fresh, 3).unwrap();
    let square = ev.mul(&x, &x, &key).unwrap();
    assert_eq!(t.open(&square), zip(&a, &a, |x, _| x * x));
}

#[test]
fn automorphisms_move_slots() {
    let mut t = scheme(6, 3);
    let a = t.slots();
    let x = t.encrypt_slots(&a);
    for steps in [1, 5, N / 2 - 1] {
        let key = t.galois(Automorphism::rotation(N, steps), 2);
        let turned = t.open(&t.ev().automorphism(&x, &key).unwrap());
        let expected: Vec<u32> = (0..N)
            .map(|i| a[i / (N / 2) * (N / 2) + (i + steps) % (N / 2)])
            .collect();
        assert_eq!(turned, expected);
    }
    let swap = t.galois(Automorphism::row_swap(N), 2);
    let swapped = t.open(&t.ev().automorphism(&x, &swap).unwrap());
    assert_eq!(swapped, [&a[N / 2..], &a[..N / 2]].concat());
}

#[test]
fn monomials_and_public_encryption() {
    let mut t = scheme(4, 4);
    let a = t.slots();
    let mut x = t.encrypt_slots(&a);
    t.ev().mul_monomial_assign(&mut x, N + 3);
    t.ev().mul_monomial_assign(&mut x, N - 3);
    assert_eq!(t.open(&x), a);
    let secret = t.secret.poly(&t.ring, t.chain.basis(0));
    let key = PublicKey::generate(
        &t.ring,
        P,
        &t.chain,
        0,
        &secret,
        MaskSeed::new(&[9; 32], 0),
        &mut t.rng,
    );
    let y = key.encrypt(&t.ring, &t.plain, 0, &a, &mut t.rng);
    assert_eq!(t.open(&y), a);
}

#[test]
fn range_polynomial_and_fermat_make_an_indicator() {
    let mut t = scheme(34, 5);
    let key = t.relin(2);
    let window = RangePolynomial::new(t.plain.p(), 38, 8);
    let mut a = t.slots();
    for (i, x) in a.iter_mut().enumerate().take(100) {
        *x = ((P as i64 + i as i64 - 50) % P as i64) as u32;
    }
    let x = t.encrypt_slots(&a);
    let expected: Vec<u32> = a
        .iter()
        .map(|&x| u32::from((39..=P as u32 - 39).contains(&x)))
        .collect();
    for chain in [t.chain.clone(), t.chain.clone().with_cuts()] {
        t.chain = chain;
        let ev = t.ev();
        let g = window.evaluate(&ev, &x, &key).unwrap();
        assert_eq!(g.level(), window.depth());
        let power = fermat_power(&ev, &g, &key, &mut || {}).unwrap();
        assert_eq!(power.level(), window.depth() + fermat_depth(P));
        assert_eq!(t.open(&power), expected);
    }
}

/// A cut keeps slots and scale and adds no noise; if nothing can be cut, a division yields equal slots.
#[test]
fn ciphertexts_at_the_floor_are_cut() {
    let mut t = scheme(6, 7);
    let x = t.floor();
    let slots = t.open(&x);
    let divided = t.ev().at_level_from_floor(&x, 3).unwrap();
    let expected = t.ev().at_level(&x, 3).unwrap();
    let words = |ct: &Ciphertext| ct.parts().iter().map(Poly::to_words).collect::<Vec<_>>();
    assert_eq!(words(&divided), words(&expected));
    let factor = t.ev().level_factor(1, 3);
    assert_eq!(divided.scale(), t.plain.p().mul(x.scale(), factor));

    t.chain = t.chain.clone().with_cuts();
    for level in 1..t.chain.len() {
        let cut = t.ev().at_level_from_floor(&x, level).unwrap();
        assert_eq!((cut.level(), cut.scale()), (level, x.scale()));
        assert_eq!(cut.parts()[0].basis(), t.chain.basis(level));
        assert_eq!(t.open(&cut), slots);
        assert_eq!(t.noise(&cut), t.noise(&x));
    }
    assert!(t.ev().at_level_from_floor(&x, 0).is_err());
    assert!(t.ev().at_level_from_floor(&x, t.chain.len()).is_err());

    // Reaching a prime that the ciphertext lacks needs a division.
    let last = t.chain.len() - 1;
    let levels = (0..last).map(|level| t.chain.basis(level).clone());
    let other = Basis::new([0, 4]);
    t.chain = Chain::new(levels.chain([other.clone()]).collect()).with_cuts();
    let x = t.ev().at_level_from_floor(&x, 2).unwrap();
    assert!(!t.chain.basis(2).contains(4));
    let found = t.ev().at_level_from_floor(&x, last).unwrap();
    assert_eq!(found.parts()[0].basis(), &other);
    assert_eq!(t.open(&found), slots);
}

#[test]
fn range_polynomials_of_every_shape() {
    let mut t = scheme(20, 6);
    let key = t.relin(2);
    // One block, one pair, pairs with and without a block above, many pairs.
    for (r, block) in [
        (2, 8),
        (10, 8),
        (20, 8),
        (30, 8),
        (38, 8),
        // The highest block has one more power, then the first term as well.
        (39, 8),
        (40, 8),
        (8, 8),
        (15, 2),
        (16, 2),
        (5, 1),
    ] {
        let window = RangePolynomial::new(t.plain.p(), r, block);
        let a = t.slots();
        let x = t.encrypt_slots(&a);
        let p = t.plain.p();
        let value = |&x: &u32| {
            let y = p.mul(u64::from(x), u64::from(x));
            let terms = window.coefficients().iter().rev();
            terms.fold(0, |sum, &c| p.add(p.mul(sum, y), c)) as u32
        };
        let expected: Vec<u32> = a.iter().map(value).collect();
        for chain in [t.chain.clone(), t.chain.clone().with_cuts()] {
            let ev = Evaluator {
                chain: &chain,
                ..t.ev()
            };
            let g = window.evaluate(&ev, &x, &key).unwrap();
            assert_eq!(g.level(), window.depth(), "{r} {block}");
            assert_eq!(t.open(&g), expected, "{r} {block}");
        }
    }
}

#[test]
fn mismatched_operands_are_refused() {
    let mut t = scheme(4, 6);
    let a = t.slots();
    let x = t.encrypt_slots(&a);
    let ev = t.ev();
    let low = ev.at_level(&x, 1).unwrap();
    let mut y = x.clone();
    assert_eq!(
        ev.add_assign(&mut y, &low),
        Err(EvalError::Level(Mismatch::new(0, 1)))
    );
    assert!(ev.at_level(&low, 0).is_err());
    assert!(matches!(
        ev.linear_combination(&[], 1),
        Err(EvalError::Parts(_))
    ));
}

//! The scalar back end and `Modulus` against definitions, in wide integers.

mod common;

use common::{Rng, moduli, prime_below, tables};
use omr_kernels::{KernelError, Kernels, Modulus, NttTable, is_prime};
use proptest::prelude::*;

fn wide_mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// `a(x)` by Horner.
fn evaluate(a: &[u64], x: u64, q: u64) -> u64 {
    a.iter()
        .rev()
        .fold(0, |acc, &c| (wide_mul(acc, x, q) + c) % q)
}

#[test]
fn forward_transform_evaluates_at_odd_powers() {
    let mut rng = Rng::new(11);
    let k = Kernels::scalar();
    for log_n in 1..=7 {
        let n = 1usize << log_n;
        for t in [20, 36, 50].into_iter().flat_map(|bits| tables(bits, n)) {
            let m = t.modulus();
            let a = rng.row(n, m.value());
            let mut out = a.clone();
            k.ntt_forward(&t, &mut out);
            for (j, &value) in out.iter().enumerate() {
                let reversed = (j.reverse_bits() >> (usize::BITS - log_n)) as u64;
                let point = m.pow(t.psi(), 2 * reversed + 1);
                assert_eq!(value, evaluate(&a, point, m.value()), "n = {n}, j = {j}");
            }
            k.ntt_inverse(&t, &mut out);
            assert_eq!(out, a, "n = {n}");
        }
    }
}

#[test]
fn pointwise_product_is_the_negacyclic_product() {
    let (n, k, mut rng) = (32, Kernels::scalar(), Rng::new(12));
    for t in tables(50, n) {
        let q = t.modulus().value();
        let (mut a, mut b) = (rng.row(n, q), rng.row(n, q));
        let mut expected = vec![0; n];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let product = wide_mul(x, y, q);
                let term = if i + j < n { product } else { q - product };
                expected[(i + j) % n] = (expected[(i + j) % n] + term) % q;
            }
        }
        k.ntt_forward(&t, &mut a);
        k.ntt_forward(&t, &mut b);
        k.mul_assign(t.modulus(), &mut a, &b);
        k.ntt_inverse(&t, &mut a);
        assert_eq!(a, expected);
    }
}

#[test]
fn psi_is_the_first_primitive_root() {
    for t in [20, 50].into_iter().flat_map(|bits| tables(bits, 256)) {
        let (m, n) = (t.modulus(), 256);
        let minus_one = m.value() - 1;
        let first = (2..)
            .map(|x| m.pow(x, minus_one / (2 * n)))
            .find(|&r| m.pow(r, n) == minus_one);
        assert_eq!(Some(t.psi()), first);
    }
}

#[test]
fn long_sums() {
    let (n, terms, mut rng) = (40, 300, Rng::new(13));
    for m in moduli() {
        let q = m.value();
        let a: Vec<_> = (0..terms).map(|_| rng.row(n, q)).collect();
        let a: Vec<_> = a.iter().map(Vec::as_slice).collect();
        let src: Vec<_> = (0..256).map(|_| rng.row(n, 1 << 50)).collect();
        let src: Vec<_> = src.iter().map(Vec::as_slice).collect();
        let coef = rng.row(256, q);
        let (mut dot, mut converted) = (vec![0; n], vec![0; n]);
        Kernels::scalar().dot(&m, &mut dot, &a, &a);
        Kernels::scalar().convert(&m, &mut converted, &src, &coef);
        for x in 0..n {
            let sum: u128 = a.iter().map(|row| u128::from(row[x]).pow(2)).sum();
            assert_eq!(u128::from(dot[x]), sum % u128::from(q));
            let terms = src
                .iter()
                .zip(&coef)
                .map(|(row, &c)| u128::from(row[x]) * u128::from(c));
            assert_eq!(
                u128::from(converted[x]),
                terms.sum::<u128>() % u128::from(q)
            );
        }
    }
}

#[test]
fn lifts_and_quotients_by_hand() {
    let (m, k) = (Modulus::new(17).expect("prime"), Kernels::scalar());
    let mut out = [0; 8];
    k.lift_centered(&m, &mut out, &[0, 1, 2, 3, 4, 5, 6, 7], 8);
    assert_eq!(out, [0, 1, 2, 3, 4, 14, 15, 16]); // 4 = 8 / 2 stays
    k.lift_centered(&m, &mut out[..3], &[50, 51, 100], 101);
    assert_eq!(out[..3], [50 % 17, 17 - 50 % 17, 16]);
    k.quotient(&mut out[..2], &[&[3, 10], &[1, 5]], &[0.25, 0.5]);
    assert_eq!(out[..2], [1, 5]); // floor(0.5 + 1.25), floor(0.5 + 5)
}

#[test]
fn refusals() {
    let too_large = KernelError::ModulusTooLarge {
        found: 1 << 50,
        max_bits: 50,
    };
    assert_eq!(Modulus::new(1 << 50), Err(too_large));
    for found in [0, 1, 2, 4, 9, 561, 3_215_031_751] {
        assert_eq!(
            Modulus::new(found),
            Err(KernelError::NotAnOddPrime { found })
        );
    }
    let m = prime_below(36, 64).expect("prime");
    for n in [0, 1, 3, 48, 1 << 18] {
        let found = NttTable::new(m, n).map(|t| t.n());
        let expected = KernelError::TransformSize {
            found: n,
            min: 2,
            max: 1 << 17,
        };
        assert_eq!(found, Err(expected));
    }
    let m = Modulus::new(97).expect("prime"); // 96 = 32 x 3
    assert!(NttTable::new(m, 16).is_ok());
    let expected = KernelError::NoRootOfUnity {
        modulus: 97,
        order: 64,
    };
    assert_eq!(NttTable::new(m, 32).map(|t| t.n()), Err(expected));
}

#[test]
#[should_panic(expected = "zero has no inverse")]
fn zero_has_no_inverse() {
    Modulus::new(97).expect("prime").inv(97);
}

#[test]
fn primes_are_told_from_pseudoprimes() {
    let primes: Vec<_> = (0..60).filter(|&n| is_prime(n)).collect();
    assert_eq!(
        primes,
        [
            2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59
        ]
    );
    // Strong pseudoprimes to the first 4, 8 and 11 prime bases, and the largest 64-bit prime.
    let fooling = [
        3_215_031_751,
        341_550_071_728_321,
        3_825_123_056_546_413_051,
    ];
    assert!(fooling.iter().all(|&n| !is_prime(n)));
    assert!(is_prime(u64::MAX - 58));
}

proptest! {
    #[test]
    fn modulus_arithmetic(which in 0usize..15, a: u64, b: u64, wide: u128, signed: i64, e: u16) {
        let all = moduli();
        let m = all[which % all.len()];
        let q = m.value();
        prop_assert_eq!(m.reduce(a), a % q);
        prop_assert_eq!(m.reduce_u128(wide), (wide % u128::from(q)) as u64);
        prop_assert_eq!(i128::from(m.from_i64(signed)), i128::from(signed).rem_euclid(q.into()));
        let (a, b) = (a % q, b % q);
        prop_assert_eq!(m.add(a, b), (a + b) % q);
        prop_assert_eq!(m.sub(a, b), (a + q - b) % q);
        prop_assert_eq!(m.neg(a), (q - a) % q);
        prop_assert_eq!(m.mul(a, b), wide_mul(a, b, q));
        prop_assert_eq!(m.pow(a, e.into()), (0..e).fold(1, |r, _| wide_mul(r, a, q)));
        if a != 0 {
            prop_assert_eq!(m.mul(a, m.inv(a)), 1);
        }
        prop_assert_eq!(m.from_i64(m.to_centered(a)), a);
        prop_assert!(m.to_centered(a).unsigned_abs() <= q / 2);
    }
}

//! The scalar back end and `Modulus` against definitions, in wide integers.

mod common;

use common::{Rng, SHAPES, moduli, prime_below, tables};
use omr_kernels::{
    BlockPermutation, BlockRows, Gadget, KEY_ROWS, KernelError, Kernels, Modulus, Monomials,
    NttTable, SlidingRows, is_prime,
};
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
    for log_n in 1..=if cfg!(miri) { 3 } else { 7 } {
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
    let n = if cfg!(miri) { 8 } else { 32 };
    let (k, mut rng) = (Kernels::scalar(), Rng::new(12));
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
fn scaled_inverse_is_the_inverse_times_the_constant() {
    let n = if cfg!(miri) { 8 } else { 64 };
    let (k, mut rng) = (Kernels::scalar(), Rng::new(14));
    for t in [20, 47, 50].into_iter().flat_map(|bits| tables(bits, n)) {
        let q = t.modulus().value();
        for c in [0, 1, q - 1, rng.below(q)] {
            let a = rng.row(n, q);
            let (mut plain, mut scaled) = (a.clone(), a);
            k.ntt_inverse(&t, &mut plain);
            k.ntt_inverse_scaled(&t, &mut scaled, c);
            plain.iter_mut().for_each(|x| *x = wide_mul(*x, c, q));
            assert_eq!(scaled, plain);
        }
    }
}

#[test]
fn rescaling_with_a_term_added() {
    let (n, mut rng) = (40, Rng::new(15));
    for m in moduli() {
        let q = m.value();
        for top in [false, true] {
            let mut row = || if top { vec![q - 1; n] } else { rng.row(n, q) };
            let (a, b, d, constants) = (row(), row(), row(), row());
            let (c, e) = (constants[0], constants[1]);
            let mut out = a.clone();
            Kernels::scalar().sub_scale_add_assign(&m, &mut out, &b, c, &d, e);
            for x in 0..n {
                let difference = wide_mul(a[x] + q - b[x], c, q);
                assert_eq!(out[x], (difference + wide_mul(d[x], e, q)) % q);
            }
        }
    }
}

#[test]
fn sums_that_slide() {
    let (len, stride, every) = if cfg!(miri) { (2, 3, 6) } else { (11, 14, 1) };
    let mut rng = Rng::new(16);
    for m in moduli() {
        for (groups, shifts, parts) in SHAPES.into_iter().step_by(every) {
            for terms in [0, 1, 5, 16] {
                let q = m.value();
                let a = rng.row(groups * terms * stride, q);
                let b = rng.row((terms + shifts - 1) * parts * stride, q);
                let rows = SlidingRows {
                    a: &a,
                    b: &b,
                    stride,
                    len,
                    terms,
                    groups,
                    shifts,
                    parts,
                };
                let mut out = vec![vec![1; len]; groups * shifts * parts];
                let mut targets: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
                Kernels::scalar().sliding_dots(&m, &mut targets, &rows);
                for (i, x) in (0..out.len()).flat_map(|i| (0..len).map(move |x| (i, x))) {
                    let (g, s, r) = (i / (shifts * parts), i / parts % shifts, i % parts);
                    let terms = (0..terms).map(|j| {
                        let left = a[(g * terms + j) * stride + x];
                        let right = b[((j + s) * parts + r) * stride + x];
                        u128::from(left) * u128::from(right)
                    });
                    assert_eq!(u128::from(out[i][x]), terms.sum::<u128>() % u128::from(q));
                }
            }
        }
    }
}

#[test]
fn conversion_to_several_primes_is_one_by_one() {
    let (n, mut rng) = (19, Rng::new(17));
    let all = moduli();
    let src: Vec<_> = (0..13).map(|_| rng.row(n, 1 << 50)).collect();
    let src: Vec<_> = src.iter().map(Vec::as_slice).collect();
    let coef: Vec<_> = all.iter().map(|m| rng.row(13, m.value())).collect();
    let coef: Vec<_> = coef.iter().map(Vec::as_slice).collect();
    let mut out = vec![vec![1; n]; all.len()];
    let mut targets: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
    let moduli: Vec<_> = all.iter().collect();
    Kernels::scalar().convert_many(&moduli, &mut targets, &src, &coef);
    for ((out, coef), m) in out.iter().zip(coef).zip(moduli) {
        for x in 0..n {
            let terms = src.iter().zip(coef);
            let sum: u128 = terms.map(|(r, &c)| u128::from(r[x]) * u128::from(c)).sum();
            assert_eq!(u128::from(out[x]), sum % u128::from(m.value()));
        }
    }
}

#[test]
fn permutations_and_spreads_by_hand() {
    let k = Kernels::scalar();
    let src: Vec<u64> = (100..124).collect();
    // Third block backwards, first as it is, second with neighbours swapped.
    let index = [
        23, 22, 21, 20, 19, 18, 17, 16, 0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 13, 12, 15, 14,
    ];
    let permutation = BlockPermutation::new(&index).expect("blocks stay together");
    assert_eq!(permutation.len(), 24);
    let mut out = vec![0; 24];
    k.permute(&mut out, &src, &permutation);
    assert_eq!(out, index.map(|i| 100 + u64::from(i)));
    let mut out = [0; 9];
    k.spread(&mut out, 3, &[1, 2, 3, 4, 5], 2);
    assert_eq!(out, [1, 2, 0, 3, 4, 0, 5, 0, 0]);
}

#[test]
fn psi_is_the_first_primitive_root() {
    let n = if cfg!(miri) { 16 } else { 256 };
    for t in [20, 50]
        .into_iter()
        .flat_map(|bits| tables(bits, n as usize))
    {
        let m = t.modulus();
        let minus_one = m.value() - 1;
        let first = (2..)
            .map(|x| m.pow(x, minus_one / (2 * n)))
            .find(|&r| m.pow(r, n) == minus_one);
        assert_eq!(Some(t.psi()), first);
    }
}

#[test]
fn long_sums() {
    let n = if cfg!(miri) { 3 } else { 40 };
    let (terms, mut rng) = (300, Rng::new(13));
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
        assert_eq!(Modulus::new(found), Err(KernelError::NotAnOddPrime(found)));
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
    fn modulus_arithmetic(which in 0usize..21, a: u64, b: u64, wide: u128, signed: i64, e: u16) {
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

#[test]
fn monomials_are_transforms() {
    let sizes: &[usize] = if cfg!(miri) { &[8] } else { &[8, 16, 256] };
    for &n in sizes {
        for t in tables(50, n) {
            let (k, m) = (Kernels::scalar(), Monomials::new(&t));
            let q = t.modulus();
            for a in [0, 1, 2, 7, n - 1, n, n + 3, 2 * n - 1] {
                // X^a - 1, where X^n = -1.
                let mut expected = vec![0; n];
                expected[a % n] = if a < n { 1 } else { q.neg(1) };
                expected[0] = q.sub(expected[0], 1);
                k.ntt_forward(&t, &mut expected);
                // One digit, 1 in the body, and a key that is 1 there.
                let (one, zero) = (vec![1; n], vec![0; n]);
                let word = |i: usize| u64::from((i / 8).is_multiple_of(KEY_ROWS));
                let key: Vec<u64> = (0..n * KEY_ROWS).map(word).collect();
                let rows = BlockRows {
                    digits: &[[&one, &zero]],
                    key: &[&key],
                    exponents: &[a as u32],
                };
                let (mut body, mut mask) = (vec![7; n], vec![7; n]);
                k.block_product(&m, [&mut body, &mut mask], &rows);
                assert_eq!((body, mask), (expected, zero), "n = {n}, a = {a}");
            }
        }
    }
}

#[test]
fn digits_make_up_the_residue() {
    let mut rng = Rng::new(3);
    for (bits, digits) in [(7, 2), (16, 1), (16, 2), (7, 6)] {
        let (gadget, count) = (Gadget { bits, digits }, digits as usize);
        for m in moduli()
            .into_iter()
            .filter(|m| m.bits() > bits * digits + 2)
        {
            let row = [rng.row(100, m.value()), vec![0, m.value() - 1]].concat();
            let mut out = vec![vec![0; row.len()]; count];
            let mut out_rows: Vec<&mut [u64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
            Kernels::scalar().decompose(&m, gadget, &mut out_rows, &row);
            for (i, &x) in row.iter().enumerate() {
                let value = (0..digits).map(|d| {
                    let digit = m.to_centered(out[d as usize][i]) as f64;
                    assert!(
                        -digit <= f64::from(1 << (bits - 1)) && digit < f64::from(1 << (bits - 1))
                    );
                    digit / f64::from(bits * (d + 1)).exp2()
                });
                let off = value.sum::<f64>() - x as f64 / m.value() as f64;
                let bound = 0.5 * (-f64::from(bits * digits)).exp2() + 4.0 / m.value() as f64;
                assert!((off - off.round()).abs() <= bound, "{x} of {}", m.value());
            }
        }
    }
}

//! Basis conversions against plain integers, with numbers of primes around a sum's shorter reduction.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use rand_core::{Rng, SeedableRng};

const N: usize = 32;
const TARGETS: usize = 8;
const P: u64 = 786_433;

/// `sources` primes of 50 bits, the largest, then the targets, of several sizes.
fn ring(sources: usize) -> (Ring, Basis, Basis) {
    let mut primes = primes_below(50, N, sources, &[]).unwrap();
    for (i, bits) in [23, 30, 36, 46, 47, 48, 49, 50].into_iter().enumerate() {
        let more = primes_below(bits, N, 1, &primes).unwrap();
        assert_eq!(primes.len(), sources + i);
        primes.extend(more);
    }
    let ring = Ring::new(N, &primes).unwrap();
    let (from, to) = (0..sources, sources..sources + TARGETS);
    (ring, Basis::new(from), Basis::new(to))
}

/// Integers by their residues modulo any prime, given the product of the source primes modulo it.
type Integer = Box<dyn Fn(&Modulus, u64) -> u64>;

/// Small ones, and ones near the ends `-3 D / 8` and `3 D / 8` of what a conversion takes.
fn integers(rng: &mut ChaCha20Rng) -> Vec<Integer> {
    (0..N)
        .map(|i| -> Integer {
            let small = rng.next_u64() as i64 >> (i % 17);
            match i % 3 {
                0 => Box::new(move |m, _| m.from_i64(small)),
                end => Box::new(move |m, product| {
                    // (3 D - 3) / 8, an integer: all primes are 1 modulo 8.
                    let top = m.mul(m.sub(product, 1), m.mul(m.reduce(3), m.inv(m.reduce(8))));
                    let top = if end == 1 { top } else { m.neg(top) };
                    m.add(top, m.from_i64(small % 1000))
                }),
            }
        })
        .collect()
}

/// The residues of `integers`, times a factor.
fn row(
    ring: &Ring,
    from: &Basis,
    id: usize,
    integers: &[Integer],
    factor: impl Fn(&Modulus) -> u64,
) -> Vec<u64> {
    let m = ring.modulus(id);
    let product = ring.product_mod(from, m);
    let residues = integers.iter().map(|x| m.mul(x(m, product), factor(m)));
    residues.collect()
}

/// Converts `in_factor x` for each integer `x` and expects `out_factor x`.
fn check(
    ring: &Ring,
    from: &Basis,
    to: &Basis,
    conversion: &Conversion,
    integers: &[Integer],
    in_factor: impl Fn(&Modulus) -> u64,
    out_factor: impl Fn(&Modulus) -> u64,
) {
    let weighted = |&id: &usize| {
        let m = ring.modulus(id);
        let weight = conversion.weight(id);
        row(ring, from, id, integers, |_| m.mul(in_factor(m), weight))
    };
    let sources: Vec<_> = from.ids().iter().map(weighted).collect();
    let sources: Vec<_> = sources.iter().map(Vec::as_slice).collect();
    let found = conversion.apply(ring, &sources);
    for &id in to.ids() {
        let expected = row(ring, from, id, integers, &out_factor);
        assert_eq!(
            found.row_of(id),
            expected,
            "{} primes to {}",
            from.len(),
            ring.modulus(id).value()
        );
    }
}

#[test]
fn raised_digits() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for sources in [2, 3, 11, 12, 13, 14, 15, 16, 17] {
        let (ring, from, to) = ring(sources);
        let conversion = Conversion::raise(&ring, &from, &to);
        let one = |m: &Modulus| m.reduce(1);
        check(
            &ring,
            &from,
            &to,
            &conversion,
            &integers(&mut rng),
            one,
            one,
        );
    }
}

#[test]
fn divisions() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let p = Modulus::new(P).unwrap();
    for sources in [2, 13, 14, 15, 16] {
        let (ring, from, to) = ring(sources);
        for added in [Basis::new([]), Basis::new(sources..sources + 2)] {
            let conversion = Conversion::division(&ring, &from, &to, &added, &p);
            // Where the residues are those of p x / N, the multiple of p is p x.
            let given = |m: &Modulus| m.mul(m.reduce(P), m.inv(ring.product_mod(&added, m)));
            let quotient = |m: &Modulus| m.mul(m.reduce(P), m.inv(ring.product_mod(&from, m)));
            let found = |m: &Modulus| match ring.product_mod(&added, m) {
                0 => m.neg(quotient(m)),
                _ => given(m),
            };
            let integers = integers(&mut rng);
            check(&ring, &from, &to, &conversion, &integers, given, found);
        }
    }
}

/// Rows longer than a piece, on every back end.
#[test]
fn long_rows_are_converted_piece_by_piece() {
    let n = 2048;
    let primes = primes_below(50, n, 6, &[]).unwrap();
    let (from, to) = (Basis::new(0..2), Basis::new(2..6));
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut sources = vec![vec![0; n]; 2];
    for (source, &q) in sources.iter_mut().zip(&primes) {
        uniform_residues(&mut rng, &Modulus::new(q).unwrap(), source);
    }
    let sources: Vec<_> = sources.iter().map(Vec::as_slice).collect();
    let all: Vec<_> = Kernels::available()
        .into_iter()
        .map(|kernels| {
            let ring = Ring::with_kernels(n, &primes, kernels).unwrap();
            let conversion = Conversion::raise(&ring, &from, &to);
            conversion.apply(&ring, &sources).to_words()
        })
        .collect();
    assert!(all.iter().all(|words| *words == all[0]));
    // x = sum_i source_i D / q_i - wraps D, exactly.
    let [q0, q1] = [primes[0], primes[1]].map(i128::from);
    for (x, (&a, &b)) in sources[0].iter().zip(sources[1]).enumerate() {
        let (product, sum) = (q0 * q1, i128::from(a) * q1 + i128::from(b) * q0);
        let centred = sum - (2 * sum + product).div_euclid(2 * product) * product;
        for (t, &q) in primes[2..].iter().enumerate() {
            let expected = centred.rem_euclid(q.into());
            assert_eq!(i128::from(all[0][t * n + x]), expected, "coefficient {x}");
        }
    }
}

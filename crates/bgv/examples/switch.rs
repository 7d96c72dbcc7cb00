//! Times key switches of a small ring with one digit, and the row operations that they are made of.
use chacha20::ChaCha20Rng;
use omr_bgv::*;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::SeedableRng;
use std::hint::black_box;
use std::time::Instant;

const N: usize = 8192;
const P: u64 = 786_433;
const SEED: [u8; 32] = [1; 32];

/// Prints the least time of many runs in microseconds.
fn time<T>(what: &str, mut f: impl FnMut() -> T) {
    let mut least = f64::MAX;
    for _ in 0..2000 {
        let start = Instant::now();
        black_box(f());
        least = least.min(start.elapsed().as_secs_f64());
    }
    println!("{what:48} {:8.1} us", least * 1e6);
}

fn main() {
    let mut primes = primes_near(32.0, N, 2, &[P]).unwrap();
    primes.extend(primes_near(36.0, N, 1, &primes).unwrap());
    primes.extend(primes_below(50, N, 2, &primes).unwrap());
    let ring = Ring::new(N, &primes).unwrap();
    let (full, low) = (Basis::new(0..3), Basis::new(0..2));
    let plain = Plain::new(P, N, ring.kernels()).unwrap();
    let shape = KeyShape::new(&full, 1, &Basis::new(3..5));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let s = Secret::uniform_ternary(&mut rng, N).poly(&ring, &shape.extended());
    let seed = |index| MaskSeed::new(&SEED, index);
    let mut galois =
        |index| GaloisKey::generate(&ring, &shape, &s, N + 1, P, seed(index), &mut rng);
    let (turn, other) = (galois(1), galois(2));
    let one_special = shape.lowered(&low, &Basis::new([3]));
    let square = s.product(&ring, &s);
    let relin = SwitchingKey::generate(&ring, &shape, &square, &s, P, seed(3), &mut rng);
    let lowered = {
        let preimage = GaloisKey::preimage(&ring, &s, N + 1);
        SwitchingKey::generate(&ring, &shape, &s, &preimage, P, seed(4), &mut rng).with_lowered(
            &ring,
            &[one_special],
            plain.p(),
        )
    };
    let lowered = GaloisKey::from_switching_key(&ring, N + 1, lowered);
    let random = |basis: &Basis, path| uniform_poly(&ring, basis, "example", &SEED, &[path]);
    let ct = Rlwe::new(random(&full, 1), random(&full, 2));
    let small = Rlwe::new(random(&low, 3), random(&low, 4));

    println!(
        "{} kernels, dimension {N}, primes {primes:?}",
        ring.kernels().name()
    );
    let apply = |key: &GaloisKey, ct: &Rlwe| key.apply(&ring, &[(&ct.c0, &ct.c1)], plain.p());
    time("Galois switch, 3 primes (15 transforms)", || {
        apply(&turn, &ct)
    });
    time("Galois switch, 2 primes (12)", || apply(&other, &small));
    time("Galois switch, 2 primes, lowered to 1 special (9)", || {
        apply(&lowered, &small)
    });
    let expander = Expander::new(&ring, &full, plain.p(), vec![&turn]);
    time("children of a node, 3 primes", || expander.children(&ct, 0));
    let chain = Chain::new(vec![full.clone(), low]);
    let ev = Evaluator {
        ring: &ring,
        plain: &plain,
        chain: &chain,
        stop: None,
    };
    let (a, b) = (
        Ciphertext::new(ct.clone(), 0, 1),
        Ciphertext::new(ct.clone(), 0, 1),
    );
    let tensor = ev.tensor(&a, &b).unwrap();
    time("product: tensor", || ev.tensor(&a, &b).unwrap());
    time("product: relinearisation and level (15)", || {
        ev.relinearise(&tensor, &relin, 1).unwrap()
    });
    time("product", || ev.mul(&a, &b, &relin).unwrap());

    let (k, m, t) = (ring.kernels(), ring.modulus(3), ring.table(3));
    let mut row = random(&Basis::new([3]), 5);
    let [mut one, mut two] = [row.clone(), row.clone()];
    let rows: Vec<&[u64]> = ct.c0.rows().collect();
    let keys = turn.switching_key().bodies().next().unwrap();
    time("row: transform", || k.ntt_factors(t, row.row_mut(0)));
    time("row: inverse transform", || {
        k.ntt_inverse(t, row.row_mut(0))
    });
    time("row: pair of products", || {
        let out = [one.row_mut(0), two.row_mut(0)];
        k.dot_pair(m, out, &rows[..1], [&[keys.row(3)], &[keys.row(4)]]);
    });
    time("row: difference, factors and sum", || {
        k.sub_scale_add_assign(m, row.row_mut(0), rows[0], 3, rows[1], 5)
    });
    time("row: permutation", || {
        turn.automorphism()
            .apply_row(&ring, row.row_mut(0), rows[0])
    });
    for (from, to) in [
        (full.clone(), shape.special().clone()),
        (shape.special().clone(), full),
    ] {
        let conversion = Conversion::raise(&ring, &from, &to);
        let what = format!(
            "rows: conversion from {} to {} primes",
            from.len(),
            to.len()
        );
        time(&what, || conversion.apply(&ring, &rows[..from.len()]));
    }
    time("rows: memory of a polynomial of 3", || {
        Poly::<Eval>::scratch(&ring, ct.basis())
    });
}

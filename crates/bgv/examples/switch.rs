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
    println!("{what:34} {:7.1} us", least * 1e6);
}

fn main() {
    let mut primes = primes_near(32.0, N, 2, &[P]).unwrap();
    primes.extend(primes_near(36.0, N, 1, &primes).unwrap());
    primes.extend(primes_below(50, N, 2, &primes).unwrap());
    let ring = Ring::new(N, &primes).unwrap();
    let (full, low, special) = (Basis::new(0..3), Basis::new(0..2), Basis::new(3..5));
    let plain = Plain::new(P, N, ring.kernels()).unwrap();
    let (k, p, shape) = (ring.kernels(), plain.p(), KeyShape::new(&full, 1, &special));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let s = Secret::uniform_ternary(&mut rng, N).poly(&ring, &shape.extended());
    let mut key = |from: &SecretPoly, index| {
        let seed = MaskSeed::new(&SEED, index);
        SwitchingKey::generate(&ring, &shape, from, &s, P, seed, &mut rng)
    };
    let one_special = shape.lowered(&low, &Basis::new([3]));
    let lowered = key(&s, 2).with_lowered(&ring, &[one_special], p);
    let [turn, lowered] =
        [key(&s, 1), lowered].map(|key| GaloisKey::from_switching_key(&ring, N + 1, key));
    let relin = key(&s.product(&ring, &s), 3);
    let random = |basis: &Basis, path| uniform_poly(&ring, basis, "example", &SEED, &[path]);
    let ct = Rlwe::new(random(&full, 1), random(&full, 2));
    let small = Rlwe::new(random(&low, 3), random(&low, 4));
    let apply = |key: &GaloisKey, ct: &Rlwe| key.apply(&ring, &[(&ct.c0, &ct.c1)], p);

    println!("{} kernels, least of many runs", k.name());
    time("switch of 3 primes", || apply(&turn, &ct));
    time("switch of 2 primes", || apply(&turn, &small));
    time("switch of 2 primes and 1 special", || {
        apply(&lowered, &small)
    });
    let expander = Expander::new(&ring, &full, p, vec![&turn]);
    time("children, 3 primes", || expander.children(&ct, 0));
    let chain = Chain::new(vec![full.clone(), low]);
    let ev = Evaluator {
        ring: &ring,
        plain: &plain,
        chain: &chain,
        stop: None,
    };
    let a = Ciphertext::new(ct.clone(), 0, 1);
    time("product", || ev.mul(&a, &a, &relin));
    time("product: tensor", || ev.tensor(&a, &a));

    let (m, table, mut row) = (ring.modulus(3), ring.table(3), random(&special, 5));
    let (turn, words) = (turn.automorphism(), ct.c0.row(0));
    time("row: transform", || k.ntt_factors(table, row.row_mut(0)));
    time("row: inverse", || k.ntt_inverse(table, row.row_mut(0)));
    time("row: pair of products", || {
        let [one, two] = <[_; 2]>::try_from(row.rows_mut().collect::<Vec<_>>()).expect("two rows");
        k.dot_pair(m, [one, two], &[words], [&[words], &[words]]);
    });
    time("row: difference, two factors, sum", || {
        k.sub_scale_add_assign(m, row.row_mut(0), words, 3, words, 5);
    });
    time("row: permutation", || {
        turn.apply_row(&ring, row.row_mut(0), words)
    });
    for (from, to) in [(&full, &special), (&special, &full)] {
        let conversion = Conversion::raise(&ring, from, to);
        let sources: Vec<&[u64]> = ct.c0.rows().take(from.len()).collect();
        let what = format!("conversion of {} rows to {}", from.len(), to.len());
        time(&what, || conversion.apply(&ring, &sources));
    }
}

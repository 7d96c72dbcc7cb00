//! Times the parts of one full-size key switch.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::SeedableRng;
use std::time::Instant;

fn time<T>(what: &str, count: usize, mut f: impl FnMut() -> T) {
    let _ = f();
    let t = Instant::now();
    for _ in 0..count {
        std::hint::black_box(f());
    }
    println!(
        "{what}: {:.3} ms",
        t.elapsed().as_secs_f64() * 1e3 / count as f64
    );
}

fn main() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .unwrap();
    let n = 1 << 16;
    let mut primes = primes_near(48.4, n, 24, &[]).unwrap();
    primes.extend(primes_below(49, n, 8, &primes).unwrap());
    let ring = Ring::new(n, &primes).unwrap();
    let (q, special) = (Basis::new(0..24), Basis::new(24..32));
    let p = Modulus::new(786433).unwrap();
    let shape = KeyShape::new(&q, 3, &special);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let s = Secret::uniform_ternary(&mut rng, n);
    let sp = s.poly(&ring, &shape.extended());
    let key = SwitchingKey::generate(
        &ring,
        &shape,
        &sp,
        &sp,
        p.value(),
        MaskSeed::new(&[0; 32], 0),
        &mut rng,
    );
    let c = uniform_poly(&ring, &q, "t", &[1; 32], &[]);
    let ct = Rlwe::new(c.clone(), c.clone());
    let k = ring.kernels();
    let mut row = AlignedVec::from(c.row(0));
    time("ntt forward", 100, || {
        k.ntt_forward(ring.table(0), &mut row)
    });
    time("ntt inverse", 100, || {
        k.ntt_inverse(ring.table(0), &mut row)
    });
    let mut out = row.clone();
    let rows: Vec<&[u64]> = (0..9).map(|i| c.row(i)).collect();
    time("convert 9 -> 1, 65536", 100, || {
        k.convert(ring.modulus(30), &mut out, &rows, &[5; 9])
    });
    let mut small = vec![0; 2048];
    let pieces: Vec<&[u64]> = rows.iter().map(|r| &r[..2048]).collect();
    time("convert 9 -> 1, 2048 x 32", 100, || {
        for _ in 0..32 {
            k.convert(ring.modulus(30), &mut small, &pieces, &[5; 9])
        }
    });
    time("dot 3, 65536", 100, || {
        k.dot(ring.modulus(0), &mut out, &rows[..3], &rows[3..6])
    });
    let d: Vec<&[u64]> = (0..64)
        .map(|i| &c.row(i % 24)[(i / 24) * 512..(i / 24) * 512 + 512])
        .collect();
    let e: Vec<&[u64]> = (0..64)
        .map(|i| &c.row(i % 24)[4096 + (i / 24) * 512..4096 + (i / 24) * 512 + 512])
        .collect();
    let mut o = vec![0; 512];
    time("dot 64, 512 x 128", 50, || {
        for _ in 0..128 {
            k.dot(ring.modulus(0), &mut o, &d, &e)
        }
    });
    time("copy row", 100, || out.copy_from_slice(&row));
    let mut acc = row.clone();
    time("scale_add row", 100, || {
        k.scale_add_assign(ring.modulus(0), &mut acc, &row, 77)
    });
    time("scale row", 100, || {
        k.scale_assign(ring.modulus(0), &mut acc, 77)
    });
    time("sub_scale row", 100, || {
        k.sub_scale_assign(ring.modulus(0), &mut acc, &row, 77)
    });
    let mut q9 = row.clone();
    time("quotient 8", 100, || {
        k.quotient(&mut q9, &rows[..8], &[1e-15; 8])
    });
    let auto = Automorphism::new(n, 5);
    time("permute row", 100, || auto.apply_row(&ring, &mut acc, &row));
    let raise = || Conversion::raise(&ring, &Basis::new(0..8), &Basis::new(8..32));
    time("conversion 8 -> 24: constants", 5, raise);
    time("conversion 8 -> 24", 5, || raise().apply(&ring, &rows[..8]));
    let mut sums = vec![vec![0; 512]; 8];
    let (a, b) = (AlignedVec::zeroed(128 * 520), AlignedVec::zeroed(130 * 520));
    let tile = SlidingRows {
        a: &a,
        b: &b,
        stride: 520,
        len: 512,
        terms: 64,
        groups: 2,
        shifts: 2,
        parts: 2,
    };
    time("sliding dots, 2 x 64 x 2 x 2, 512 x 128", 5, || {
        let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
        for _ in 0..128 {
            k.sliding_dots(ring.modulus(0), &mut out, &tile)
        }
    });
    time("inverse 24", 5, || ring.inverse(c.clone()));
    time("switch", 5, || key.switch(&ring, &ct, &p));
    time("automorphism x2", 5, || {
        (auto.apply(&ring, &c), auto.apply(&ring, &c))
    });
}

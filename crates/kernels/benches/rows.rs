//! Times the row operations of every back end this CPU runs, on rows that start on a cache line.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use omr_kernels::{
    AlignedVec, BlockRows, FourierRows, FourierTable, Gadget, KEY_ROWS, Kernels, MAX_BLOCK,
    Modulus, Monomials, NttTable, is_prime,
};

/// Largest 50-bit prime that suits every size.
fn modulus() -> Modulus {
    let order = 1 << 18;
    let q = (1..)
        .map(|k| (1u64 << 50) - k * order + 1)
        .find(|&q| is_prime(q));
    Modulus::new(q.expect("there is one")).expect("prime")
}

fn row(n: usize, q: u64, seed: u64) -> AlignedVec {
    let mut row = AlignedVec::zeroed(n);
    for (i, x) in row.iter_mut().enumerate() {
        *x = (i as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
    }
    row
}

fn transforms(c: &mut Criterion) {
    let m = modulus();
    for n in [1 << 13, 1 << 16] {
        let t = NttTable::new(m, n).expect("fits");
        for k in Kernels::available() {
            let mut r = row(n, m.value(), 1);
            c.bench_function(&format!("ntt_forward/{n}/{}", k.name()), |b| {
                b.iter(|| k.ntt_forward(&t, black_box(&mut r)));
            });
            c.bench_function(&format!("ntt_inverse/{n}/{}", k.name()), |b| {
                b.iter(|| k.ntt_inverse(&t, black_box(&mut r)));
            });
        }
    }
}

/// 28 rows of 2^13 fit the level-two cache, 28 of 2^16 do not.
fn sums(c: &mut Criterion) {
    let m = modulus();
    for n in [1 << 13, 1 << 16] {
        let rows: Vec<_> = (0..28).map(|i| row(n, m.value(), i)).collect();
        let rows: Vec<&[u64]> = rows.iter().map(|r| &r[..]).collect();
        let coef = row(28, m.value(), 99);
        let mut out = AlignedVec::zeroed(n);
        for k in Kernels::available() {
            c.bench_function(&format!("dot 28/{n}/{}", k.name()), |b| {
                b.iter(|| k.dot(&m, black_box(&mut out), &rows, &rows));
            });
            c.bench_function(&format!("convert 28/{n}/{}", k.name()), |b| {
                b.iter(|| k.convert(&m, black_box(&mut out), &rows, &coef));
            });
        }
    }
}

fn pointwise(c: &mut Criterion) {
    let (m, n) = (modulus(), 1 << 13);
    let (mut a, b, d) = (
        row(n, m.value(), 1),
        row(n, m.value(), 2),
        row(n, m.value(), 3),
    );
    for k in Kernels::available() {
        c.bench_function(&format!("add/{n}/{}", k.name()), |bench| {
            bench.iter(|| k.add_assign(&m, black_box(&mut a), &b));
        });
        c.bench_function(&format!("mul_add/{n}/{}", k.name()), |bench| {
            bench.iter(|| k.mul_add_assign(&m, black_box(&mut a), &b, &d));
        });
        c.bench_function(&format!("sub_scale/{n}/{}", k.name()), |bench| {
            bench.iter(|| k.sub_scale_assign(&m, black_box(&mut a), &b, 12345));
        });
    }
}

/// Times a step of a blind rotation with one digit, in exact arithmetic and in double precision.
fn steps(c: &mut Criterion) {
    let (m, n) = (modulus(), 1 << 11);
    let (exact, floats) = (NttTable::new(m, n).expect("fits"), FourierTable::new(n));
    let monomials = Monomials::new(&exact);
    let gadget = Gadget {
        bits: 16,
        digits: 1,
    };
    let exponents: Vec<u32> = (0..MAX_BLOCK as u32).map(|i| 517 * i + 3).collect();
    let key = row(n * KEY_ROWS * MAX_BLOCK, m.value(), 1);
    let (mut float_key, src) = (key.clone(), row(n, m.value(), 2));
    float_key.floats_mut().fill(1e-4);
    let (mut a, mut b) = (src.clone(), src.clone());
    for k in Kernels::available() {
        c.bench_function(&format!("ntt_factors/{n}/{}", k.name()), |bench| {
            bench.iter(|| k.ntt_factors(&exact, black_box(&mut a)));
        });
        c.bench_function(&format!("block_product/{n}/{}", k.name()), |bench| {
            let rows = BlockRows {
                digits: &[[&src, &src]],
                key: &[&key],
                exponents: &exponents,
            };
            bench.iter(|| k.block_product(&monomials, [&mut a, &mut b], black_box(&rows)));
        });
        c.bench_function(&format!("fourier_digits/{n}/{}", k.name()), |bench| {
            bench
                .iter(|| k.fourier_digits(&floats, gadget, &mut [a.floats_mut()], black_box(&src)));
        });
        c.bench_function(&format!("fourier_add/{n}/{}", k.name()), |bench| {
            bench.iter(|| k.fourier_add(&floats, &mut b, black_box(a.floats_mut())));
        });
        let mut rows = [(); 2].map(|()| [src.clone(), src.clone()]);
        c.bench_function(&format!("fourier_product, two/{n}/{}", k.name()), |bench| {
            bench.iter(|| {
                let mut shares = rows.each_mut().map(|[body, mask]| FourierRows {
                    digits: vec![[body.floats_mut(), mask.floats_mut()]],
                    exponents: &exponents,
                });
                k.fourier_product(&floats, &mut shares, black_box(&[float_key.floats()]));
            });
        });
        // Products in place grow or shrink to nothing.
        (a, b) = (src.clone(), src.clone());
    }
}

criterion_group!(benches, transforms, sums, pointwise, steps);
criterion_main!(benches);

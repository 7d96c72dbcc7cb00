use omr_kernels::*;
use std::time::Instant;
fn best(name: &str, per: f64, mut f: impl FnMut()) {
    let mut b = f64::MAX;
    for _ in 0..60 {
        let t = Instant::now();
        for _ in 0..50 { f(); }
        b = b.min(t.elapsed().as_secs_f64() / 50.0);
    }
    println!("{name:30} {:8.2} us", b * 1e6 / per);
}
fn main() {
    let n = 2048;
    let q = (1..).map(|k| (1u64 << 50) - k * 4096 + 1).find(|&q| is_prime(q)).unwrap();
    let m = Modulus::new(q).unwrap();
    let t = NttTable::new(m, n).unwrap();
    let mono = Monomials::new(&t);
    let k = Kernels::detect();
    let row = |n: usize| { let mut r = AlignedVec::zeroed(n); for (i, x) in r.iter_mut().enumerate() { *x = (i as u64 + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q; } r };
    let frow = |n: usize| { let mut r = AlignedVec::zeroed(n); for (i, x) in r.floats_mut().iter_mut().enumerate() { *x = ((i as u64 + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 1e9; } r };
    let ft = FourierTable::new(n);
    let g = Gadget { bits: 16, digits: 1 };
    let exps = [3u32, 1000, 77, 4000, 2, 2222, 901, 64];
    for _ in 0..2 {
    let (mut a, b, mut c, mut d) = (row(n), row(n), row(n), row(n));
    best("ntt_factors", 1.0, || k.ntt_factors(&t, &mut a));
    let mut a = row(n);
    best("ntt_inverse", 1.0, || k.ntt_inverse(&t, &mut a));
    let a = row(n);
    let key = row(n * 32);
    best("block_product", 1.0, || k.block_product(&mono, [&mut c, &mut d], &BlockRows { digits: &[[&a, &b]], key: &[&key], exponents: &exps }));
    let mut f = frow(n);
    best("fourier_digits", 1.0, || k.fourier_digits(&ft, g, &mut [f.floats_mut()], &a));
    let mut acc = row(n);
    let src = f.clone();
    best("copy", 1.0, || f.floats_mut().copy_from_slice(src.floats()));
    best("copy+fourier_add", 1.0, || { f.floats_mut().copy_from_slice(src.floats()); k.fourier_add(&ft, &mut acc, f.floats_mut()) });
    let key = frow(n * 32);
    for count in [1, 2, 4] {
        let mut rows: Vec<[AlignedVec; 2]> = (0..count).map(|_| [frow(n), frow(n)]).collect();
        best(&format!("fourier_product {count}"), count as f64, || {
            let mut shares: Vec<FourierRows> = rows.iter_mut().map(|[a, b]| FourierRows { digits: vec![[a.floats_mut(), b.floats_mut()]], exponents: &exps }).collect();
            k.fourier_product(&ft, &mut shares, &[key.floats()]);
        });
        for r in rows.iter_mut().flatten() { *r = frow(n); }
    }
    }
}

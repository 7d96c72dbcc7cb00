//! Products in double precision, of every back end: against a plain transform, and against integers.
//!
//! Back ends round differently, so errors are compared with those that rounding can explain.

mod common;

use common::Rng;
use omr_kernels::{AlignedVec, FourierRows, FourierTable, Gadget, KEY_ROWS, Kernels};
use std::f64::consts::PI;

const LANES: usize = 8;
/// Fraction bits of the keys.
const KEY_BITS: u32 = 50;

/// The value at position `p` of a transformed row.
fn value(row: &[f64], p: usize) -> [f64; 2] {
    let at = p / LANES * 2 * LANES + p % LANES;
    [row[at], row[at + LANES]]
}

/// The values of a polynomial at all odd powers of the first 2n-th root: those where `X^(n/2) = i` are
/// what a transform gives, in some order.
fn plain(coeffs: &[i64]) -> Vec<[f64; 2]> {
    let (n, turn) = (coeffs.len(), 2 * coeffs.len());
    let roots: Vec<(f64, f64)> = (0..turn)
        .map(|e| (2.0 * PI * e as f64 / turn as f64).sin_cos())
        .collect();
    let at = |k: usize| {
        let point = 4 * k + 1;
        let terms = coeffs.iter().enumerate();
        terms.fold([0.0; 2], |[re, im], (j, &c)| {
            let (sin, cos) = roots[point * j % turn];
            [re + c as f64 * cos, im + c as f64 * sin]
        })
    };
    (0..n / 2).map(at).collect()
}

/// The number of the point at position `p`: see [`FourierTable`].
fn point(p: usize, n: usize) -> usize {
    let place = p / 64 * 64 + p % 8 * 8 + p / 8 % 8;
    place.reverse_bits() >> (usize::BITS - (n / 2).ilog2())
}

/// log2 of what digit `i` counts.
fn place(gadget: Gadget, i: usize) -> i32 {
    64 - gadget.bits as i32 * (i as i32 + 1)
}

/// Digits of fractions of `2^64`, by division.
fn digits(gadget: Gadget, x: u64) -> Vec<i64> {
    let total = gadget.bits * gadget.digits;
    let mut rest = ((u128::from(x) + (1 << (63 - total))) >> (64 - total)) as i64;
    let base = 1 << gadget.bits;
    let mut digits: Vec<i64> = (0..gadget.digits)
        .map(|_| {
            let low = (rest + base / 2).rem_euclid(base) - base / 2;
            rest = (rest - low) / base;
            low
        })
        .collect();
    digits.reverse();
    digits
}

#[test]
fn transforms_of_digits() {
    let mut rng = Rng::new(41);
    for (n, bits, count) in [(512, 16, 2), (1024, 16, 1), (2048, 7, 6), (4096, 21, 3)] {
        let (t, gadget) = (
            FourierTable::new(n),
            Gadget {
                bits,
                digits: count,
            },
        );
        let mut src = rng.row(n, u64::MAX);
        (src[0], src[1], src[2]) = (1 << 63, (1 << 63) - 1, u64::MAX);
        let cut: Vec<Vec<i64>> = src.iter().map(|&x| digits(gadget, x)).collect();
        for k in Kernels::available() {
            let mut rows = vec![vec![0.0; n]; count as usize];
            let mut out: Vec<&mut [f64]> = rows.iter_mut().map(|row| &mut row[..]).collect();
            k.fourier_digits(&t, gadget, &mut out, &src);
            for (i, row) in rows.iter().enumerate() {
                let expected = plain(&cut.iter().map(|cut| cut[i]).collect::<Vec<_>>());
                let size = (n as f64).sqrt() * f64::from(1u32 << bits);
                for p in 0..n / 2 {
                    let found = value(row, p).map(|x| x * 2f64.powi(-place(gadget, i)));
                    let expected = expected[point(p, n)];
                    let off = (found[0] - expected[0]).hypot(found[1] - expected[1]);
                    let name = k.name();
                    assert!(
                        off < 1e-13 * size,
                        "{name}: {off:e} of {size:e} at {p} of {n}"
                    );
                }
            }
        }
    }
}

/// `acc += x y` modulo `X^n + 1` and `2^64`.
fn multiply_add(acc: &mut [u64], x: &[i64], y: &[u64]) {
    let n = acc.len();
    for (i, &x) in x.iter().enumerate() {
        for (j, &y) in y.iter().enumerate() {
            let term = (x as u64).wrapping_mul(y);
            let sum = &mut acc[(i + j) % n];
            *sum = if i + j < n {
                sum.wrapping_add(term)
            } else {
                sum.wrapping_sub(term)
            };
        }
    }
}

/// `acc += (X^a - 1) x`.
fn turn_add(acc: &mut [u64], x: &[u64], a: u32) {
    let n = acc.len();
    for (j, &x) in x.iter().enumerate() {
        acc[j] = acc[j].wrapping_sub(x);
        let to = (j + a as usize) % (2 * n);
        let sum = &mut acc[to % n];
        *sum = if to < n {
            sum.wrapping_add(x)
        } else {
            sum.wrapping_sub(x)
        };
    }
}

/// A block of keys as fractions of `2^64`, by row and key, and transformed, for digits in this place.
fn keys(t: &FourierTable, rng: &mut Rng, count: usize, place: i32) -> (Vec<Vec<u64>>, AlignedVec) {
    let n = t.n();
    let mut words = AlignedVec::zeroed(n * KEY_ROWS * count);
    let rows: Vec<Vec<u64>> = (0..KEY_ROWS * count)
        .map(|_| rng.row(n, 1 << KEY_BITS))
        .collect();
    let mut out = vec![0.0; n];
    for (at, row) in rows.iter().enumerate() {
        let unit = 2f64.powi(-(KEY_BITS as i32) - place) * 2.0 / n as f64;
        let centred = |x: u64| (x << (64 - KEY_BITS)) as i64 >> (64 - KEY_BITS);
        let coeffs: Vec<f64> = row.iter().map(|&x| centred(x) as f64 * unit).collect();
        t.transform(&mut out, &coeffs);
        for (v, values) in out.chunks(2 * LANES).enumerate() {
            let to = (v * KEY_ROWS * count + at) * 2 * LANES;
            words.floats_mut()[to..][..2 * LANES].copy_from_slice(values);
        }
    }
    let fractions = |row: Vec<u64>| row.iter().map(|x| x << (64 - KEY_BITS)).collect();
    (rows.into_iter().map(fractions).collect(), words)
}

/// Computes in integers the polynomials that one step adds to body and mask.
fn exact_step(
    src: &[Vec<u64>; 2],
    gadget: Gadget,
    keys: &[Vec<Vec<u64>>],
    exponents: &[u32],
) -> [Vec<u64>; 2] {
    let mut out = src.clone();
    for (digit, keys) in keys.iter().enumerate() {
        for r in 0..KEY_ROWS {
            let mut combined = vec![0; src[0].len()];
            for (j, &a) in exponents.iter().enumerate() {
                turn_add(&mut combined, &keys[j * KEY_ROWS + r], a);
            }
            let cut = src[r / 2].iter().map(|&x| digits(gadget, x)[digit]);
            multiply_add(&mut out[r % 2], &cut.collect::<Vec<_>>(), &combined);
        }
    }
    out
}

/// Computes one step with a back end, for several accumulators together.
fn step(
    k: &Kernels,
    t: &FourierTable,
    gadget: Gadget,
    keys: &[&[f64]],
    accumulators: &mut [[Vec<u64>; 2]],
    exponents: &[Vec<u32>],
) {
    let count = gadget.digits as usize;
    let mut rows: Vec<Vec<[Vec<f64>; 2]>> = accumulators
        .iter()
        .map(|_| vec![[(); 2].map(|()| vec![0.0; t.n()]); count])
        .collect();
    for (rows, acc) in rows.iter_mut().zip(&*accumulators) {
        for (part, src) in acc.iter().enumerate() {
            let mut out: Vec<&mut [f64]> = rows.iter_mut().map(|row| &mut row[part][..]).collect();
            k.fourier_digits(t, gadget, &mut out, src);
        }
    }
    let mut shares: Vec<FourierRows> = rows
        .iter_mut()
        .zip(exponents)
        .map(|(rows, exponents)| FourierRows {
            digits: rows
                .iter_mut()
                .map(|r| r.each_mut().map(|r| &mut r[..]))
                .collect(),
            exponents,
        })
        .collect();
    k.fourier_product(t, &mut shares, keys);
    for (rows, acc) in rows.iter_mut().zip(accumulators) {
        for (row, acc) in rows[0].iter_mut().zip(acc) {
            k.fourier_add(t, acc, row);
        }
    }
}

#[test]
fn steps_of_a_rotation() {
    let mut rng = Rng::new(42);
    for (n, bits, count, keys_count, together) in
        [(512, 16, 1, 10, 5), (1024, 16, 2, 8, 2), (512, 10, 3, 5, 1)]
    {
        let (t, gadget) = (
            FourierTable::new(n),
            Gadget {
                bits,
                digits: count,
            },
        );
        let levels = (0..count as usize).map(|i| keys(&t, &mut rng, keys_count, place(gadget, i)));
        let (exact, words): (Vec<_>, Vec<_>) = levels.unzip();
        let words: Vec<&[f64]> = words.iter().map(|words| words.floats()).collect();
        let start: Vec<[Vec<u64>; 2]> = (0..together)
            .map(|_| [(); 2].map(|()| rng.row(n, u64::MAX)))
            .collect();
        let exponents: Vec<Vec<u32>> = (0..together)
            .map(|_| {
                (0..keys_count)
                    .map(|_| rng.below(2 * n as u64) as u32)
                    .collect()
            })
            .collect();
        let expected: Vec<[Vec<u64>; 2]> = start
            .iter()
            .zip(&exponents)
            .map(|(src, exponents)| exact_step(src, gadget, &exact, exponents))
            .collect();
        // Root mean square of a sum before it wraps around, in turns.
        let terms = (2 * keys_count * 2 * count as usize * n) as f64;
        let size = terms.sqrt() * f64::from(1u32 << bits) / 12.0;
        for k in Kernels::available() {
            let mut found = start.clone();
            step(k, &t, gadget, &words, &mut found, &exponents);
            let pairs = found.iter().flatten().flatten();
            let pairs = pairs.zip(expected.iter().flatten().flatten());
            let off = pairs.map(|(&x, &y)| x.wrapping_sub(y) as i64 as f64 * 2f64.powi(-64));
            let mean = (off.map(|x| x * x).sum::<f64>() / (2 * n * together) as f64).sqrt();
            let bits = (mean / size).log2();
            println!(
                "{}: n = {n}, {count} digits: 2^{bits:.2} of a sum",
                k.name()
            );
            assert!(bits < -50.0, "{}: 2^{bits} of a sum", k.name());
        }
    }
}

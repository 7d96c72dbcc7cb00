//! Shapes that do not fit are refused by every back end, whatever fast path they would take.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Rng, prime_below, random_blocks, tables};
use omr_kernels::{
    BlockPermutation, FourierRows, FourierTable, Gadget, KEY_ROWS, Kernels, MAX_BLOCK,
    MAX_CONVERT_TERMS, MAX_DOT_TERMS, Modulus, NttTable, SlidingRows,
};

/// Whether every back end panics.
#[track_caller]
fn refused(label: &str, operation: impl Fn(&Kernels)) {
    for k in Kernels::available() {
        let panics = catch_unwind(AssertUnwindSafe(|| operation(k))).is_err();
        assert!(panics, "{}: {label} is accepted", k.name());
    }
}

fn modulus() -> Modulus {
    prime_below(50, 2).expect("a prime")
}

fn table() -> NttTable {
    tables(50, 256).next().expect("a prime")
}

#[test]
fn scaled_transforms() {
    let t = table();
    let q = t.modulus().value();
    refused("a scale", |k| {
        k.ntt_inverse_scaled(&t, &mut [0; 256], q);
    });
    refused("a row", |k| {
        k.ntt_inverse_scaled(&t, &mut [0; 128], 1);
    });
    for (out, src) in [(256, 128), (128, 256), (128, 128)] {
        refused("a row out of place", |k| {
            k.ntt_inverse_scaled_from(&t, &mut vec![0; out], &vec![0; src], 1);
        });
    }
    refused("a scale out of place", |k| {
        k.ntt_inverse_scaled_from(&t, &mut [0; 256], &[0; 256], q);
    });
}

#[test]
fn pairs_of_dots() {
    let m = modulus();
    // Outputs, rows, numbers of rows of both sides.
    for (outs, rows, a, b) in [
        ([8, 9], 8, 2, 2),
        ([8, 8], 9, 2, 2),
        ([8, 8], 8, 2, 3),
        ([8, 8], 8, MAX_DOT_TERMS + 1, MAX_DOT_TERMS + 1),
    ] {
        let row = vec![0; rows];
        let (a, b) = (vec![&row[..]; a], vec![&row[..]; b]);
        refused("a pair", |k| {
            let [mut x, mut y] = outs.map(|len| vec![0; len]);
            k.dot_pair(&m, [&mut x, &mut y], &a, [&b, &b]);
        });
        refused("a square", |k| {
            let [mut w, mut x] = outs.map(|len| vec![0; len]);
            let [mut y, mut z] = outs.map(|len| vec![0; len]);
            let out = [&mut w[..], &mut x[..], &mut y[..], &mut z[..]];
            k.dot_square(&m, out, [&a, &a], [&b, &b]);
        });
    }
}

#[test]
fn rescaling() {
    let m = modulus();
    let q = m.value();
    for (b, d, c, e) in [
        (15, 16, 1, 1),
        (16, 17, 1, 1),
        (16, 16, q, 1),
        (16, 16, 1, q),
    ] {
        refused("a rescaling", |k| {
            k.sub_scale_add_assign(&m, &mut [0; 16], &vec![0; b], c, &vec![0; d], e);
        });
    }
}

/// Changes a shape that fits.
type Change = fn(&mut SlidingRows<'_>);

#[test]
fn sliding_sums() {
    let (m, len) = (modulus(), 16);
    let (a, b) = (vec![0; 2 * 3 * len], vec![0; 2 * 4 * len]);
    let fits = SlidingRows {
        a: &a,
        b: &b,
        stride: len,
        len,
        terms: 3,
        groups: 2,
        shifts: 2,
        parts: 2,
    };
    let outputs = |rows: &SlidingRows, count: usize, k: &Kernels| {
        let mut out = vec![vec![0; len]; count];
        let mut out: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
        k.sliding_dots(&m, &mut out, rows);
    };
    Kernels::available()
        .into_iter()
        .for_each(|k| outputs(&fits, 8, k));
    refused("an output too few", |k| outputs(&fits, 7, k));
    refused("an output too many", |k| outputs(&fits, 9, k));
    let changes: [Change; 9] = [
        |rows| rows.a = &rows.a[1..],
        |rows| rows.b = &rows.b[1..],
        |rows| rows.terms = 4,
        |rows| rows.stride = 8,
        |rows| rows.stride = 24,
        |rows| rows.len = 8,
        |rows| rows.terms = MAX_DOT_TERMS + 1,
        // Products that wrap around.
        |rows| rows.stride = 1 << 62,
        |rows| rows.groups = (1 << 62) + 2,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut rows = fits;
        change(&mut rows);
        refused(&format!("change {i}"), |k| outputs(&rows, 8, k));
    }
}

/// Runs a conversion of rows and coefficients of these lengths.
fn convert(k: &Kernels, out: &[usize], src: &[usize], coef: &[usize], c: u64) {
    let zeros =
        |lengths: &[usize]| -> Vec<Vec<u64>> { lengths.iter().map(|&len| vec![0; len]).collect() };
    let m = modulus();
    let (mut out, src) = (zeros(out), zeros(src));
    let coef: Vec<_> = coef.iter().map(|&len| vec![c; len]).collect();
    let mut out: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
    let src: Vec<_> = src.iter().map(Vec::as_slice).collect();
    let coef: Vec<_> = coef.iter().map(Vec::as_slice).collect();
    k.convert_many(&[&m; 5], &mut out, &src, &coef);
}

#[test]
fn conversions() {
    let five = [32; 5];
    let two = [2; 5];
    for k in Kernels::available() {
        convert(k, &five, &[32, 32], &two, 1);
        k.convert_many(&[], &mut [], &[&[1; 32]], &[]);
    }
    refused("an output too few", |k| {
        convert(k, &[32; 4], &[32; 2], &two, 1)
    });
    refused("coefficients too few", |k| {
        convert(k, &five, &[32; 2], &[2; 4], 1)
    });
    for at in [0, 3, 4] {
        let (mut out, mut coef) = (five, two);
        out[at] = 31;
        coef[at] = 1;
        refused("a shorter output", |k| convert(k, &out, &[32; 2], &two, 1));
        refused("a missing coefficient", |k| {
            convert(k, &five, &[32; 2], &coef, 1)
        });
    }
    refused("a shorter source", |k| {
        convert(k, &five, &[32, 16], &two, 1)
    });
    refused("a longer source", |k| convert(k, &five, &[32, 48], &two, 1));
    let q = modulus().value();
    refused("a coefficient", |k| convert(k, &five, &[32; 2], &two, q));
    let many = MAX_CONVERT_TERMS + 1;
    refused("too many sources", |k| {
        convert(k, &five, &vec![32; many], &[many; 5], 1);
    });
}

#[test]
fn movements() {
    // Pieces: none, wider than their places, more than there are places, wrapping around.
    for (out, every, src, piece) in [
        (16, 8, 8, 0),
        (16, 8, 8, 9),
        (15, 8, 16, 8),
        (16, 8, 17, 8),
        (0, 8, 1, 8),
        (16, 1 << 63, 3, 1),
    ] {
        refused("a spread", |k| {
            k.spread(&mut vec![0; out], every, &vec![0; src], piece);
        });
    }
    let permutation = BlockPermutation::new(&random_blocks(&mut Rng::new(1), 4, 2)).expect("fits");
    for (out, src) in [(24, 32), (32, 24), (32, 40), (33, 32)] {
        refused("a permutation", |k| {
            k.permute(&mut vec![0; out], &vec![0; src], &permutation);
        });
    }
}

#[test]
fn block_permutations() {
    let identity: Vec<u32> = (0..72).collect();
    let fits = |index: &[u32]| BlockPermutation::new(index).is_some();
    assert!(fits(&identity));
    assert!(BlockPermutation::new(&[]).is_some_and(|none| none.is_empty()));
    // Lengths that are no multiple of 8.
    assert!((1..72).all(|len| fits(&identity[..len]) == (len % 8 == 0)));
    let with = |changes: &[(usize, u32)]| {
        let mut index = identity.clone();
        for &(at, i) in changes {
            index[at] = i;
        }
        index
    };
    // Two residues of different blocks exchanged.
    assert!(!fits(&with(&[(3, 8), (8, 3)])));
    assert!(!fits(&with(&[(64, 0), (0, 64)])));
    // Out of range: one residue, a whole block.
    for i in [72, 79, u32::MAX] {
        assert!(!fits(&with(&[(71, i)])), "{i}");
        assert!(!fits(&with(&[(64, i)])), "{i}");
    }
    assert!(!fits(&(8..80).collect::<Vec<_>>()));
    // Nine patterns: block i turned by i, the last one with two lanes exchanged.
    let turned: Vec<u32> = (0..64).map(|i| i / 8 * 8 + (i + i / 8) % 8).collect();
    assert!(fits(&turned));
    let ninth = [65, 64, 66, 67, 68, 69, 70, 71];
    assert!(!fits(&[&turned[..], &ninth].concat()));
    assert!(fits(
        &[&turned[..], &[64, 65, 66, 67, 68, 69, 70, 71]].concat()
    ));
}

#[test]
fn products_in_double_precision() {
    for n in [0, 1, 256, 1000] {
        refused("a dimension", |_| drop(FourierTable::new(n)));
    }
    let (t, n) = (FourierTable::new(512), 512);
    let one = Gadget {
        bits: 16,
        digits: 1,
    };
    for (gadget, outs, out, src) in [
        (one, 1, n, 256),
        (one, 1, 256, n),
        (one, 2, n, n),
        (Gadget { digits: 4, ..one }, 4, n, n),
        (Gadget { bits: 0, ..one }, 1, n, n),
    ] {
        refused("digits", |k| {
            let mut rows = vec![vec![0.0; out]; outs];
            let mut rows: Vec<&mut [f64]> = rows.iter_mut().map(|row| &mut row[..]).collect();
            k.fourier_digits(&t, gadget, &mut rows, &vec![0; src]);
        });
    }
    for (acc, row) in [(n, 256), (256, n)] {
        refused("a row", |k| {
            k.fourier_add(&t, &mut vec![0; acc], &mut vec![0.0; row]);
        });
    }
    let per_key = n * KEY_ROWS;
    for (digits, row, keys, key) in [
        (1, n, 0, 0),
        (1, n, MAX_BLOCK + 1, (MAX_BLOCK + 1) * per_key),
        (2, n, 1, per_key),
        (0, n, 1, per_key),
        (1, 256, 1, per_key),
        (1, n, 2, per_key),
    ] {
        refused("a block of keys", |k| {
            let mut rows = vec![[vec![0.0; row], vec![0.0; row]]; digits];
            let exponents = vec![1; keys];
            let share = FourierRows {
                digits: rows
                    .iter_mut()
                    .map(|pair| pair.each_mut().map(|row| &mut row[..]))
                    .collect(),
                exponents: &exponents,
            };
            k.fourier_product(&t, &mut [share], &[&vec![0.0; key]]);
        });
    }
}

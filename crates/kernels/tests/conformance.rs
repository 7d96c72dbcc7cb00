//! Every back end this CPU runs gives the same bits as the scalar one.
//!
//! `OMR_REQUIRE=avx512ifma,avx2` turns an absent back end into a failure.

mod common;

use common::{Rng, backends, moduli, tables};
use omr_kernels::{Kernels, Modulus};

/// Lengths with and without whole vectors and tiles.
const LENGTHS: [usize; 9] = [0, 1, 4, 7, 8, 63, 64, 200, 1031];

/// Random, all zero and all `q - 1` rows.
fn rows(m: &Modulus, n: usize, rng: &mut Rng) -> Vec<Vec<u64>> {
    vec![rng.row(n, m.value()), vec![0; n], vec![m.value() - 1; n]]
}

/// Runs `operation` on both back ends from a copy of `start` and compares.
fn same(k: &Kernels, start: &[u64], label: &str, operation: impl Fn(&Kernels, &mut [u64])) {
    let (mut expected, mut found) = (start.to_vec(), start.to_vec());
    operation(Kernels::scalar(), &mut expected);
    operation(k, &mut found);
    assert!(
        expected == found,
        "{label}: {} differs from scalar, n = {}",
        k.name(),
        start.len()
    );
}

#[test]
fn required_backends_are_present() {
    let required = std::env::var("OMR_REQUIRE").unwrap_or_default();
    for name in ["avx2", "avx512ifma"] {
        let present = Kernels::by_name(name).is_some();
        if !present {
            println!("SKIP {name}: this CPU does not run it");
        }
        assert!(
            present || !required.split(',').any(|r| r == name),
            "{name} is required"
        );
    }
}

#[test]
fn transforms() {
    let mut rng = Rng::new(1);
    for log_n in 1..=17 {
        let n = 1 << log_n;
        let tables: Vec<_> = [20, 36, 45, 46, 47, 50]
            .iter()
            .flat_map(|&b| tables(b, n))
            .collect();
        assert!(tables.len() > 4, "too few primes for n = {n}");
        for t in tables {
            for row in rows(t.modulus(), n, &mut rng) {
                for k in backends() {
                    same(k, &row, "forward", |k, r| k.ntt_forward(&t, r));
                    same(k, &row, "inverse", |k, r| k.ntt_inverse(&t, r));
                }
            }
        }
    }
}

#[test]
fn pointwise() {
    let mut rng = Rng::new(2);
    for m in moduli() {
        for n in LENGTHS {
            let (starts, others) = (rows(&m, n, &mut rng), rows(&m, n, &mut rng));
            for (start, b) in starts
                .iter()
                .flat_map(|s| others.iter().map(move |b| (s, b)))
            {
                let third = rng.row(n, m.value());
                for k in backends() {
                    same(k, start, "add", |k, a| k.add_assign(&m, a, b));
                    same(k, start, "sub", |k, a| k.sub_assign(&m, a, b));
                    same(k, start, "neg", |k, a| k.neg_assign(&m, a));
                    same(k, start, "mul", |k, a| k.mul_assign(&m, a, b));
                    same(k, start, "mul_add", |k, a| {
                        k.mul_add_assign(&m, a, b, &third)
                    });
                    same(k, start, "mul_add", |k, a| k.mul_add_assign(&m, a, b, b));
                }
            }
        }
    }
}

#[test]
fn constant_factors() {
    let mut rng = Rng::new(3);
    for m in moduli() {
        for n in LENGTHS {
            for c in [0, 1, m.value() - 1, rng.below(m.value())] {
                for (start, b) in rows(&m, n, &mut rng).iter().zip(rows(&m, n, &mut rng)) {
                    for k in backends() {
                        same(k, start, "scale", |k, a| k.scale_assign(&m, a, c));
                        same(k, start, "scale_add", |k, a| {
                            k.scale_add_assign(&m, a, &b, c)
                        });
                        same(k, start, "sub_scale", |k, a| {
                            k.sub_scale_assign(&m, a, &b, c)
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn dot_products() {
    let mut rng = Rng::new(4);
    for m in moduli() {
        for (n, terms) in [(64, 0), (65, 1), (200, 9), (1031, 28), (72, 4096)] {
            let a: Vec<_> = (0..terms).map(|_| rng.row(n, m.value())).collect();
            let b: Vec<_> = (0..terms).map(|_| rng.row(n, m.value())).collect();
            let top = vec![vec![m.value() - 1; n]; terms];
            for (a, b) in [(&a, &b), (&top, &top)] {
                let (a, b) = (slices(a), slices(b));
                for k in backends() {
                    same(k, &vec![1; n], "dot", |k, out| k.dot(&m, out, &a, &b));
                }
            }
        }
    }
}

#[test]
fn conversions() {
    let mut rng = Rng::new(5);
    let limit = 1 << 50;
    for m in moduli() {
        for (n, terms) in [(64, 0), (65, 1), (200, 12), (1031, 28), (72, 256)] {
            let src: Vec<_> = (0..terms).map(|_| rng.row(n, limit)).collect();
            let top = vec![vec![limit - 1; n]; terms];
            for src in [&src, &top] {
                for coef in [rng.row(terms, m.value()), vec![m.value() - 1; terms]] {
                    let src = slices(src);
                    for k in backends() {
                        same(k, &vec![1; n], "convert", |k, out| {
                            k.convert(&m, out, &src, &coef)
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn quotients() {
    let mut rng = Rng::new(6);
    for (n, terms) in [(64, 0), (65, 1), (200, 12), (1031, 28)] {
        for limit in [1 << 20, 1 << 50, 1 << 52] {
            let y: Vec<_> = (0..terms).map(|_| rng.row(n, limit)).collect();
            let inv: Vec<_> = (0..terms)
                .map(|_| 1.0 / (1 + rng.below(limit)) as f64)
                .collect();
            for k in backends() {
                same(k, &vec![1; n], "quotient", |k, out| {
                    k.quotient(out, &slices(&y), &inv)
                });
            }
        }
    }
}

#[test]
fn centred_lifts() {
    let mut rng = Rng::new(7);
    for m in moduli() {
        for p in [1, 2, 3, 8, 65537, 786433, u32::MAX - 4, u32::MAX] {
            for n in LENGTHS {
                let mut src: Vec<_> = (0..n).map(|_| rng.below(p.into()) as u32).collect();
                let edges = [0, p / 2, p / 2 + 1, p - 1];
                src.iter_mut()
                    .zip(edges)
                    .for_each(|(x, edge)| *x = edge.min(p - 1));
                for k in backends() {
                    same(k, &vec![1; n], "lift", |k, out| {
                        k.lift_centered(&m, out, &src, p)
                    });
                }
            }
        }
    }
}

#[test]
fn gathers() {
    let mut rng = Rng::new(8);
    let src = rng.row(777, u64::MAX);
    for n in LENGTHS {
        let idx: Vec<_> = (0..n).map(|_| rng.below(777) as u32).collect();
        for k in backends() {
            same(k, &vec![1; n], "gather", |k, out| k.gather(out, &src, &idx));
        }
    }
}

#[test]
fn gather_refuses_an_index_out_of_range() {
    for k in std::iter::once(Kernels::scalar()).chain(backends()) {
        for bad in [16, u32::MAX] {
            for at in [0, 12] {
                let mut idx = [3; 13];
                idx[at] = bad;
                let gather = || k.gather(&mut [0; 13], &[1; 16], &idx);
                assert!(
                    std::panic::catch_unwind(gather).is_err(),
                    "{}: {bad} at {at}",
                    k.name()
                );
            }
        }
    }
}

fn slices(rows: &[Vec<u64>]) -> Vec<&[u64]> {
    rows.iter().map(Vec::as_slice).collect()
}

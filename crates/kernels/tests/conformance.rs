//! Every back end this CPU runs gives the same bits as the scalar one.
//!
//! `OMR_REQUIRE=avx512ifma,avx2,neon` turns an absent back end into a failure.

mod common;

use common::{Rng, SHAPES, backends, moduli, prime_up_to, random_blocks, sizes, tables};
use omr_kernels::{
    AlignedVec, BlockPermutation, BlockRows, Encoding, Gadget, KEY_ROWS, Kernels, MAX_BLOCK,
    MAX_DOT_TERMS, Modulus, Monomials, NttTable, SlidingRows,
};

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
    for name in ["double", "avx2", "avx512ifma", "neon"] {
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

/// Tables on both sides of every size of modulus at which a back end reduces more often.
fn all_tables(n: usize) -> Vec<NttTable> {
    let bits = [20, 36, 45, 46, 47, 48, 49, 50];
    let mut tables: Vec<_> = bits.iter().flat_map(|&b| tables(b, n)).collect();
    // As many times q fits the 52 bits of a lane.
    for times in [8, 12, 35] {
        let largest = prime_up_to((1 << 52) / times, 2 * n as u64);
        tables.extend(largest.and_then(|m| NttTable::new(m, n).ok()));
    }
    assert!(tables.len() > 8, "too few primes for n = {n}");
    tables
}

#[test]
fn transforms() {
    let mut rng = Rng::new(1);
    for n in sizes((1..=17).map(|log_n| 1 << log_n)) {
        for t in all_tables(n) {
            let q = t.modulus().value();
            let c = rng.below(q);
            for row in rows(t.modulus(), n, &mut rng) {
                for k in backends() {
                    same(k, &row, "forward", |k, r| k.ntt_forward(&t, r));
                    same(k, &row, "inverse", |k, r| k.ntt_inverse(&t, r));
                    for c in [0, 1, c, q - 1] {
                        same(k, &row, "scaled", |k, r| k.ntt_inverse_scaled(&t, r, c));
                        same(k, &row, "out of place", |k, r| {
                            let src = r.to_vec();
                            r.fill(7);
                            k.ntt_inverse_scaled_from(&t, r, &src, c);
                        });
                    }
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
                        for e in [0, m.value() - 1, rng.below(m.value())] {
                            let d = rng.row(n, m.value());
                            for d in [&d, &b] {
                                same(k, start, "sub_scale_add", |k, a| {
                                    k.sub_scale_add_assign(&m, a, &b, c, d, e)
                                });
                            }
                        }
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
        for (n, terms) in [(64, 0), (65, 1), (150, 8), (200, 9), (1031, 28), (72, 4096)] {
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
        for (n, terms) in [(64, 0), (65, 1), (150, 8), (200, 12), (1031, 28), (72, 256)] {
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

/// Numbers of sources around the longest sum that needs one reduction less.
const SOURCES: [usize; 12] = [0, 1, 2, 12, 13, 14, 15, 16, 17, 18, 28, 256];

#[test]
fn conversions_to_several_primes() {
    let mut rng = Rng::new(15);
    let (limit, all) = (1 << 50, moduli());
    for terms in SOURCES {
        for n in [0, 1, 8, 15, 16, 17, 40, 67] {
            let src: Vec<_> = (0..terms).map(|_| rng.row(n, limit)).collect();
            let top = vec![vec![limit - 1; n]; terms];
            for targets in 0..=9 {
                let moduli: Vec<_> = (0..targets)
                    .map(|_| &all[rng.below(all.len() as u64) as usize])
                    .collect();
                for (src, worst) in [(&src, false), (&top, true)] {
                    let coef: Vec<Vec<u64>> = moduli
                        .iter()
                        .map(|m| {
                            if worst {
                                vec![m.value() - 1; terms]
                            } else {
                                rng.row(terms, m.value())
                            }
                        })
                        .collect();
                    for k in backends() {
                        same(k, &vec![1; n * targets], "convert_many", |k, out| {
                            let mut out: Vec<_> = out.chunks_mut(n.max(1)).collect();
                            out.resize_with(targets, Default::default);
                            k.convert_many(&moduli, &mut out, &slices(src), &slices(&coef));
                        });
                    }
                }
            }
        }
    }
}

/// Sums of the largest products, by every method, modulo the largest primes.
#[test]
fn worst_sums() {
    let large = moduli().into_iter().filter(|m| m.bits() >= 49);
    for m in large.collect::<Vec<_>>() {
        let (top, n) = (m.value() - 1, 32);
        for terms in (0..=20).chain([255, 256]) {
            let row = vec![top; n];
            let src = vec![&row[..]; terms];
            let coef = vec![top; terms];
            let square = u128::from(top).pow(2) * terms as u128;
            let expected = vec![(square % u128::from(m.value())) as u64; n];
            for k in Kernels::available() {
                let mut out = vec![vec![1; n]; 4];
                let mut targets: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
                k.convert_many(&[&m; 4], &mut targets, &src, &[&coef[..]; 4]);
                k.convert(&m, &mut out[0], &src, &coef);
                assert!(out.iter().all(|out| *out == expected), "{}", k.name());
                k.dot(&m, &mut out[0], &src, &src);
                assert_eq!(out[0], expected, "{}", k.name());
            }
        }
    }
}

#[test]
fn sliding_sums() {
    let mut rng = Rng::new(16);
    for m in moduli() {
        let q = m.value();
        for (groups, shifts, parts) in SHAPES {
            for terms in [0, 1, 2, 13, 14, 15, 16, 37] {
                for (len, stride) in [(0, 0), (1, 1), (8, 8), (24, 40), (16, 17), (13, 16)] {
                    let mut words = |rows: usize| rng.row(rows * stride, q);
                    let a = words(groups * terms);
                    let b = words((terms + shifts - 1) * parts);
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
                    let outputs = groups * shifts * parts;
                    for k in backends() {
                        same(k, &vec![1; len * outputs], "sliding_dots", |k, out| {
                            let mut out: Vec<_> = out.chunks_mut(len.max(1)).collect();
                            out.resize_with(outputs, Default::default);
                            k.sliding_dots(&m, &mut out, &rows);
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn longest_sliding_sums() {
    let m = moduli().pop().expect("a modulus");
    let (terms, len) = (MAX_DOT_TERMS, 8);
    let a = vec![m.value() - 1; 3 * terms * len];
    let b = vec![m.value() - 1; 2 * (terms + 1) * len];
    let rows = SlidingRows {
        a: &a,
        b: &b,
        stride: len,
        len,
        terms,
        groups: 3,
        shifts: 2,
        parts: 2,
    };
    for k in backends() {
        same(k, &vec![1; 12 * len], "sliding_dots", |k, out| {
            let mut out: Vec<_> = out.chunks_mut(len).collect();
            k.sliding_dots(&m, &mut out, &rows);
        });
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
fn block_permutations() {
    let mut rng = Rng::new(17);
    for blocks in [0, 1, 2, 5, 64, 1000] {
        for patterns in 1..=8 {
            let index = random_blocks(&mut rng, blocks, patterns);
            let permutation = BlockPermutation::new(&index).expect("blocks stay together");
            let src = rng.row(8 * blocks, u64::MAX);
            let mut expected = vec![0; src.len()];
            Kernels::scalar().gather(&mut expected, &src, &index);
            for k in Kernels::available() {
                let mut found = vec![1; src.len()];
                k.permute(&mut found, &src, &permutation);
                assert!(expected == found, "{}: {blocks} blocks", k.name());
            }
        }
    }
}

#[test]
fn spreads() {
    let mut rng = Rng::new(18);
    for (piece, every) in [(1, 1), (8, 8), (8, 16), (5, 8), (13, 24), (64, 200), (7, 9)] {
        for len in LENGTHS {
            let src = rng.row(len, u64::MAX);
            let words = len.div_ceil(piece) * every;
            for (start, spare) in [(0, 0), (0, 5), (1, 0), (4, 3)] {
                for k in backends() {
                    let spread = |k: &Kernels| {
                        let mut out = AlignedVec::zeroed(start + words + spare);
                        out.fill(1);
                        k.spread(&mut out[start..], every, &src, piece);
                        out
                    };
                    let same = spread(k) == spread(Kernels::scalar());
                    assert!(same, "{}: {len} words by {piece}, {every} apart", k.name());
                }
            }
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

/// Factors have no meaning of their own: what comes out of the operations that take them counts.
#[test]
fn pairs_of_dots() {
    let mut rng = Rng::new(23);
    for m in moduli() {
        for n in LENGTHS {
            for terms in [0, 1, 2, 16, 17, 100] {
                let mut some = || -> Vec<Vec<u64>> {
                    let largest = [vec![m.value() - 1; n]].into_iter();
                    let random = (1..terms).map(|_| rng.row(n, m.value()));
                    largest.chain(random).take(terms).collect()
                };
                let [a, b, c, d] = [(); 4].map(|()| some());
                let of = |a: &[Vec<u64>], b: &[Vec<u64>]| {
                    let mut out = vec![0; n];
                    Kernels::scalar().dot(&m, &mut out, &slices(a), &slices(b));
                    out
                };
                let expected = [of(&a, &c), of(&a, &d), of(&b, &c), of(&b, &d)];
                let (a, b, c, d) = (slices(&a), slices(&b), slices(&c), slices(&d));
                for k in Kernels::available() {
                    let mut found = [1, 2, 3, 4].map(|x| vec![x; n]);
                    let out = found.each_mut().map(Vec::as_mut_slice);
                    k.dot_square(&m, out, [&a, &b], [&c, &d]);
                    assert!(found == expected, "{}: {terms} terms of {n}", k.name());
                    let mut pair = [1, 2].map(|x| vec![x; n]);
                    let out = pair.each_mut().map(Vec::as_mut_slice);
                    k.dot_pair(&m, out, &a, [&c, &d]);
                    assert!(pair == expected[..2], "{}: {terms} terms of {n}", k.name());
                }
            }
        }
    }
}

#[test]
fn factors_serve_as_the_residues_do() {
    let mut rng = Rng::new(21);
    for n in sizes([2, 64, 128, 256, 1024, 2048, 4096, 1 << 13, 1 << 16, 1 << 17]) {
        for t in all_tables(n) {
            let m = t.modulus();
            let (x, y, c) = (
                rng.row(n, m.value()),
                rng.row(n, m.value()),
                rng.below(m.value()),
            );
            for row in rows(m, n, &mut rng) {
                let mut residues = row.clone();
                Kernels::scalar().ntt_forward(&t, &mut residues);
                for k in backends() {
                    let mut factors = row.clone();
                    k.ntt_factors(&t, &mut factors);
                    let found = serve(k, m, &factors, [&x, &y], c);
                    let expected = serve(Kernels::scalar(), m, &residues, [&x, &y], c);
                    assert!(found == expected, "{}: {n} modulo {}", k.name(), m.value());
                }
            }
        }
    }
}

/// Factors are larger than residues: sums of many products of them need one reduction more.
#[test]
fn sums_of_many_products_of_factors() {
    let mut rng = Rng::new(34);
    let n = sizes([1 << 11, 1 << 13]).last().expect("a size");
    for t in all_tables(n) {
        let m = t.modulus();
        for terms in (1..=17).chain([40]) {
            let [digits, b, c] = [(); 3].map(|()| {
                let row = |_| rng.row(n, m.value());
                (0..terms).map(row).collect::<Vec<_>>()
            });
            let with = |k: &Kernels| {
                let mut a = digits.clone();
                a.iter_mut().for_each(|row| k.ntt_factors(&t, row));
                let [a, b, c] = [&a, &b, &c].map(|rows| slices(rows));
                let mut pair = [(); 2].map(|()| vec![0; n]);
                k.dot_pair(m, pair.each_mut().map(Vec::as_mut_slice), &a, [&b, &c]);
                let mut square = [(); 4].map(|()| vec![0; n]);
                let out = square.each_mut().map(Vec::as_mut_slice);
                k.dot_square(m, out, [&a, &a], [&b, &c]);
                (pair, square)
            };
            let expected = with(Kernels::scalar());
            for k in backends() {
                let same = with(k) == expected;
                assert!(same, "{}: {terms} terms modulo {}", k.name(), m.value());
            }
        }
    }
}

#[test]
fn factors_serve_as_digits() {
    let mut rng = Rng::new(33);
    for n in [8, 2048] {
        for t in all_tables(n) {
            let (monomials, q) = (Monomials::new(&t), t.modulus().value());
            for row in rows(t.modulus(), n, &mut rng) {
                let key = [(); 2].map(|()| rng.row(n * KEY_ROWS * MAX_BLOCK, q));
                let exponents: [u32; MAX_BLOCK] = [3, 0, 5, 7, 2, 1, 4, 11, 13, 6];
                let with = |k: &Kernels| {
                    let mut digits = row.clone();
                    k.ntt_factors(&t, &mut digits);
                    let rows = BlockRows {
                        digits: &[[&digits[..]; 2]; 2],
                        key: &[&key[0], &key[1]],
                        exponents: &exponents,
                    };
                    let (mut body, mut mask) = (vec![0; n], vec![0; n]);
                    k.block_product(&monomials, [&mut body, &mut mask], &rows);
                    (body, mask)
                };
                let expected = with(Kernels::scalar());
                for k in backends() {
                    assert!(with(k) == expected, "{}: {n} modulo {q}", k.name());
                }
            }
        }
    }
}

/// Returns the results of the operations that take factors, applied to `row`.
fn serve(k: &Kernels, m: &Modulus, row: &[u64], [x, y]: [&[u64]; 2], c: u64) -> [Vec<u64>; 3] {
    let mut dot = vec![0; row.len()];
    k.dot(m, &mut dot, &[row; 3], &[x, y, x]);
    let [mut sub_scale, mut sub_scale_add] = [(); 2].map(|()| x.to_vec());
    k.sub_scale_assign(m, &mut sub_scale, row, c);
    k.sub_scale_add_assign(m, &mut sub_scale_add, row, c, y, c);
    [dot, sub_scale, sub_scale_add]
}

#[test]
fn encodings() {
    let mut rng = Rng::new(22);
    for n in sizes([64, 1024, 2048, 4096, 1 << 13, 1 << 16]) {
        for t in all_tables(n) {
            let m = *t.modulus();
            for (p, piece, every) in [
                (65537, 128, 136),
                (786433, 8, 16),
                (257, 64, 64),
                (97, 24, 29),
            ] {
                let coeffs: Vec<u32> = (0..n).map(|_| rng.below(p) as u32).collect();
                let factor = rng.row(n, m.value());
                let encode = |k: &Kernels, shift: usize| {
                    let mut out = AlignedVec::zeroed(shift + n.div_ceil(piece) * every);
                    let encoding = Encoding {
                        coeffs: &coeffs,
                        p: p as u32,
                        out: &mut out[shift..],
                        every,
                        piece,
                    };
                    k.encode(&t, &mut vec![1; n], encoding);
                    let pieces = out[shift..].chunks(every).flat_map(|place| &place[..piece]);
                    let row: Vec<u64> = pieces.copied().take(n).collect();
                    let mut product = vec![0; n];
                    k.dot(&m, &mut product, &[&row], &[&factor]);
                    product
                };
                let expected = encode(Kernels::scalar(), 0);
                for k in backends() {
                    for shift in [0, 3] {
                        let same = encode(k, shift) == expected;
                        assert!(same, "{}: {n} by {piece}, modulo {}", k.name(), m.value());
                    }
                }
            }
        }
    }
}

#[test]
fn digits() {
    let mut rng = Rng::new(31);
    for m in moduli() {
        for (bits, digits) in [(1, 1), (7, 2), (16, 1), (4, 4), (16, 2), (7, 6)] {
            if bits * digits + 1 >= m.bits() {
                continue;
            }
            let (gadget, count) = (Gadget { bits, digits }, digits as usize);
            for n in LENGTHS {
                for row in rows(&m, n, &mut rng) {
                    for k in backends() {
                        same(k, &vec![0; n * count], "decompose", |k, out| {
                            let mut out: Vec<&mut [u64]> = out.chunks_mut(n.max(1)).collect();
                            out.resize_with(count, Default::default);
                            k.decompose(&m, gadget, &mut out, &row);
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn block_products() {
    let mut rng = Rng::new(32);
    for (log_n, bits) in [(3, 20), (4, 49), (6, 50), (11, 50)] {
        let n = 1 << log_n;
        for t in tables(bits, n) {
            let (m, q) = (Monomials::new(&t), t.modulus().value());
            for (levels, keys) in [(1, 1), (1, 8), (2, 8), (2, 3), (3, 5), (2, MAX_BLOCK)] {
                let row = |rng: &mut Rng, len| match rng.below(4) {
                    0 => vec![q - 1; len],
                    _ => rng.row(len, q),
                };
                let digits: Vec<[Vec<u64>; 2]> = (0..levels)
                    .map(|_| [row(&mut rng, n), row(&mut rng, n)])
                    .collect();
                let key: Vec<Vec<u64>> = (0..levels)
                    .map(|_| row(&mut rng, n * KEY_ROWS * keys))
                    .collect();
                let exponents = (0..keys).map(|_| rng.below(2 * n as u64) as u32);
                let exponents: Vec<u32> = exponents.collect();
                let digits: Vec<[&[u64]; 2]> = digits
                    .iter()
                    .map(|d| d.each_ref().map(|r| &r[..]))
                    .collect();
                let key: Vec<&[u64]> = key.iter().map(|key| &key[..]).collect();
                let rows = BlockRows {
                    digits: &digits,
                    key: &key,
                    exponents: &exponents,
                };
                for k in backends() {
                    same(k, &vec![7; 2 * n], "block_product", |k, out| {
                        k.block_product(&m, out.split_at_mut(n).into(), &rows);
                    });
                }
            }
        }
    }
}

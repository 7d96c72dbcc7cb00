//! Sums of products of 32-bit words, by every back end that this CPU runs, against their definition in wide integers.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Rng, prime_above, prime_below};
use omr_kernels::{Kernels, MAX_DOT_TERMS, Modulus, WORD_LINE, WordRows, is_prime, place_words};

/// Lists of rows.
type Lists = Vec<Vec<Vec<u64>>>;

/// Lists of `a`, lists of `b`, terms and the length of a row.
#[derive(Clone, Copy, Debug)]
struct Shape {
    a: usize,
    b: usize,
    terms: usize,
    n: usize,
}

/// Returns lists of rows, which `row` makes.
fn lists(count: usize, terms: usize, mut row: impl FnMut() -> Vec<u64>) -> Lists {
    let mut list = || (0..terms).map(|_| row()).collect();
    (0..count).map(|_| list()).collect()
}

/// Returns the words of some lists, interleaved.
fn words(lists: &Lists, terms: usize, n: usize) -> Vec<u32> {
    let mut words = vec![7; n.div_ceil(WORD_LINE) * lists.len() * terms * WORD_LINE];
    for (i, list) in lists.iter().enumerate() {
        let rows: Vec<&[u64]> = list.iter().map(Vec::as_slice).collect();
        place_words(&mut words, lists.len(), i, &rows);
    }
    words
}

/// Returns the sums of the products of two lists, one place after the other.
fn definition(m: &Modulus, a: &[Vec<u64>], b: &[Vec<u64>], n: usize) -> Vec<u64> {
    let sum = |x: usize| -> u128 {
        let rows = a.iter().zip(b);
        rows.map(|(a, b)| u128::from(a[x]) * u128::from(b[x])).sum()
    };
    let q = u128::from(m.value());
    (0..n).map(|x| (sum(x) % q) as u64).collect()
}

/// Compares all back ends with the definition.
fn compare(m: &Modulus, a: &Lists, b: &Lists, shape: Shape) {
    let Shape { terms, n, .. } = shape;
    let all = words(a, terms, n);
    let parts: Vec<_> = b
        .iter()
        .map(|list| words(&vec![list.clone()], terms, n))
        .collect();
    let rows = WordRows {
        a: &all,
        b: &parts.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        terms,
    };
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let expected: Vec<_> = pairs.map(|(a, b)| definition(m, a, b, n)).collect();
    for k in Kernels::available() {
        let mut out = vec![vec![1; n]; a.len() * b.len()];
        let mut targets: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
        k.dot_words(m, &mut targets, &rows);
        assert!(out == expected, "{}: {} {shape:?}", k.name(), m.value());
    }
}

/// The largest prime below `2^32`, primes at both ends of other lengths, and the smallest ones.
fn moduli() -> Vec<Modulus> {
    let largest = (1u64 << 31..1 << 32).rev().find(|&q| is_prime(q));
    let values = [3, 5, 65_537, largest.expect("a prime")];
    let mut moduli: Vec<_> = values
        .map(|q| Modulus::new(q).expect("a prime"))
        .into_iter()
        .collect();
    for bits in [20, 31, 32] {
        moduli.extend([prime_above(bits, 2), prime_below(bits, 2)].map(|m| m.expect("a prime")));
    }
    moduli
}

#[test]
fn sums_of_random_and_of_largest_residues() {
    let mut rng = Rng::new(1);
    let lengths = if cfg!(miri) {
        vec![17]
    } else {
        vec![1, 8, 15, 16, 17, 32, 71]
    };
    for m in moduli() {
        for &n in &lengths {
            for (a, b) in [(1, 1), (1, 2), (2, 3), (3, 4), (2, 7), (1, 16)] {
                for terms in [1, 2, 5, 36] {
                    let shape = Shape { a, b, terms, n };
                    let mut random = |count| lists(count, terms, || rng.row(n, m.value()));
                    compare(&m, &random(a), &random(b), shape);
                    let top = |count| lists(count, terms, || vec![m.value() - 1; n]);
                    compare(&m, &top(a), &top(b), shape);
                    compare(&m, &top(a), &random(b), shape);
                }
            }
        }
    }
}

#[test]
fn longest_sums() {
    let mut rng = Rng::new(2);
    let n = WORD_LINE + 3;
    for m in moduli() {
        for terms in [300, MAX_DOT_TERMS - 1, MAX_DOT_TERMS] {
            let (a, b) = (1, 3);
            let shape = Shape { a, b, terms, n };
            let top = |count| lists(count, terms, || vec![m.value() - 1; n]);
            compare(&m, &top(a), &top(b), shape);
            // Halves of products that are all ones or all zeros.
            let mut edges = || lists(1, terms, || rng.row(n, 2));
            let mut edge = edges();
            for x in edge.iter_mut().flatten().flatten() {
                *x *= m.value() - 1;
            }
            compare(&m, &edge, &top(b), shape);
        }
    }
}

#[test]
fn nothing_to_add() {
    let m = moduli().pop().expect("a modulus");
    let rows = WordRows {
        a: &[],
        b: &[&[], &[]],
        terms: 0,
    };
    for k in Kernels::available() {
        let (mut first, mut second) = ([1; 19], [1; 19]);
        k.dot_words(&m, &mut [&mut first, &mut second], &rows);
        assert_eq!([first, second], [[0; 19]; 2], "{}", k.name());
        k.dot_words(&m, &mut [], &rows);
        k.dot_words(&m, &mut [&mut [], &mut []], &WordRows { terms: 5, ..rows });
        k.dot_words(&m, &mut [], &WordRows { b: &[], ..rows });
    }
}

#[test]
fn places_by_hand() {
    let mut out = vec![7; 2 * 3 * 2 * WORD_LINE];
    let rows: Vec<Vec<u64>> = (0..2)
        .map(|i| (0..20).map(|x| 100 * i + x).collect())
        .collect();
    place_words(&mut out, 3, 1, &[&rows[0], &rows[1]]);
    for (at, &word) in out.iter().enumerate() {
        let (place, row) = (at % WORD_LINE, at / WORD_LINE % 2);
        let (list, line) = (at / (2 * WORD_LINE) % 3, at / (6 * WORD_LINE));
        let x = WORD_LINE * line + place;
        let expected = match list {
            1 => rows[row].get(x).copied().unwrap_or(0),
            _ => 7,
        };
        assert_eq!(u64::from(word), expected, "word {at}");
    }
}

/// Whether every back end panics.
#[track_caller]
fn refused(label: &str, m: &Modulus, lengths: &[usize], rows: WordRows<'_>) {
    for k in Kernels::available() {
        let mut out: Vec<_> = lengths.iter().map(|&n| vec![0; n]).collect();
        let mut out: Vec<_> = out.iter_mut().map(Vec::as_mut_slice).collect();
        let call = AssertUnwindSafe(|| k.dot_words(m, &mut out, &rows));
        assert!(catch_unwind(call).is_err(), "{}: {label}", k.name());
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let m = prime_below(32, 2).expect("a prime");
    let (n, terms) = (20, 3);
    let part = vec![0; 2 * terms * WORD_LINE];
    let a = vec![0; 2 * part.len()];
    let fits = WordRows {
        a: &a,
        b: &[&part, &part],
        terms,
    };
    for k in Kernels::available() {
        let mut out = vec![[1; 20]; 4];
        let mut targets: Vec<_> = out.iter_mut().map(|row| &mut row[..]).collect();
        k.dot_words(&m, &mut targets, &fits);
        assert!(out.iter().flatten().all(|&x| x == 0));
    }
    let large = prime_above(33, 2).expect("a prime");
    refused("a modulus of 33 bits", &large, &[n; 4], fits);
    for lengths in [&[n; 3][..], &[n; 5], &[n; 2], &[n; 6], &[]] {
        refused("a number of outputs", &m, lengths, fits);
    }
    for lengths in [[n, n, n, 19], [16, n, n, n], [16; 4], [33; 4]] {
        refused("lengths of outputs", &m, &lengths, fits);
    }
    let short = &part[1..];
    let changes = [
        WordRows { a: &a[1..], ..fits },
        WordRows { a: short, ..fits },
        WordRows { terms: 2, ..fits },
        WordRows { terms: 6, ..fits },
        WordRows { b: &[], ..fits },
        WordRows {
            b: &[&part, short],
            ..fits
        },
        WordRows {
            b: &[&part],
            ..fits
        },
        // Products that wrap around.
        WordRows {
            terms: 1 << 60,
            ..fits
        },
    ];
    for (i, change) in changes.into_iter().enumerate() {
        // Two outputs for each of two lists are what one list with itself makes of half the words, too.
        refused(&format!("change {i}"), &m, &[n; 4], change);
    }
    let many = MAX_DOT_TERMS + 1;
    let words = vec![0; many * WORD_LINE];
    let rows = WordRows {
        a: &words,
        b: &[&words],
        terms: many,
    };
    refused("too many terms", &m, &[n], rows);
}

#[test]
fn rows_that_have_no_place() {
    let (row, short) = ([1; 20], [1; 19]);
    let two = 2 * 2 * WORD_LINE;
    for (len, lists, list, rows) in [
        (two, 2, 2, vec![&row[..]]),
        (two, 0, 0, vec![&row[..]]),
        (two - 1, 2, 0, vec![&row[..]]),
        (two + WORD_LINE, 2, 0, vec![&row[..]]),
        (two, 1, 0, vec![&row[..], &short[..]]),
        (two, 2, 0, vec![&row[..], &row[..]]),
        (two, 1 << 60, 0, vec![&row[..]]),
        (two, 2, 0, vec![]),
    ] {
        let call = || place_words(&mut vec![0; len], lists, list, &rows);
        assert!(
            catch_unwind(call).is_err(),
            "{len} words, list {list} of {lists}"
        );
    }
    place_words(&mut [], 2, 1, &[]);
    place_words(&mut [], 2, 1, &[&[], &[]]);
}

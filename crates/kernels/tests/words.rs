//! Sums of products of 32-bit words, by every back end that this CPU runs, against their definition in wide integers.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Rng, prime_above, prime_below};
use omr_kernels::{AlignedVec, Kernels, MAX_DOT_TERMS, Modulus, WORD_LINE, WordRows, place_words};

/// Lists of rows.
type Lists = Vec<Vec<Vec<u64>>>;

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

/// Compares all back ends with the definition, for outputs that start on a cache line and beside one: rows of `n`
/// residues in lists of `terms`.
fn compare(m: &Modulus, a: &Lists, b: &Lists, terms: usize, n: usize) {
    let of_term = |i: usize| -> Lists { a.iter().map(|list| vec![list[i].clone()]).collect() };
    let all: Vec<_> = (0..terms).map(|i| words(&of_term(i), 1, n)).collect();
    let parts: Vec<_> = b
        .iter()
        .map(|list| words(&vec![list.clone()], terms, n))
        .collect();
    let rows = WordRows {
        a: &all.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        b: &parts.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    };
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let expected: Vec<_> = pairs.map(|(a, b)| definition(m, a, b, n)).collect();
    for (k, start) in Kernels::available().iter().flat_map(|k| [(k, 0), (k, 1)]) {
        let mut out = vec![AlignedVec::zeroed(n + 1); expected.len()];
        let rooms = out.iter_mut().map(|row| &mut row[start..start + n]);
        k.dot_words(m, &mut rooms.collect::<Vec<_>>(), &rows);
        for (i, (out, expected)) in out.iter().zip(&expected).enumerate() {
            assert!(
                out[start..start + n] == expected[..],
                "{}: output {i}, {terms} terms of {n} modulo {}, from {start}",
                k.name(),
                m.value()
            );
            assert_eq!(out[n * (1 - start)], 0, "{}: a word beside", k.name());
        }
    }
}

#[test]
fn squares_of_sums() {
    let mut rng = Rng::new(77);
    let [low, high] = [prime_above(30, 2), prime_below(31, 2)];
    let moduli = [Modulus::new(3).ok(), low, high].into_iter().flatten();
    for m in moduli {
        for (n, terms) in [(256, 64), (40, 0), (37, 1), (16, 5), (24, MAX_DOT_TERMS)] {
            let random = lists(4, terms, || rng.row(n, m.value()));
            let top = lists(4, terms, || vec![m.value() - 1; n]);
            for four in [random, top] {
                let words: Vec<Vec<Vec<u32>>> = four
                    .iter()
                    .map(|list| list.iter().map(|row| narrow(row)).collect())
                    .collect();
                let rows: Vec<Vec<&[u32]>> = words
                    .iter()
                    .map(|list| list.iter().map(|row| &row[1..]).collect())
                    .collect();
                for k in Kernels::available() {
                    let mut out: [Vec<u64>; 4] = std::array::from_fn(|_| vec![1; n]);
                    let places = out.each_mut().map(|row| &mut row[..]);
                    k.dot_square_words(&m, places, [&rows[0], &rows[1]], [&rows[2], &rows[3]]);
                    for (i, out) in out.iter().enumerate() {
                        let expected = definition(&m, &four[i / 2], &four[2 + i % 2], n);
                        let of = format!("{}: output {i}, {terms} of {n}", k.name());
                        assert!(*out == expected, "{of} modulo {}", m.value());
                    }
                }
            }
        }
    }
}

/// Returns a row as words, one place late, so that rows start anywhere.
fn narrow(row: &[u64]) -> Vec<u32> {
    std::iter::once(5)
        .chain(row.iter().map(|&x| x as u32))
        .collect()
}

/// The smallest primes, and those at both ends of some lengths.
fn moduli() -> Vec<Modulus> {
    let small = [3, 5, 65_537].map(|q| Modulus::new(q).ok());
    let ends = |bits| [prime_above(bits, 2), prime_below(bits, 2)];
    let large = [20, 31, 32].into_iter().flat_map(ends);
    let moduli: Vec<_> = small.into_iter().chain(large).flatten().collect();
    assert_eq!(moduli.len(), 9);
    moduli
}

#[test]
fn sums_of_random_and_of_largest_residues() {
    let mut rng = Rng::new(1);
    for m in moduli() {
        for n in [1, 8, 15, 16, 17, 32, 71] {
            for (a, b) in [(1, 1), (1, 2), (2, 3), (3, 4), (2, 7), (1, 16)] {
                for terms in [1, 2, 5, 36] {
                    let mut random = |count| lists(count, terms, || rng.row(n, m.value()));
                    compare(&m, &random(a), &random(b), terms, n);
                    let top = |count| lists(count, terms, || vec![m.value() - 1; n]);
                    compare(&m, &top(a), &top(b), terms, n);
                    compare(&m, &top(a), &random(b), terms, n);
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
            let top = |count| lists(count, terms, || vec![m.value() - 1; n]);
            compare(&m, &top(1), &top(3), terms, n);
            // Zeros and largest residues in random order.
            let mixed = lists(1, terms, || {
                let bits = rng.row(n, 2).into_iter();
                bits.map(|bit| bit * (m.value() - 1)).collect()
            });
            compare(&m, &mixed, &top(3), terms, n);
        }
    }
}

#[test]
fn nothing_to_add() {
    let m = moduli().pop().expect("a modulus");
    let rows = WordRows {
        a: &[],
        b: &[&[], &[]],
    };
    for k in Kernels::available() {
        let (mut first, mut second) = ([1; 19], [1; 19]);
        k.dot_words(&m, &mut [&mut first, &mut second], &rows);
        assert_eq!([first, second], [[0; 19]; 2], "{}", k.name());
        k.dot_words(&m, &mut [], &rows);
        let empty: &[u32] = &[];
        let terms = &[empty; 5];
        k.dot_words(&m, &mut [&mut [], &mut []], &WordRows { a: terms, ..rows });
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
    let (term, list) = (&part[..4 * WORD_LINE], &part[..]);
    let fits = WordRows {
        a: &[term; 3],
        b: &[list; 2],
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
    let (short_term, short_list) = (&term[1..], &list[1..]);
    let terms: [&[&[u32]]; 6] = [
        &[],
        &[term; 2],
        &[term; 4],
        &[term, term, short_term],
        &[short_term, term, term],
        &[list; 3],
    ];
    for (i, a) in terms.into_iter().enumerate() {
        refused(&format!("terms {i}"), &m, &[n; 4], WordRows { a, ..fits });
    }
    let lists: [&[&[u32]]; 5] = [
        &[],
        &[list],
        &[list, short_list],
        &[short_list, list],
        &[term; 2],
    ];
    for (i, b) in lists.into_iter().enumerate() {
        refused(&format!("lists {i}"), &m, &[n; 4], WordRows { b, ..fits });
    }
    let many = MAX_DOT_TERMS + 1;
    let words = vec![0; many * WORD_LINE];
    let rows = WordRows {
        a: &vec![&words[..WORD_LINE]; many],
        b: &[&words],
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

//! Comparison of the kernels, compiled for the processor, with the ring's operations; with `OMR_CARD` the kernels run
//! on a card.

use omr_cuda::{Arithmetic, Changes, CudaRing, Emulated, Machine, checks};
use omr_protocol::instantomr::InstantParams;
use omr_protocol::sophomr::Params;
use omr_ring::{Basis, Coeff, MAX_BLOCK, Poly};
use std::sync::Arc;

fn machines() -> [Arc<dyn Machine>; 2] {
    [Arithmetic::Whole, Arithmetic::Floating].map(Emulated::or_card)
}

#[test]
fn rows_equal_those_of_the_processor() {
    for machine in machines() {
        checks::rows(&machine).unwrap();
    }
}

/// Every switch from one level of a set to the next.
#[test]
fn levels_equal_those_of_the_processor() {
    let params = Params::named("insecure-tiny-v4").unwrap();
    let levels = 0..params.chain.len();
    let levels: Vec<&Basis> = levels.map(|level| params.chain.basis(level)).collect();
    for machine in machines() {
        checks::switches(&machine, &params.ring, &levels, params.p()).unwrap();
    }
}

/// All dimensions, lengths of blocks and gadgets of the published sets.
#[test]
fn messages_equal_those_of_the_processor() {
    let machine = Emulated::or_card(Arithmetic::Floating);
    for name in ["insecure-tiny-hybrid-v4", "hybrid-v4", "instantomr-v2"] {
        let params = InstantParams::named(name).unwrap();
        checks::messages(&machine, &params).unwrap();
    }
}

/// A polynomial of one ring may be read by another: after a failure of one, none works on until nobody watches.
#[test]
fn rings_beside_one_another_fail_together() {
    let params = Params::named("insecure-tiny-v4").unwrap();
    let card = Emulated::new(Arithmetic::Whole);
    let large = Arc::new(CudaRing::new(card.clone(), &params.ring).unwrap());
    let small = Arc::new(large.beside(&params.small).unwrap());
    let ring = params.ring.with_backend(large);
    let watches = [ring.watch(), params.small.with_backend(small).watch()];
    card.fail_after(0);
    ring.forward(Poly::<Coeff>::zero(&ring, &ring.everything()));
    card.fail_after(usize::MAX);
    let [of_large, of_small] = watches;
    assert!(of_large.failure().is_some());
    drop(of_large);
    assert!(of_small.failure().is_some());
    drop(of_small);
    assert_eq!(ring.watch().failure(), None);
}

/// Faults in kernels, as changes of their sources.
const MUTANTS: [(&str, Arithmetic, Changes<'_>); 28] = [
    (
        "columns of one residue",
        Arithmetic::Whole,
        &[("HALVES(own[1])[step * (", "HALVES(own[1])[(")],
    ),
    (
        "values in the order of their column",
        Arithmetic::Whole,
        &[("own[2] ? HALVES(own[2])[AT] : AT", "AT")],
    ),
    (
        "a run of products with one row",
        Arithmetic::Whole,
        &[("        b += run[3];\n", "")],
    ),
    (
        "a run of products without its last pair",
        Arithmetic::Whole,
        &[("pair < run[4]", "pair < (run[4] + 1) / 2")],
    ),
    (
        "an ending without the transform's factor",
        Arithmetic::Floating,
        &[("add_product(&s, x, ending[1]);", "s.low += x;")],
    ),
    (
        "packed residues of the first matrix only",
        Arithmetic::Whole,
        &[("call[call[6] + own[2] + AT]", "call[call[6] + AT]")],
    ),
    (
        "a packed residue without its sign",
        Arithmetic::Whole,
        &[("if (source % 2) x = p - x;", "")],
    ),
    (
        "a packed residue that ends with a half of a word",
        Arithmetic::Whole,
        &[("(u64)halves[1] << 32 | halves[0]", "halves[0]")],
    ),
    (
        "a missing row of packed residues that is not zero",
        Arithmetic::Whole,
        &[("u64 x = 0;", "u64 x = 1;")],
    ),
    (
        "a residue as large as the prime's bits allow",
        Arithmetic::Whole,
        &[("count += OWN(words)[i] < q;", "count += 1;")],
    ),
    (
        "kept words of a later round over those of an earlier one",
        Arithmetic::Whole,
        &[("u64 to = made + counts", "u64 to = counts")],
    ),
    (
        "a block of a stream twice",
        Arithmetic::Whole,
        &[("first += THREADS", "first += THREADS - 1")],
    ),
    (
        "a turn that goes beyond its half",
        Arithmetic::Whole,
        &[("((column + turn) & (half - 1))", "(column + turn)")],
    ),
    (
        "a carry of short products that is lost",
        Arithmetic::Whole,
        &[("  s->high += s->low < before;", "")],
    ),
    (
        "values that are not centred before four levels",
        Arithmetic::Floating,
        &[("  CENTRE\n  levels16(", "  levels16(")],
    ),
    (
        "values that are not centred after two levels back",
        Arithmetic::Floating,
        &[(
            "  CENTRE\n  if (skipped < 2) { INVERSE(4) }",
            "  if (skipped < 2) { INVERSE(4) }",
        )],
    ),
    (
        "a bound that does not grow",
        Arithmetic::Whole,
        &[("  bound *= 2;\n", "\n")],
    ),
    (
        "a factor off by one",
        Arithmetic::Floating,
        &[(
            "factors, root + piece, 0);",
            "factors, root + piece + 1, 0);",
        )],
    ),
    (
        "two phases as one",
        Arithmetic::Whole,
        &[(
            "  END\n  PHASE\n    const u32 column = thread & 15, t = thread >> 4;\n    \
             UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((16",
            "    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((16",
        )],
    ),
    (
        "a sum that is not reduced",
        Arithmetic::Whole,
        &[(
            "fold(fold(times(m, s.high, wide)",
            "(fold(times(m, s.high, wide)",
        )],
    ),
    (
        "a carry that is lost",
        Arithmetic::Whole,
        &[("HIGH(a, b) + (s->low < before)", "HIGH(a, b)")],
    ),
    (
        "wraps that are not rounded",
        Arithmetic::Whole,
        &[("double wraps = 0.5;", "double wraps = 0.0;")],
    ),
    (
        "wraps in double precision that are not rounded",
        Arithmetic::Floating,
        &[("double wraps = 0.5;", "double wraps = 0.0;")],
    ),
    (
        "what products of a conversion leave is lost",
        Arithmetic::Floating,
        &[("BITS_OF(ADD(rest, ROUNDS));\n}", "BITS_OF(ROUNDS);\n}")],
    ),
    (
        "sources that are not centred",
        Arithmetic::Floating,
        &[("ADD(whole, -TWO52 / 8)", "whole")],
    ),
    (
        "a lower place for sums of conversions",
        Arithmetic::Floating,
        &[("0x1.4p104", "0x1p104")],
    ),
    (
        "a higher place for sums of conversions",
        Arithmetic::Floating,
        &[("0x1.4p104", "0x1.8p104")],
    ),
    (
        "a quotient of a conversion that is not rounded to an even integer",
        Arithmetic::Floating,
        &[(
            "FMA(h, m.reciprocal, EVENS), -EVENS",
            "FMA(h, m.reciprocal, ROUNDS), -ROUNDS",
        )],
    ),
];

/// The checks that kernels must pass find every fault.
#[test]
fn mutants_are_found() {
    let params = Params::named("insecure-tiny-v4").unwrap();
    let levels = (0..4).map(|level| params.chain.basis(level));
    let levels: Vec<&Basis> = levels.collect();
    for (fault, arithmetic, changes) in MUTANTS {
        let machine: Arc<dyn Machine> = Emulated::changed(arithmetic, changes);
        let passed = checks::rows(&machine).is_ok()
            && checks::switches(&machine, &params.ring, &levels, params.p()).is_ok();
        assert!(!passed, "{fault}");
    }
}

/// Faults in InstantOMR's kernels, as changes of their sources.
const MESSAGE_MUTANTS: [(&str, Changes<'_>); 11] = [
    (
        "a quotient that is not rounded to an even integer",
        &[(
            "FMA(high, m.reciprocal, EVENS), -EVENS",
            "FMA(high, m.reciprocal, ROUNDS), -ROUNDS",
        )],
    ),
    ("a lower place for sums", &[("0x1.6p102", "0x1.6p101")]),
    (
        "what products leave is lost",
        &[("s->low = ADD(s->low, rest);", "s->low = rest;")],
    ),
    (
        "a factor off by one",
        &[(
            "f->down, 16 + (t >> (f->log_n - 8))",
            "f->down, 17 + (t >> (f->log_n - 8))",
        )],
    ),
    (
        "two phases of a rotation as one",
        &[(
            "    END\n    PHASE\n      TEAM\n      ROLLED for (u32 row = team; row < PARTS * DIGITS; \
             row += TEAMS) down_last",
            "      ROLLED for (u32 row = team; row < PARTS * DIGITS; row += TEAMS) down_last",
        )],
    ),
    (
        "two phases of a trace as one",
        &[(
            "    END\n    PHASE\n      TEAM\n      if (team < 2) up_middle",
            "      if (team < 2) up_middle",
        )],
    ),
    (
        "the sign of a digit",
        &[("-ADD(TWO52, (double)", "-ADD(TWO52, -(double)")],
    ),
    (
        "a place in bit-reversed order off by one",
        &[(
            "2 * REVERSED(at, f->log_n) + 1",
            "2 * REVERSED(at, f->log_n)",
        )],
    ),
    (
        "the digits of bodies and masks exchanged",
        &[("PLACE(2 * r + s / 2 % 2,", "PLACE(2 * r + s % 2,")],
    ),
    (
        "a window without its other sign",
        &[("& n && window[1] ? m.q", "& n && 0 ? m.q")],
    ),
    (
        "an image without its other sign",
        &[("k & n && x ? m.q - x : x", "x")],
    ),
];

#[test]
fn mutants_of_messages_are_found() {
    let params = InstantParams::named("insecure-tiny-hybrid-v4").unwrap();
    for (fault, changes) in MESSAGE_MUTANTS {
        let machine: Arc<dyn Machine> = Emulated::changed(Arithmetic::Floating, changes);
        let passed = checks::messages(&machine, &params);
        println!("{fault}: {passed:?}");
        assert!(passed.is_err(), "{fault}");
    }
}

/// The ranges that `floating.h` states, for the largest primes: of values, products and their quotients.
#[test]
fn double_precision_is_exact_up_to_fifty_bits() {
    let q = 50f64.exp2();
    let (values, quotients) = (53f64.exp2(), 51f64.exp2());
    // For a value of this bound times a factor of at most q/2, in units of q.
    let product = |bound: f64| {
        assert!(bound * q < values && bound * q / 2.0 < quotients, "{bound}");
        0.5 + bound * q / values
    };
    let centred = 0.5 + 8.0 / q;
    let forward = (0..4).fold(centred, |bound, _| bound + product(bound));
    assert!(forward * q < values);
    let back = (0..2).fold(centred, |bound: f64, _| {
        product(2.0 * bound).max(2.0 * bound)
    });
    assert!(back * q < values);
}

/// The ranges that `conversions.cu` states, for the largest primes and the most sources.
#[test]
fn conversions_are_exact_from_44_primes() {
    let q = 50f64.exp2();
    let products = 45.0 * 98f64.exp2();
    let top = 1.25 * 104f64.exp2();
    // The upper part stays where its words are 2^51 or 2^52 apart: a product leaves half of that.
    assert!(top - products >= 103f64.exp2() && top + products <= 105f64.exp2());
    let rest = 51f64.exp2();
    // In units of 2^51, times at most q/2: the quotient is rounded to an even integer, with the errors of its own.
    let quotient = products / 51f64.exp2() / 2.0;
    assert!(quotient < 52f64.exp2());
    assert!(q * (1.0 + 2.0 * quotient / 53f64.exp2()) < rest);
    assert!(46.0 * rest < 57f64.exp2());
}

/// The ranges that `messages.cu` states, for the largest primes and the longest blocks: of sums of products in two
/// parts, and of the steps after them. They are in units of q unless they are powers of two.
#[test]
fn sums_of_products_are_exact_up_to_blocks_of_ten() {
    let q = 50f64.exp2();
    let largest = q / 2.0;
    let sum = MAX_BLOCK as f64 * largest * largest;
    let top = 1.375 * 102f64.exp2();
    // The upper part stays where its words are 2^49 or 2^50 apart: a product leaves half of that.
    assert!(top - sum >= 101f64.exp2() && top + sum <= 103f64.exp2());
    let rest = 49f64.exp2();
    let low = MAX_BLOCK as f64 * rest;
    assert!(low < 53f64.exp2());
    // A quotient rounded to an even integer leaves at most q and the error of its own rounding.
    let quotient = sum / q;
    assert!(quotient < 52f64.exp2());
    let narrowed = q * (1.0 + quotient / 53f64.exp2()) + low;
    assert!(narrowed < 53f64.exp2());
    // Times a digit's value of at most q/2.
    let centred = q * (0.5 + 8.0 / q);
    let quotient = narrowed * centred / q;
    assert!(quotient < 52f64.exp2());
    let product = q * (1.0 + quotient / 53f64.exp2()) + narrowed * centred / 53f64.exp2();
    assert!(product < 51f64.exp2());
    // Two digits of body and mask are added, then centred.
    assert!(4.0 * product < 53f64.exp2());
}

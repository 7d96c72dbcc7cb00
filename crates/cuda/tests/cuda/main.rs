//! The kernels compiled for the processor, against the ring's own operations.

use omr_cuda::{Arithmetic, Changes, Emulated, Machine, checks};
use omr_protocol::sophomr::Params;
use omr_ring::Basis;
use std::sync::Arc;

fn machines() -> [Arc<dyn Machine>; 2] {
    [Arithmetic::Whole, Arithmetic::Floating]
        .map(|arithmetic| Emulated::new(arithmetic) as Arc<dyn Machine>)
}

#[test]
fn rows_come_out_as_the_processor_makes_them() {
    for machine in machines() {
        checks::rows(&machine).unwrap();
    }
}

/// Every switch from one level of a set to the next.
#[test]
fn levels_come_out_as_the_processor_makes_them() {
    for name in ["insecure-tiny-v2", "insecure-tiny-v4"] {
        let params = Params::named(name).unwrap();
        let levels = 0..params.chain.len();
        let levels: Vec<&Basis> = levels.map(|level| params.chain.basis(level)).collect();
        for machine in machines() {
            checks::switches(&machine, &params.ring, &levels, params.p()).unwrap();
        }
    }
}

/// Faults of kernels, by what they change.
const MUTANTS: [(&str, Arithmetic, Changes<'_>); 8] = [
    (
        "values that are not centred before four levels",
        Arithmetic::Floating,
        &[(
            "  CENTRE\n  if (skipped < 1) { FORWARD(8) }",
            "  if (skipped < 1) { FORWARD(8) }",
        )],
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
];

/// Every fault is found by what the kernels have to pass.
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

/// The ranges that `floating.h` states, for the largest primes: of values, products and their quotients.
#[test]
fn double_precision_is_exact_up_to_fifty_bits() {
    let q = 50f64.exp2();
    let (values, quotients) = (53f64.exp2(), 51f64.exp2());
    // Of a value of this bound times a factor of q/2 at most, in units of q.
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

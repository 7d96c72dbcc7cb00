//! Units of work of a digest's compression.

use super::{SwitchShape, Unit, Work};
use omr_protocol::sophomr::{DigestPlan, Outline};

/// Primes of the small ring's ciphertexts.
const LIMBS: usize = 2;

/// Symbols that `omr-detector/encoder.rs` encodes at a time.
const SYMBOLS_TOGETHER: usize = 32;

/// `omr-compress/codes.rs`, one batch and round: images under all automorphisms, then for each
/// of them and each class a constant for every class.
pub(super) fn codes(outline: &Outline, plan: &DigestPlan) -> Work {
    let classes = outline.spec().n / outline.spec().small_n;
    let (width, terms) = (plan.width(), plan.width() * classes);
    let switches = (width - 1) * classes;
    // The geometric sum: images of three rows, products, one division.
    let sums = Work::of(Unit::SmallScatter, 3)
        + Work::of(Unit::SmallPass, 4)
        + Work::of(Unit::SmallLookup, 1);
    let constant = Work::of(Unit::SmallNtt, 1 + LIMBS) + Work::of(Unit::SmallPass, 3 + LIMBS);
    let products =
        Work::of(Unit::SmallDot, 2 * LIMBS * classes) + Work::of(Unit::SmallGather, 2 * LIMBS);
    turn(outline) * switches
        + (sums + constant * classes + products) * terms
        // Cleared, then written piece by piece.
        + large(outline, Unit::Pass, 2 * 2 * LIMBS * terms)
}

/// `payload.rs`, `encoder.rs` and `Sums::add`, one batch and round: symbols packed, encoded for each class
/// and multiplied with the codes.
pub(super) fn payloads(outline: &Outline, plan: &DigestPlan) -> Work {
    let spec = outline.spec();
    let classes = spec.n / spec.small_n;
    let packed = plan.payload_bytes().map_or(0, |_| spec.n);
    let encoded = Work::of(Unit::SmallGather, 1 + LIMBS)
        + Work::of(Unit::SmallNtt, 1 + LIMBS)
        + Work::of(Unit::SmallPass, 1 + LIMBS);
    let terms = plan.width() * classes;
    let sums = Work::of(Unit::CodeDot, terms * 2 * LIMBS);
    let plaintext = classes * LIMBS;
    let windows = plan.symbols().div_ceil(SYMBOLS_TOGETHER);
    let fresh = 2 * LIMBS * plan.symbols() + plan.symbols().min(SYMBOLS_TOGETHER) * plaintext;
    Work::of(Unit::Payload, packed)
        + (encoded * classes + sums) * plan.symbols()
        + large(outline, Unit::Pass, plaintext * plan.symbols())
        + large(outline, Unit::Stream, windows * 2 * LIMBS * terms)
        + large(outline, Unit::Fresh, fresh)
}

/// A unit of the large ring for as many rows of the small one.
fn large(outline: &Outline, unit: Unit, small_rows: usize) -> Work {
    let spec = outline.spec();
    Work::of(unit, (small_rows * spec.small_n).div_ceil(spec.n))
}

/// `Sums::pack` and `finish.rs`, one group and round: merges, the last switch, rounding.
pub(super) fn packing(outline: &Outline, plan: &DigestPlan) -> Work {
    let of_ciphertext = |ciphertext: usize| {
        let symbols = plan.symbols_of(ciphertext).len();
        let merge = turn(outline)
            + Work::of(Unit::SmallNtt, LIMBS)
            + Work::of(Unit::SmallPass, 2 * LIMBS * 5);
        let gathered = Work::of(Unit::SmallScatter, 2 * LIMBS * symbols)
            + large(outline, Unit::Fresh, 2 * LIMBS * symbols);
        // Down to one prime, then coefficients; what is left is work in dimension 2,048.
        let finished = Work::of(Unit::SmallNtt, 6) + Work::of(Unit::SmallPass, 8);
        merge * merges(plan.stride(), symbols) + gathered + finished
    };
    (0..plan.ciphertexts()).map(of_ciphertext).sum()
}

/// Joins of `Merger::merge` for `all` places, the first `present` of them taken.
fn merges(all: usize, present: usize) -> usize {
    match (all, present) {
        (1, _) | (_, 0) => 0,
        _ => 1 + merges(all / 2, present.div_ceil(2)) + merges(all / 2, present / 2),
    }
}

/// An automorphism of the small ring.
fn turn(outline: &Outline) -> Work {
    let switch = SwitchShape {
        limbs: LIMBS,
        digits: &[LIMBS],
        special: outline.small_shape.special().len(),
        kept: LIMBS,
        added: 0,
    };
    let counts = switch.counts();
    Work::of(Unit::SmallNtt, counts.transforms)
        + Work::of(Unit::SmallConvert, counts.conversions)
        + Work::of(Unit::SmallDot, counts.products)
        + Work::of(Unit::SmallPass, counts.passes + LIMBS)
        + Work::of(Unit::SmallGather, 2 * LIMBS)
}

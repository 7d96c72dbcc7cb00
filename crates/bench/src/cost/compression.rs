use super::{SwitchShape, Unit, Work};
use omr_protocol::DigestPlan;
use omr_protocol::params::Outline;

/// Primes of the small ring's ciphertexts.
const LIMBS: usize = 2;

/// `omr-detector/codes.rs`, one batch and round: images under all automorphisms, then for each
/// of them and each class a constant for every class.
pub(super) fn codes(outline: &Outline, plan: &DigestPlan) -> Work {
    let classes = outline.spec().n / outline.spec().small_n;
    let (width, terms) = (plan.width(), plan.width() * classes);
    let switches = (width - 1) * classes;
    // The geometric sum takes three products a slot, each further constant one.
    let scalars = Work::of(Unit::SmallScalar, 3 + classes - 1);
    let constant = Work::of(Unit::SmallNtt, 1 + LIMBS) + Work::of(Unit::SmallPass, 2 + LIMBS);
    let sums =
        Work::of(Unit::SmallKeyDot, 2 * LIMBS * classes) + Work::of(Unit::SmallGather, 2 * LIMBS);
    turn(outline) * switches + (scalars + constant * classes + sums) * terms
}

/// `payload.rs` and `Sums::add_batch`, one batch and round: symbols packed, encoded for each class
/// and multiplied with the codes.
pub(super) fn payloads(outline: &Outline, plan: &DigestPlan) -> Work {
    let spec = outline.spec();
    let classes = spec.n / spec.small_n;
    let packed = plan.payload_bytes().map_or(0, |_| spec.n);
    let encoded = Work::of(Unit::SmallGather, 2 + LIMBS)
        + Work::of(Unit::SmallNtt, 1 + LIMBS)
        + Work::of(Unit::SmallPass, 1 + 2 * LIMBS);
    let sums = Work::of(Unit::CodeDot, plan.width() * classes * 2 * LIMBS)
        + Work::of(Unit::SmallPass, 2 * LIMBS);
    Work::of(Unit::Payload, packed) + (encoded * classes + sums) * plan.symbols()
}

/// `Sums::pack` and `finish.rs`, one group and round: merges, the last switch, rounding.
pub(super) fn packing(outline: &Outline, plan: &DigestPlan) -> Work {
    let of_ciphertext = |ciphertext: usize| {
        let symbols = plan.symbols_of(ciphertext).len();
        let merge = turn(outline)
            + Work::of(Unit::SmallNtt, LIMBS)
            + Work::of(Unit::SmallPass, 2 * LIMBS * 5);
        let gathered = Work::of(Unit::SmallGather, 2 * LIMBS * symbols);
        let finished = Work::of(Unit::SmallNtt, 6) + Work::of(Unit::SmallScalar, 4);
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
    };
    let counts = switch.counts();
    Work::of(Unit::SmallNtt, counts.transforms)
        + Work::of(Unit::SmallConvert, counts.conversions)
        + Work::of(Unit::SmallKeyDot, counts.products)
        + Work::of(Unit::SmallPass, counts.passes + LIMBS)
        + Work::of(Unit::SmallGather, 2 * LIMBS)
}

use super::{SwitchShape, Unit, Work};
use omr_bgv::fermat_depth;
use omr_protocol::params::Outline;
use omr_ring::Basis;
use omr_rlwe::KeyShape;

/// `omr-detector/affine.rs`, `BabySteps::new`: one rotation after another.
pub(super) fn baby_steps(outline: &Outline) -> Work {
    let clue = &outline.spec().clue;
    rotation(outline, &outline.step_shape) * (outline.spec().baby + clue.coordinates - 2)
}

/// `ClueBatch::new`.
pub(super) fn clues(outline: &Outline) -> Work {
    Work::of(Unit::Clue, outline.spec().n)
}

/// `affine::transform`: every diagonal collected, encoded once and transformed for each limb;
/// products with the baby steps; giant steps; down to level 1; the encoded b added.
pub(super) fn affine(outline: &Outline) -> Work {
    let spec = outline.spec();
    let (diagonals, coordinates) = (spec.clue.n, spec.clue.coordinates);
    let limbs = outline.chain.basis(0).len();
    let giants = diagonals / spec.baby;
    let encoded = Work::of(Unit::Diagonal, 1)
        // The scatter into transform order.
        + Work::of(Unit::Gather, 1)
        + Work::of(Unit::Ntt, 1 + limbs)
        + Work::of(Unit::Lift, limbs)
        + Work::of(Unit::AffineDot, 2 * coordinates * limbs);
    let turned = rotation(outline, &outline.giant_shape) + Work::of(Unit::Pass, 2 * limbs);
    let lower = outline.chain.basis(1).len();
    let finished = at_level(outline, 0, 1)
        + Work::of(Unit::Ntt, 1 + lower)
        + Work::of(Unit::Lift, lower)
        + Work::of(Unit::Pass, 3 * lower);
    encoded * diagonals + turned * ((giants - 1) * coordinates) + finished * coordinates
}

/// `omr-detector/range.rs`: the window polynomial of each coordinate, the norm, the Fermat power.
pub(super) fn range_check(outline: &Outline) -> Work {
    let coordinates = outline.spec().clue.coordinates;
    let (window, level) = window(outline);
    let norm = tensor(outline, level) * coordinates
        + Work::of(Unit::Pass, 6 * limbs(outline, level))
        + relinearise(outline, level);
    window * coordinates + norm + power(outline, level + 1)
}

/// `RangePolynomial::evaluate` and the level of its result.
fn window(outline: &Outline) -> (Work, usize) {
    let spec = outline.spec();
    let blocks = (spec.clue.range as usize + 2).div_ceil(spec.block);
    let mut work = product(outline, 1);
    let mut levels = vec![2; 2];
    for k in 2..=spec.block {
        let half = k.next_power_of_two() / 2;
        work += at_level(outline, levels[k - half], levels[half]) + product(outline, levels[half]);
        levels.push(levels[half] + 1);
    }
    let top = levels[spec.block];
    work += levels
        .iter()
        .map(|&level| at_level(outline, level, top))
        .sum();
    let (first, giants) = (
        top + 1,
        blocks.next_power_of_two().trailing_zeros() as usize,
    );
    work += at_level(outline, top, first);
    work += (1..giants).map(|i| product(outline, first + i - 1)).sum();
    let terms = spec.clue.range as usize + 2 - blocks;
    work += Work::of(Unit::Pass, 2 * limbs(outline, top) * terms);
    work += at_level(outline, top, first) * blocks;
    let mut sums = blocks;
    for level in first..first + giants {
        work += at_level(outline, level, level + 1) * sums.div_ceil(2);
        let added = Work::of(Unit::Pass, 2 * limbs(outline, level + 1));
        work += (product(outline, level) + added) * (sums / 2);
        sums = sums.div_ceil(2);
    }
    (work, first + giants)
}

/// `fermat_power` of a ciphertext at `level`.
fn power(outline: &Outline, level: usize) -> Work {
    let last = level + fermat_depth(outline.spec().p);
    let exponent = outline.spec().p - 1;
    let odd = exponent >> exponent.trailing_zeros();
    let mut work: Work = (level..last).map(|level| product(outline, level)).sum();
    // The base is brought down wherever it multiplies.
    let mut at = level;
    for bit in (0..63 - odd.leading_zeros()).rev() {
        at += 1;
        if odd >> bit & 1 == 1 {
            work += at_level(outline, level, at);
            at += 1;
        }
    }
    work
}

/// `Descent::apply`: a key switch at the last level, then the pieces.
pub(super) fn ring_switch(outline: &Outline) -> Work {
    let basis = outline.chain.basis(outline.chain.len() - 1);
    let pieces = outline.spec().n / outline.spec().small_n;
    key_switch(&outline.descent_shape, basis, basis)
        + Work::of(Unit::Ntt, 2 * basis.len())
        + Work::of(Unit::Pass, 3 * basis.len())
        + Work::of(Unit::SmallNtt, 2 * pieces * basis.len())
}

/// `Evaluator::automorphism` at level 0.
fn rotation(outline: &Outline, shape: &KeyShape) -> Work {
    let basis = outline.chain.basis(0);
    key_switch(shape, basis, basis)
        // Copies of both parts, the body added.
        + Work::of(Unit::Pass, 3 * basis.len())
        + Work::of(Unit::Gather, 2 * basis.len())
}

/// `Evaluator::mul` at `level`.
fn product(outline: &Outline, level: usize) -> Work {
    tensor(outline, level) + relinearise(outline, level)
}

/// `Evaluator::tensor`: four products, three of them on copies.
fn tensor(outline: &Outline, level: usize) -> Work {
    Work::of(Unit::Pass, 7 * limbs(outline, level))
}

/// `Evaluator::relinearise` to the next level.
fn relinearise(outline: &Outline, level: usize) -> Work {
    let (from, to) = (outline.chain.basis(level), outline.chain.basis(level + 1));
    key_switch(&outline.product_shape, from, to) + Work::of(Unit::Pass, 2 * from.len())
}

/// `SwitchingKey::raise` and `Switch::apply` on both parts.
fn key_switch(shape: &KeyShape, from: &Basis, to: &Basis) -> Work {
    let own = shape
        .digits()
        .iter()
        .map(|digit| digit.intersection(from).len());
    let digits: Vec<usize> = own.filter(|&own| own > 0).collect();
    let switch = SwitchShape {
        limbs: from.len(),
        digits: &digits,
        special: shape.special().len(),
        kept: to.len(),
    };
    let counts = switch.counts();
    Work::of(Unit::Ntt, counts.transforms)
        + Work::of(Unit::Convert, counts.conversions)
        + Work::of(Unit::KeyDot, counts.products)
        + Work::of(Unit::Pass, counts.passes)
}

/// `Evaluator::at_level`: copies, and a modulus switch unless the levels are the same.
fn at_level(outline: &Outline, level: usize, to: usize) -> Work {
    let (from, kept) = (outline.chain.basis(level), outline.chain.basis(to));
    let copies = Work::of(Unit::Pass, 2 * from.len());
    if level == to {
        return copies;
    }
    let (dropped, kept) = (from.minus(kept).len(), kept.len());
    copies
        + Work::of(Unit::Ntt, 2 * (dropped + kept))
        + Work::of(Unit::Convert, 2 * ((dropped + 1) * kept + dropped))
        + Work::of(Unit::Pass, 4 * dropped + 4 * kept)
}

fn limbs(outline: &Outline, level: usize) -> usize {
    outline.chain.basis(level).len()
}

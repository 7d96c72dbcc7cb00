//! Units of work from clues to bits.

use super::{SwitchShape, Unit, Work};
use omr_bgv::fermat_depth;
use omr_protocol::sophomr::{Outline, ParamsSpec};
use omr_ring::Basis;
use omr_rlwe::KeyShape;

/// `BabySteps::new`: one rotation after another, each cut into pieces.
pub(super) fn baby_steps(outline: &Outline) -> Work {
    let stored = Work::of(Unit::Pass, 2 * limbs(outline, 0));
    let first = stored;
    let turned = rotation(outline, &outline.step_shape, 1) + stored;
    first + turned * (steps(outline) - 1)
}

/// Baby steps, the one that is not turned included.
fn steps(outline: &Outline) -> usize {
    outline.spec().baby + ParamsSpec::COORDINATES - 1
}

/// `ClueBatch::new`.
pub(super) fn clues(outline: &Outline) -> Work {
    Work::of(Unit::Clue, outline.spec().n)
}

/// `affine::transform`: every diagonal cut, encoded once and transformed for each limb; products
/// with the baby steps; giant steps; down to level 1; the encoded b added.
pub(super) fn affine(outline: &Outline) -> Work {
    let spec = outline.spec();
    let (diagonals, coordinates) = (spec.clue.n, ParamsSpec::COORDINATES);
    let limbs = limbs(outline, 0);
    let giants = diagonals / spec.baby;
    let encoded = Work::of(Unit::Diagonal, 1)
        + Work::of(Unit::Encode, limbs)
        + Work::of(Unit::AffineDot, 2 * coordinates * limbs);
    let sums = Work::of(Unit::Pass, giants * coordinates * 2 * limbs);
    // Turned sums are added to the next.
    let turned = rotation(outline, &outline.giant_shape, coordinates)
        + Work::of(Unit::Pass, coordinates * 2 * limbs);
    encoded * diagonals + sums + turned * (giants - 1) + lowered(outline) * coordinates
}

/// The end of `affine::transform`, for one coordinate.
fn lowered(outline: &Outline) -> Work {
    let lower = limbs(outline, 1);
    at_level(outline, 0, 1) + Work::of(Unit::Ntt, 1 + lower) + Work::of(Unit::Pass, 4 * lower)
}

/// `omr-detector/range.rs`: the window polynomial of each coordinate, the norm, the Fermat power.
pub(super) fn range_check(outline: &Outline) -> Work {
    let coordinates = outline.spec().clue.coordinates;
    let (window, level) = window(outline);
    let rows = limbs(outline, level);
    // Copies and sums beside the products.
    let norm =
        tensor(outline, level) * 2 + Work::of(Unit::Pass, 10 * rows) + relinearise(outline, level);
    window * coordinates + norm + power(outline, level + 1)
}

/// `RangePolynomial::evaluate` and the level of its result.
fn window(outline: &Outline) -> (Work, usize) {
    let polynomial = &outline.window;
    let (coefficients, blocks) = (polynomial.coefficients().len(), polynomial.blocks());
    let pairs = blocks / 2;
    let (powers, top) = powers(outline);
    let mut work = powers + giants(outline, top, blocks);
    // Blocks: sums at the level of the powers, then down to that of their pair.
    let terms = coefficients - blocks;
    work += Work::of(Unit::Pass, 2 * limbs(outline, top) * (terms + blocks));
    work += at_level(outline, top, top + 1) * (blocks % 2);
    if polynomial.has_first_term() {
        let rows = 2 * limbs(outline, top + 1);
        work += product(outline, top) + Work::of(Unit::Pass, rows);
    }
    for pair in 0..pairs {
        let level = top + 1 + pair;
        let products = if pair > 0 || blocks % 2 == 1 { 2 } else { 1 };
        let added = Work::of(Unit::Pass, (3 * (products - 1) + 2) * limbs(outline, level));
        work += at_level(outline, top, level) * 2
            + tensor(outline, level) * products
            + added
            + relinearise(outline, level);
    }
    (work, top + 1 + pairs)
}

/// `RangePolynomial::powers` with the square before, and the level of the powers.
fn powers(outline: &Outline) -> (Work, usize) {
    let block = outline.spec().block;
    let mut work = product(outline, 1);
    let mut levels = vec![2; 2];
    for k in 2..=block {
        let half = k.next_power_of_two() / 2;
        let level = levels[half];
        work += from_floor(outline, levels[k - half], level) + product(outline, level);
        if outline.chain.cuts() {
            levels[k - half] = level;
        }
        levels.push(level + 1);
    }
    let top = levels[block];
    let level = |&level: &usize| from_floor(outline, level, top);
    work += levels[1..].iter().map(level).sum();
    (work, top)
}

/// `RangePolynomial::giants`.
fn giants(outline: &Outline, top: usize, blocks: usize) -> Work {
    let second = blocks > 2;
    let mut work = product(outline, top) * usize::from(second);
    for below in 1..=blocks / 2 {
        work += from_floor(outline, top, top + below);
        work += from_floor(outline, top + 1, top + below) * usize::from(second);
    }
    work
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
            work += from_floor(outline, level, at);
            at += 1;
        }
    }
    work
}

/// `Descent::apply`: a key switch at the last level, then the pieces.
pub(super) fn ring_switch(outline: &Outline) -> Work {
    let basis = outline.chain.basis(outline.chain.len() - 1);
    let pieces = outline.spec().n / outline.spec().small_n;
    key_switch(&outline.descent_shape, basis, basis, 1)
        + Work::of(Unit::Ntt, 2 * basis.len())
        + Work::of(Unit::Pass, 3 * basis.len())
        + Work::of(Unit::SmallNtt, 2 * pieces * basis.len())
}

/// `Evaluator::automorphism_all` of `inputs` ciphertexts at level 0.
fn rotation(outline: &Outline, shape: &KeyShape, inputs: usize) -> Work {
    let basis = outline.chain.basis(0);
    key_switch(shape, basis, basis, inputs) + Work::of(Unit::Permute, 2 * basis.len() * inputs)
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
    let mut lowered = outline.lowered_shapes.iter().rev();
    let shape = lowered.find(|shape| shape.serves(from));
    key_switch(shape.unwrap_or(&outline.product_shape), from, to, 1)
}

/// `KeySwitch::apply`: the first input brings the key from memory.
fn key_switch(shape: &KeyShape, from: &Basis, to: &Basis, inputs: usize) -> Work {
    let own = shape
        .digits()
        .iter()
        .map(|digit| digit.intersection(from).len());
    let digits: Vec<usize> = own.filter(|&own| own > 0).collect();
    let switch = SwitchShape {
        limbs: from.len(),
        digits: &digits,
        special: shape.special().len(),
        kept: to.intersection(from).len(),
        added: to.minus(from).len(),
    };
    let counts = switch.counts();
    let each = Work::of(Unit::Ntt, counts.transforms)
        + Work::of(Unit::Convert, counts.conversions)
        + Work::of(Unit::ConvertRow, counts.converted_rows)
        + Work::of(Unit::Pass, counts.passes);
    each * inputs
        + Work::of(Unit::KeyDot, counts.products)
        + Work::of(Unit::Dot, counts.products * (inputs - 1))
}

/// `Evaluator::at_level`: a modulus switch, or a copy where the levels are the same.
fn at_level(outline: &Outline, level: usize, to: usize) -> Work {
    let (from, kept) = (outline.chain.basis(level), outline.chain.basis(to));
    if level == to {
        return Work::of(Unit::Pass, 2 * from.len());
    }
    let (dropped, kept) = (from.minus(kept).len(), kept.len());
    Work::of(Unit::Ntt, 2 * (dropped + kept))
        + Work::of(Unit::Convert, 2 * ((dropped + 1) * kept + dropped))
        + Work::of(Unit::ConvertRow, 2 * kept)
        + Work::of(Unit::Pass, 2 * dropped + 4 * kept)
}

/// `Evaluator::at_level_from_floor`: copies of the rows that stay, where the chain cuts.
fn from_floor(outline: &Outline, level: usize, to: usize) -> Work {
    let (from, kept) = (outline.chain.basis(level), outline.chain.basis(to));
    match outline.chain.cuts() && kept.minus(from).is_empty() {
        true => Work::of(Unit::Pass, 2 * kept.len()),
        false => at_level(outline, level, to),
    }
}

fn limbs(outline: &Outline, level: usize) -> usize {
    outline.chain.basis(level).len()
}

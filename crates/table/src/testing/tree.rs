//! Conditions joined.

use rand_core::Rng;

use super::draw::Draw;
use super::leaf::both;
use super::{Rows, Twin};

/// Leaves stay below the limit: 3 levels of 3, each twice where an absent value counts.
const DEPTH: usize = 3;

/// A condition; more often than not, few rows pass.
pub(super) fn condition<G: Rng, R: Rows>(draw: &mut Draw<'_, G, R>) -> Twin {
    match draw.below(5) {
        0 => draw.leaf(true),
        1 | 2 => {
            let depth = draw.below(2);
            let (narrow, other) = (draw.leaf(true), part(draw, depth));
            both(|side| format!("{} AND {}", side(&narrow), side(&other)))
        }
        _ => {
            let depth = draw.below(DEPTH + 1);
            tree(draw, depth)
        }
    }
}

fn tree<G: Rng, R: Rows>(draw: &mut Draw<'_, G, R>, depth: usize) -> Twin {
    if depth == 0 {
        return draw.leaf(false);
    }
    match draw.below(10) {
        0 => {
            let inner = part(draw, depth - 1);
            both(|side| format!("NOT {}", side(&inner)))
        }
        1 => {
            let inner = part(draw, depth - 1);
            let test = draw.pick(&["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"]);
            both(|side| format!("({}) {test}", side(&inner)))
        }
        2..=6 => join(draw, depth, " AND "),
        _ => join(draw, depth, " OR "),
    }
}

fn join<G: Rng, R: Rows>(draw: &mut Draw<'_, G, R>, depth: usize, word: &str) -> Twin {
    let parts: Vec<Twin> = (0..2 + draw.below(2))
        .map(|_| part(draw, depth - 1))
        .collect();
    both(|side| parts.iter().map(side).collect::<Vec<_>>().join(word))
}

/// A part of a larger condition: in parentheses, but for some, which are read by the rules of precedence.
fn part<G: Rng, R: Rows>(draw: &mut Draw<'_, G, R>, depth: usize) -> Twin {
    let inner = tree(draw, depth);
    if draw.chance(20) {
        return inner;
    }
    both(|side| format!("({})", side(&inner)))
}

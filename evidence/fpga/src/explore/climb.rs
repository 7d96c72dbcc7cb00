//! A local search for better designs.

use crate::FpgaError;
use crate::design::Design;
use crate::predict::Prediction;

/// The steps of cores and of lanes of conversions, keys and sums, which are finer than those of a grid.
const STEPS: [isize; 4] = [1, 16, 8, 16];

/// Replaces a design by the fastest of its neighbours, one or two steps away, until none is faster.
///
/// `predict` returns `None` for a design that does not fit the card.
///
/// Errors: those of `predict`.
pub(super) fn climb(
    mut at: (Design, Prediction),
    predict: impl Fn(&Design) -> Result<Option<Prediction>, FpgaError>,
) -> Result<(Design, Prediction), FpgaError> {
    loop {
        let mut best = at.clone();
        for design in neighbours(&at.0) {
            if let Some(time) = predict(&design)?
                && time.cycles < best.1.cycles
            {
                best = (design, time);
            }
        }
        if best.0 == at.0 {
            return Ok(at);
        }
        at = best;
    }
}

/// Returns all designs that differ in at most two numbers, each by one step.
fn neighbours(design: &Design) -> Vec<Design> {
    let moves: Vec<(usize, isize)> = (0..STEPS.len()).flat_map(|i| [(i, 1), (i, -1)]).collect();
    let mut found = Vec::new();
    for (i, &first) in moves.iter().enumerate() {
        found.extend(moved(design, &[first]));
        let others = moves[i + 1..].iter().filter(|second| second.0 != first.0);
        found.extend(others.filter_map(|&second| moved(design, &[first, second])));
    }
    found
}

/// Returns a design with its numbers changed by the given steps; `None` if a number would be 0 or less.
fn moved(design: &Design, moves: &[(usize, isize)]) -> Option<Design> {
    let mut numbers = [
        design.cores,
        design.conversion_lanes,
        design.key_lanes,
        design.sum_lanes,
    ];
    for &(which, sign) in moves {
        numbers[which] = numbers[which].checked_add_signed(sign * STEPS[which])?;
    }
    let [cores, conversion_lanes, key_lanes, sum_lanes] = numbers;
    numbers.iter().all(|&number| number > 0).then_some(Design {
        cores,
        conversion_lanes,
        key_lanes,
        sum_lanes,
        ..*design
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Diagonals;

    const DESIGN: Design = Design {
        cores: 1,
        butterflies: 32,
        conversion_lanes: 64,
        key_lanes: 8,
        sum_lanes: 32,
        block: 8,
        hoisted: 1,
        diagonals: Diagonals::Cached,
        summed: true,
    };

    #[test]
    fn neighbours_are_one_or_two_steps_away_and_none_has_zero_of_anything() {
        let found = neighbours(&DESIGN);
        // 8 single steps and 24 pairs, minus those without a core or key lane: 2 and 11.
        assert_eq!(found.len(), 8 + 24 - 2 - 11);
        assert!(!found.contains(&DESIGN));
        let wanted = Design {
            cores: 2,
            sum_lanes: 16,
            ..DESIGN
        };
        assert!(found.contains(&wanted));
    }
}

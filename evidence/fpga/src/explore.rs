//! The exploration of designs under the limits of a card. It returns the designs that no other beats.

use crate::FpgaError;
use crate::blocks::{Blocks, Way};
use crate::circuit::{Circuit, Switch};
use crate::design::{Design, Diagonals};
use crate::device::Device;
use crate::predict::{Prediction, predict};
use climb::climb;
use serde::Serialize;

mod climb;

/// The width, in DSP slices, of a class of designs. Designs of a class are compared roughly, and the best are
/// scheduled.
const CLASS: u32 = 240;

/// The number of designs of a class that are scheduled.
const SCHEDULED: usize = 8;

/// The largest number of cores in a design.
const MOST_CORES: usize = 10;

/// A design with its predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The design.
    pub design: Design,
    /// True if the evaluator computes equal ciphertexts from equal keys.
    pub exact: bool,
    /// The prediction for a board whose diagonals are on the card.
    pub warm: Prediction,
    /// The prediction for a new board, whose plaintexts are uploaded and transformed.
    pub cold: Prediction,
}

/// The result of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explored {
    /// The number of designs in the grid.
    pub designs: usize,
    /// The number of these designs that fit the card.
    pub fit: usize,
    /// The designs that no other beats in both time and DSPs, the smallest first.
    pub front: Vec<Point>,
    /// True if this time is that for a new board.
    pub new_board: bool,
}

impl Explored {
    /// Returns the fastest design.
    #[must_use]
    pub fn best(&self) -> Option<&Point> {
        self.front.last()
    }

    /// Returns the milliseconds of a point that the front was selected by.
    #[must_use]
    pub fn ms(&self, point: &Point) -> f64 {
        if self.new_board {
            point.cold.ms
        } else {
            point.warm.ms
        }
    }
}

/// A variant of the circuit's implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The difference from the first variant.
    pub name: &'static str,
    /// The designs of the variant.
    pub grid: Grid,
}

/// Returns the variants to explore. The first one computes the evaluator's ciphertexts and reduces sums once.
#[must_use]
pub fn variants() -> Vec<Variant> {
    let hoisted = |times| Grid {
        hoisted: vec![times],
        ..Grid::exact()
    };
    let grids = [
        ("sums reduced once", Grid::exact()),
        (
            "each product reduced",
            Grid {
                summed: false,
                ..Grid::exact()
            },
        ),
        ("rotations hoisted by 2", hoisted(2)),
        ("rotations hoisted by 4", hoisted(4)),
        ("rotations hoisted by 8", hoisted(8)),
        (
            "diagonals on the fly",
            Grid {
                diagonals: Diagonals::OnTheFly,
                ..Grid::exact()
            },
        ),
        (
            "quickest for a new board",
            Grid {
                new_board: true,
                ..Grid::exact()
            },
        ),
    ];
    grids
        .into_iter()
        .map(|(name, grid)| Variant { name, grid })
        .collect()
}

/// The designs to explore.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The numbers of butterflies in a core.
    pub butterflies: Vec<usize>,
    /// The numbers of rotations from one decomposition.
    pub hoisted: Vec<usize>,
    /// The source of diagonals.
    pub diagonals: Diagonals,
    /// True if conversions and sums add up products before they reduce them.
    pub summed: bool,
    /// The numbers of baby steps that are multiplied by all diagonals together.
    pub blocks: Vec<usize>,
    /// True if the front is selected by the time for a new board, whose plaintexts are uploaded and
    /// transformed.
    pub new_board: bool,
}

impl Grid {
    /// Returns designs that compute the evaluator's ciphertexts, with diagonals stored on the card.
    #[must_use]
    pub fn exact() -> Self {
        Self {
            butterflies: vec![32, 64, 128],
            hoisted: vec![1],
            diagonals: Diagonals::Cached,
            summed: true,
            blocks: vec![8, 16],
            new_board: false,
        }
    }

    /// Returns all designs of the grid.
    fn designs(&self, circuit: &Circuit) -> Vec<Design> {
        let Circuit { n, baby, .. } = *circuit;
        let lanes =
            |most: usize, step: usize| (step..=most).step_by(step).filter(move |&lanes| lanes <= n);
        let mut designs = Vec::new();
        let shapes = self.shapes(n, baby);
        for shape in shapes {
            for conversion_lanes in lanes(512, 32) {
                for key_lanes in lanes(128, 16) {
                    designs.extend(lanes(512, 32).map(|sum_lanes| Design {
                        conversion_lanes,
                        key_lanes,
                        sum_lanes,
                        ..shape
                    }));
                }
            }
        }
        designs
    }

    /// Returns all designs of the grid without their lanes.
    fn shapes(&self, n: usize, baby: usize) -> Vec<Design> {
        let mut shapes = Vec::new();
        for &butterflies in self.butterflies.iter().filter(|&&b| 2 * b <= n) {
            for &hoisted in self.hoisted.iter().filter(|&&hoisted| hoisted <= baby) {
                for &block in self.blocks.iter().filter(|&&block| block <= baby) {
                    shapes.extend((1..=MOST_CORES).map(|cores| Design {
                        cores,
                        butterflies,
                        conversion_lanes: 0,
                        key_lanes: 0,
                        sum_lanes: 0,
                        block,
                        hoisted,
                        diagonals: self.diagonals,
                        summed: self.summed,
                    }));
                }
            }
        }
        shapes
    }
}

/// Predicts the designs of a grid that could be on the front, searches for better ones near the fastest of each
/// block, and keeps those that no other beats.
///
/// In each class of 240 DSPs the eight designs with the lowest [`rough_cycles`] are scheduled.
///
/// Errors: `NothingFits`.
pub fn explore(
    circuit: &Circuit,
    blocks: &Blocks,
    device: &Device,
    grid: &Grid,
) -> Result<Explored, FpgaError> {
    let designs = grid.designs(circuit);
    let count = designs.len();
    let mut fitting: Vec<(u32, f64, Design)> = designs
        .into_iter()
        .filter_map(|design| {
            let resources = design.resources(circuit, blocks, device).ok()?;
            let rough = rough_cycles(circuit, blocks, &design, grid.new_board);
            Some((resources.dsp, rough, design))
        })
        .collect();
    let fit = fitting.len();
    fitting.sort_by(|a, b| (a.0 / CLASS).cmp(&(b.0 / CLASS)).then(a.1.total_cmp(&b.1)));
    let time = |design: &Design| predict(circuit, blocks, design, device, grid.new_board);
    let classes = fitting.chunk_by(|a, b| a.0 / CLASS == b.0 / CLASS);
    let scheduled = classes.flat_map(|class| class.iter().take(SCHEDULED));
    let mut points: Vec<(Design, Prediction)> = scheduled
        .map(|(.., design)| Ok((*design, time(design)?)))
        .collect::<Result<_, FpgaError>>()?;
    if points.is_empty() {
        return Err(FpgaError::NothingFits { set: circuit.set });
    }
    let fits = |design: &Design| design.resources(circuit, blocks, device).is_ok();
    for &block in &grid.blocks {
        let of_block = points.iter().filter(|point| point.0.block == block);
        if let Some(best) = of_block.min_by_key(|point| point.1.cycles) {
            points.push(climb(best.clone(), |design| {
                fits(design).then(|| time(design)).transpose()
            })?);
        }
    }
    let front = front(points, |(_, time)| (time.resources.dsp, time.cycles))
        .into_iter()
        .map(|(design, time)| {
            let other = predict(circuit, blocks, &design, device, !grid.new_board)?;
            let (warm, cold) = if grid.new_board {
                (other, time)
            } else {
                (time, other)
            };
            Ok(Point {
                design,
                exact: design.is_exact(),
                warm,
                cold,
            })
        });
    Ok(Explored {
        designs: count,
        fit,
        front: front.collect::<Result<_, FpgaError>>()?,
        new_board: grid.new_board,
    })
}

/// Returns the points that no other beats or equals in both figures, sorted by the first figure.
fn front<T>(mut points: Vec<T>, figures: impl Fn(&T) -> (u32, u64)) -> Vec<T> {
    points.sort_by_key(|point| figures(point));
    let mut least = u64::MAX;
    points.retain(|point| {
        let better = figures(point).1 < least;
        least = least.min(figures(point).1);
        better
    });
    points
}

/// Estimates the cycles of a design from the work of its units: that of baby steps, then that of giant steps,
/// and that of sums beside both.
///
/// The estimate for parts that run side by side is the fifth root of the sum of their fifth powers: slightly
/// more than the longest part, and more with every other part of equal length, because these wait for each
/// other.
#[must_use]
pub fn rough_cycles(circuit: &Circuit, blocks: &Blocks, design: &Design, new_board: bool) -> f64 {
    let n = circuit.n as f64;
    let [inverse, forward] = [Way::Inverse, Way::Forward]
        .map(|way| blocks.transform_cycles(circuit.n, design.butterflies, way));
    let [baby, giant] = Counts::new(circuit, design, new_board).map(|counts| {
        together(&[
            (counts.inverse * inverse + counts.forward * forward) / design.cores as f64,
            counts.conversions * n / design.conversion_lanes as f64,
            counts.key_rows * n / design.key_lanes as f64,
        ])
    });
    let sums = (circuit.plaintexts_products() * 2 * circuit.limbs) as f64;
    together(&[baby + giant, sums * n / design.sum_lanes as f64])
}

fn together(cycles: &[f64]) -> f64 {
    let powers = cycles.iter().map(|cycles| cycles.powi(5));
    powers.sum::<f64>().powf(0.2)
}

/// The work for a board: transforms, products of basis conversions for each coefficient, and rows of key
/// products, scalings and additions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    inverse: f64,
    forward: f64,
    conversions: f64,
    key_rows: f64,
}

impl Counts {
    /// Counts the work of a design for baby steps, and for giant steps and the next level.
    fn new(circuit: &Circuit, design: &Design, new_board: bool) -> [Self; 2] {
        let [steps, giants] = circuit.rotations();
        let (mut baby, mut giant) = (Self::default(), Self::default());
        baby.rotate(&circuit.step, steps.div_ceil(design.hoisted), steps);
        if new_board || design.diagonals == Diagonals::OnTheFly {
            let [inverse, forward] = circuit.plaintext_transforms();
            baby.inverse += inverse as f64;
            baby.forward += forward as f64;
        }
        giant.rotate(&circuit.giant, giants, giants);
        giant.key_rows += (giants * 2 * circuit.limbs) as f64;
        let (parts, result) = (2 * circuit.coordinates, circuit.result_limbs);
        giant.inverse += (parts * circuit.dropped) as f64;
        giant.forward += ((parts + circuit.coordinates) * result) as f64;
        giant.conversions += (parts * (circuit.dropped + 1) * result) as f64;
        giant.key_rows += (parts * result * 2) as f64;
        [baby, giant]
    }

    /// Adds the work of `decompositions` decompositions and `switches` key switches.
    fn rotate(&mut self, switch: &Switch, decompositions: usize, switches: usize) {
        for (times, work) in [
            (decompositions, switch.raising()),
            (switches, switch.dividing()),
        ] {
            self.inverse += (times * work.inverse) as f64;
            self.forward += (times * work.forward) as f64;
            self.conversions += (times * work.products) as f64;
        }
        // Body and mask of each key row are multiplied by one row; the mask takes one factor, the body two.
        self.key_rows += (switches * (switch.key_rows() + 3 * switch.limbs())) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_what_no_other_beats() {
        let points = vec![(5, 10), (1, 30), (3, 30), (2, 20), (4, 25), (6, 9), (2, 21)];
        let kept = front(points, |&point| point);
        assert_eq!(kept, [(1, 30), (2, 20), (5, 10), (6, 9)]);
    }
}

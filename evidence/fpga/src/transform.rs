//! The affine transform as tasks on a design's units.
//!
//! A rotation is
//! `c1 → coefficients → digits raised to all other primes → products with the key → special rows to coefficients → subtracted from all rows, scaled, permuted`.
//! A conversion needs all rows of its digit, a target row the products of all digits, and a subtracted row all
//! special rows. The next rotation needs only the mask, so it begins while the body is divided. Sums over a
//! block of baby steps need these steps and their diagonals; a giant step needs the sums of its step. The
//! schedule determines all other order.

mod rotation;

use crate::blocks::{Blocks, Way};
use crate::circuit::Circuit;
use crate::design::{Design, Diagonals};
use crate::schedule::{Graph, Task, Unit, Work};
use std::ops::Range;

/// The number of giant steps whose sums are computed in one pass over the baby steps.
const GIANTS_TOGETHER: usize = 4;

/// The number of priorities between the mask of one rotation and that of the next.
const ROTATION: u32 = 10;

/// The priority of bodies relative to that of masks: tasks that wait for a mask go first.
const LATER: u32 = 8;

/// The name of each stage, by number.
pub const STAGES: [&str; 3] = ["baby_steps", "products_and_giant_steps", "next_level"];

/// The number of the stage that transforms plaintexts, which runs beside the others.
const PLAINTEXTS: u8 = STAGES.len() as u8;

/// The tasks that each row of a part waits for.
type Rows = Vec<Vec<Task>>;

/// A ciphertext that is being computed.
#[derive(Clone)]
struct Pair {
    body: Rows,
    mask: Rows,
}

/// The stage of tasks, and the priority of their rotation.
#[derive(Clone, Copy)]
struct At {
    stage: u8,
    priority: u32,
}

/// Returns all tasks of one transform. If `cold`, plaintexts are transformed first, as for a new board.
#[must_use]
pub fn tasks(circuit: &Circuit, blocks: &Blocks, design: &Design, cold: bool) -> Graph {
    let mut builder = Builder {
        circuit,
        blocks,
        design,
        graph: Graph::default(),
        priority: 0,
    };
    builder.transform(cold || design.diagonals == Diagonals::OnTheFly);
    builder.graph
}

struct Builder<'a> {
    circuit: &'a Circuit,
    blocks: &'a Blocks,
    design: &'a Design,
    graph: Graph,
    priority: u32,
}

impl Builder<'_> {
    fn transform(&mut self, transforms_plaintexts: bool) {
        let steps = self.baby_steps();
        let sums = self.sums(&steps, transforms_plaintexts);
        let result = self.giant_steps(&sums);
        for pair in result {
            self.lower(&pair);
        }
    }

    /// Adds the rotations of the secret. Each waits for the rotation from which it is computed.
    fn baby_steps(&mut self) -> Vec<Pair> {
        let limbs = self.circuit.limbs;
        let none = vec![Vec::new(); limbs];
        let mut steps = vec![Pair {
            body: none.clone(),
            mask: none,
        }];
        while steps.len() < self.circuit.baby_steps {
            let base = steps[steps.len() - 1].clone();
            let at = self.next_rotation(0);
            let raised = self.decompose(&base.mask, &self.circuit.step, at);
            let made = self
                .design
                .hoisted
                .min(self.circuit.baby_steps - steps.len());
            let first = steps.len();
            for number in 0..made {
                // The farthest rotation comes first: the next ones are computed from it.
                let later = if number > 0 { LATER } else { 0 };
                let at = At {
                    priority: at.priority + later,
                    ..at
                };
                steps.push(self.switch(&raised, &base.body, &self.circuit.step, at));
            }
            steps[first..].reverse();
        }
        steps
    }

    /// Adds the products of each group of giant steps, by blocks of baby steps, the highest group first.
    fn sums(
        &mut self,
        steps: &[Pair],
        transforms_plaintexts: bool,
    ) -> Vec<(Range<usize>, Vec<Task>)> {
        let (circuit, block) = (self.circuit, self.design.block);
        let highs = (1..=circuit.giant_steps).rev().step_by(GIANTS_TOGETHER);
        let groups = highs.map(|high| high.saturating_sub(GIANTS_TOGETHER)..high);
        let mut sums: Vec<(Range<usize>, Vec<Task>)> =
            groups.map(|group| (group, Vec::new())).collect();
        for (number, first) in (0..circuit.baby).step_by(block).enumerate() {
            let last = (first + block + circuit.coordinates - 1).min(steps.len());
            let rows = steps[first..last]
                .iter()
                .flat_map(|step| step.body.iter().chain(&step.mask));
            let mut after: Vec<Task> = rows.flatten().copied().collect();
            after.sort_unstable();
            after.dedup();
            for (order, (group, tasks)) in sums.iter_mut().enumerate() {
                let offsets = match first {
                    0 => group
                        .clone()
                        .filter(|&giant| giant < circuit.offsets)
                        .count(),
                    _ => 0,
                };
                let diagonals = block * group.len();
                let mut after_all = after.clone();
                if transforms_plaintexts {
                    let priority = ROTATION * first as u32 + ROTATION - 1;
                    let plaintexts = diagonals + offsets * circuit.coordinates;
                    after_all.extend(self.encode(plaintexts, priority));
                }
                let priority = (number * sums_priority(circuit) + order) as u32;
                let work = self.sum_work(diagonals, offsets, group.len(), first > 0);
                tasks.push(self.graph.add(1, priority, work, &after_all));
            }
        }
        sums
    }

    /// Returns the work of the products of a block of baby steps with the diagonals of a group of giant steps,
    /// for all coordinates and both parts. Diagonals and baby steps are read once. Sums are written, and read
    /// first if they continue (`goes_on`).
    fn sum_work(&self, diagonals: usize, offsets: usize, giants: usize, goes_on: bool) -> Work {
        let Circuit {
            n,
            limbs,
            coordinates,
            ..
        } = *self.circuit;
        let products = (diagonals + offsets) * coordinates * 2 * limbs;
        let steps = 2 * (self.design.block + coordinates - 1) * limbs;
        let sums = giants * coordinates * 2 * limbs;
        let plaintexts = (diagonals + 3 * offsets * coordinates) * limbs;
        Work {
            unit: Unit::Sums,
            cycles: self
                .blocks
                .product_cycles(n, products, self.design.sum_lanes),
            tail: 0.0,
            rows: (plaintexts + steps + sums * (1 + usize::from(goes_on))) as f64,
        }
    }

    /// Adds the transforms of plaintexts to coefficients modulo p, and of each to all rows.
    fn encode(&mut self, plaintexts: usize, priority: u32) -> Vec<Task> {
        let [inverse, forward] = [Way::Inverse, Way::Forward].map(|way| self.transform_work(way));
        let mut rows = Vec::with_capacity(plaintexts * self.circuit.limbs);
        for _ in 0..plaintexts {
            let coefficients = self.graph.add(PLAINTEXTS, priority, inverse, &[]);
            for _ in 0..self.circuit.limbs {
                rows.push(
                    self.graph
                        .add(PLAINTEXTS, priority, forward, &[coefficients]),
                );
            }
        }
        rows
    }

    /// Adds Horner's scheme over giant steps: the sums of all coordinates are rotated and added to those of the
    /// next lower step.
    fn giant_steps(&mut self, sums: &[(Range<usize>, Vec<Task>)]) -> Vec<Pair> {
        let limbs = self.circuit.limbs;
        let mut turned: Vec<Pair> = Vec::new();
        for (group, products) in sums {
            let ready = vec![products.clone(); limbs];
            for _ in group.clone() {
                if turned.is_empty() {
                    let pair = Pair {
                        body: ready.clone(),
                        mask: ready.clone(),
                    };
                    turned = vec![pair; self.circuit.coordinates];
                    continue;
                }
                turned = turned
                    .iter()
                    .map(|sum| {
                        let at = self.next_rotation(1);
                        let raised = self.decompose(&sum.mask, &self.circuit.giant, at);
                        let image = self.switch(&raised, &sum.body, &self.circuit.giant, at);
                        self.add(image, products, at)
                    })
                    .collect();
            }
        }
        turned
    }

    /// Adds products to an image, row by row.
    fn add(&mut self, image: Pair, products: &[Task], at: At) -> Pair {
        let cycles = self
            .blocks
            .addition_cycles(self.circuit.n, self.design.key_lanes);
        let work = Work {
            unit: Unit::Key,
            cycles,
            tail: 0.0,
            rows: 3.0,
        };
        let mut part = |rows: Rows, priority| -> Rows {
            rows.into_iter()
                .map(|mut after| {
                    after.extend(products);
                    vec![self.graph.add(at.stage, priority, work, &after)]
                })
                .collect()
        };
        Pair {
            mask: part(image.mask, at.priority + 5),
            body: part(image.body, at.priority + 5 + LATER),
        }
    }

    /// Adds the move to the next level: dropped rows of both parts are transformed to coefficients, converted
    /// and subtracted; b is added.
    fn lower(&mut self, pair: &Pair) {
        let (dropped, result) = (self.circuit.dropped, self.circuit.result_limbs);
        let at = self.next_rotation(2);
        let work = self.transform_work(Way::Inverse);
        for rows in [&pair.mask, &pair.body] {
            let inverse: Vec<Task> = rows[..dropped]
                .iter()
                .map(|after| self.graph.add(at.stage, at.priority, work, after))
                .collect();
            let own: Vec<Task> = rows.iter().flatten().copied().collect();
            self.divide(&inverse, &vec![own; result], 2, at);
        }
        let work = self.transform_work(Way::Forward);
        for _ in 0..result {
            self.graph.add(at.stage, at.priority, work, &[]);
        }
    }

    fn next_rotation(&mut self, stage: u8) -> At {
        let at = At {
            stage,
            priority: self.priority,
        };
        self.priority += ROTATION;
        at
    }
}

/// Returns the number of priorities of one block of sums, which exceeds the number of groups.
fn sums_priority(circuit: &Circuit) -> usize {
    circuit.giant_steps
}

//! The affine transform as tasks on a design's units.
//!
//! A rotation is `c1 → coefficients → digits raised to all other primes → products with the key → special rows to
//! coefficients → subtracted from all rows, scaled, permuted`. A conversion needs all rows of its digit, a target row the
//! products of all digits, a subtracted row all special rows. The next rotation needs the mask alone: it begins while the
//! body is divided. Sums over a block of baby steps need these and their diagonals; a giant step needs the sums of its
//! step. All other order is the schedule's.

use crate::blocks::{Blocks, conversion_slots};
use crate::circuit::{Circuit, Switch};
use crate::design::{Design, Diagonals};
use crate::schedule::{Graph, Task, Unit, Work};
use std::ops::Range;

/// Giant steps whose sums are made in one reading of the baby steps.
const GIANTS_TOGETHER: usize = 4;

/// Priorities between the mask of one rotation and that of the next.
const ROTATION: u32 = 10;

/// By how much bodies come after masks: whatever waits for a mask goes first.
const LATER: u32 = 8;

/// What a stage is called, by number.
pub const STAGES: [&str; 3] = ["baby_steps", "products_and_giant_steps", "next_level"];

/// Transforms of plaintexts, a stage that runs beside the others.
const PLAINTEXTS: u8 = STAGES.len() as u8;

/// What each row of a part waits for.
type Rows = Vec<Vec<Task>>;

/// A ciphertext that is being made.
#[derive(Clone)]
struct Pair {
    body: Rows,
    mask: Rows,
}

/// Where tasks belong: their stage and the priority of their rotation.
#[derive(Clone, Copy)]
struct At {
    stage: u8,
    priority: u32,
}

/// All tasks of one transform. `cold`: plaintexts are transformed first, as for a board that the card has not seen.
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

    /// The rotations of the secret, each of which waits for the one that it is made from.
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
                // The farthest one comes first: the next ones are made from it.
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

    /// The products of each group of giant steps, by blocks of baby steps; the highest group first.
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
                let mut after = after.clone();
                if transforms_plaintexts {
                    let priority = ROTATION * first as u32 + ROTATION - 1;
                    let plaintexts = diagonals + offsets * circuit.coordinates;
                    after.extend(self.encode(plaintexts, priority));
                }
                let priority = (number * sums_priority(circuit) + order) as u32;
                let work = self.sum_work((diagonals, offsets), (group.len(), first > 0));
                tasks.push(self.graph.add(1, priority, work, &after));
            }
        }
        sums
    }

    /// Products of a block of baby steps with the diagonals of a group of giant steps, for all coordinates and both
    /// parts. Diagonals and baby steps are read once, sums read unless they begin, and written.
    fn sum_work(
        &self,
        (diagonals, offsets): (usize, usize),
        (giants, goes_on): (usize, bool),
    ) -> Work {
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
            rows: (plaintexts + steps + sums * (1 + usize::from(goes_on))) as f64,
        }
    }

    /// Plaintexts to coefficients modulo p, and each to all rows.
    fn encode(&mut self, plaintexts: usize, priority: u32) -> Vec<Task> {
        let work = self.transform_work();
        let mut rows = Vec::with_capacity(plaintexts * self.circuit.limbs);
        for _ in 0..plaintexts {
            let coefficients = self.graph.add(PLAINTEXTS, priority, work, &[]);
            for _ in 0..self.circuit.limbs {
                rows.push(self.graph.add(PLAINTEXTS, priority, work, &[coefficients]));
            }
        }
        rows
    }

    /// Horner over giant steps: the sums of all coordinates are turned and added to those of the next lower step.
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

    /// The next level: dropped rows of both parts to coefficients, converted, subtracted; and b, added.
    fn lower(&mut self, pair: &Pair) {
        let (dropped, result) = (self.circuit.dropped, self.circuit.result_limbs);
        let at = self.next_rotation(2);
        let work = self.transform_work();
        for rows in [&pair.mask, &pair.body] {
            let inverse: Vec<Task> = rows[..dropped]
                .iter()
                .map(|after| self.graph.add(at.stage, at.priority, work, after))
                .collect();
            let own: Vec<Task> = rows.iter().flatten().copied().collect();
            self.divide(&inverse, &vec![own; result], 2, at);
        }
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

    /// The digits of a mask modulo every prime of the key, special ones last.
    fn decompose(&mut self, mask: &Rows, switch: &Switch, at: At) -> Rows {
        let work = self.transform_work();
        let inverse: Vec<Task> = mask
            .iter()
            .map(|after| self.graph.add(at.stage, at.priority, work, after))
            .collect();
        let (limbs, all) = (switch.limbs(), switch.limbs() + switch.special);
        let mut raised = vec![Vec::new(); all];
        let mut first = 0;
        for &own in &switch.digits {
            let digit = first..first + own;
            first = digit.end;
            let others: Vec<usize> = (0..limbs).filter(|row| !digit.contains(row)).collect();
            let special: Vec<usize> = (limbs..all).collect();
            // Special rows have the longest way before them.
            for (rows, later) in [(special, 1), (others, 2)] {
                for (row, task) in
                    self.convert(&inverse[digit.clone()], &rows, at, (later, later == 1))
                {
                    raised[row].push(task);
                }
            }
            for row in digit {
                raised[row].extend(&mask[row]);
            }
        }
        raised
    }

    /// Rows converted from others, as many at a time as there are cores, and transformed.
    /// The first ones wait for the weighing of the sources, where that is due.
    fn convert(
        &mut self,
        from: &[Task],
        rows: &[usize],
        at: At,
        (later, weigh): (u32, bool),
    ) -> Vec<(usize, Task)> {
        let priority = at.priority + later;
        let mut done = Vec::with_capacity(rows.len());
        for (number, targets) in rows.chunks(self.design.targets()).enumerate() {
            let weigh = weigh && number == 0;
            let work = self.conversion_work(from.len(), targets.len(), weigh);
            let converted = self.graph.add(at.stage, priority, work, from);
            let work = self.transform_work();
            for &row in targets {
                done.push((row, self.graph.add(at.stage, priority, work, &[converted])));
            }
        }
        done
    }

    /// Products with the key, division by the special primes, permutation: the mask before the body.
    fn switch(&mut self, raised: &Rows, body: &Rows, switch: &Switch, at: At) -> Pair {
        let limbs = switch.limbs();
        let products: Vec<Task> = raised
            .iter()
            .enumerate()
            .map(|(row, after)| {
                let later = if row < limbs { 3 } else { 2 };
                let work = self.key_work(switch.digits.len());
                self.graph.add(at.stage, at.priority + later, work, after)
            })
            .collect();
        let mut part = |own: Rows, factors, at: At| {
            let work = self.transform_work();
            let inverse: Vec<Task> = products[limbs..]
                .iter()
                .map(|&product| self.graph.add(at.stage, at.priority + 3, work, &[product]))
                .collect();
            self.divide(&inverse, &own, factors, at)
        };
        let rows = |add: Option<&Rows>| -> Rows {
            let own = products[..limbs].iter().map(|&product| vec![product]);
            own.enumerate()
                .map(|(row, mut after)| {
                    after.extend(add.iter().flat_map(|rows| &rows[row]));
                    after
                })
                .collect()
        };
        let late = At {
            priority: at.priority + LATER,
            ..at
        };
        Pair {
            mask: part(rows(None), 1, at),
            body: part(rows(Some(body)), 2, late),
        }
    }

    /// Rows converted from dropped ones, subtracted from what `own` makes, multiplied by `factors` factors and permuted.
    fn divide(&mut self, dropped: &[Task], own: &Rows, factors: usize, at: At) -> Rows {
        let rows: Vec<usize> = (0..own.len()).collect();
        let mut done = self.convert(dropped, &rows, at, (4, true));
        done.sort_unstable();
        let cycles = self
            .blocks
            .product_cycles(self.circuit.n, factors, self.design.key_lanes);
        let work = Work {
            unit: Unit::Key,
            cycles: cycles + self.blocks.permutation_fill(),
            rows: 2.0 + factors as f64,
        };
        done.into_iter()
            .map(|(row, converted)| {
                let mut after = own[row].clone();
                after.push(converted);
                vec![self.graph.add(at.stage, at.priority + 4, work, &after)]
            })
            .collect()
    }

    /// Reads a row and its factors, writes a row.
    fn transform_work(&self) -> Work {
        Work {
            unit: Unit::Transform,
            cycles: self
                .blocks
                .transform_cycles(self.circuit.n, self.design.butterflies),
            rows: 3.0,
        }
    }

    /// Reads all sources once for all targets; weighed ones are written too. Where products are summed, what weighs is
    /// beside the lanes.
    fn conversion_work(&self, sources: usize, targets: usize, weigh: bool) -> Work {
        let (n, lanes) = (self.circuit.n, self.design.conversion_lanes);
        let on_lanes = weigh && !self.design.summed;
        let slots = conversion_slots(sources as u64, targets as u64, on_lanes) as usize;
        let weighed = if weigh { sources } else { 0 };
        Work {
            unit: Unit::Conversion,
            cycles: self.blocks.conversion_cycles(n, slots, lanes),
            rows: (sources + weighed + targets) as f64,
        }
    }

    /// Reads a row of each digit with two rows of its key, writes two.
    fn key_work(&self, digits: usize) -> Work {
        Work {
            unit: Unit::Key,
            cycles: self
                .blocks
                .product_cycles(self.circuit.n, 2 * digits, self.design.key_lanes),
            rows: (3 * digits + 2) as f64,
        }
    }
}

/// Priorities of one block of sums: more than there are groups.
fn sums_priority(circuit: &Circuit) -> usize {
    circuit.giant_steps
}

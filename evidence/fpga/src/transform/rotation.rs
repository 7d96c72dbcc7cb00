//! A rotation as tasks: raising digits, products with the key, division by special primes.

use super::{At, Builder, LATER, Pair, Rows};
use crate::blocks::Way;
use crate::circuit::Switch;
use crate::design::Design;
use crate::schedule::{Task, Unit, Work};

/// The number of target rows in a basis conversion. Transforms begin with the first target, and the time to
/// weight their sources is nearly hidden.
const TARGETS: usize = 12;

impl Builder<'_> {
    /// Adds the decomposition of a mask and returns its digits modulo every prime of the key, special ones
    /// last.
    pub(super) fn decompose(&mut self, mask: &Rows, switch: &Switch, at: At) -> Rows {
        let work = self.transform_work(Way::Inverse);
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
            // The tasks that depend on special rows take longest.
            for (rows, later) in [(special, 1), (others, 2)] {
                for (row, task) in self.convert(&inverse[digit.clone()], &rows, at, later) {
                    raised[row].push(task);
                }
            }
            for row in digit {
                raised[row].extend(&mask[row]);
            }
        }
        raised
    }

    /// Adds the conversion of rows from others, [`TARGETS`] at a time, and their transforms.
    fn convert(&mut self, from: &[Task], rows: &[usize], at: At, later: u32) -> Vec<(usize, Task)> {
        let priority = at.priority + later;
        let mut done = Vec::with_capacity(rows.len());
        for targets in rows.chunks(TARGETS) {
            let work = self.conversion_work(from.len(), targets.len());
            let converted = self.graph.add(at.stage, priority, work, from);
            let work = self.transform_work(Way::Forward);
            for &row in targets {
                done.push((row, self.graph.add(at.stage, priority, work, &[converted])));
            }
        }
        done
    }

    /// Adds products with the key, division by the special primes and permutation, the mask before the body.
    pub(super) fn switch(&mut self, raised: &Rows, body: &Rows, switch: &Switch, at: At) -> Pair {
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
            let work = self.transform_work(Way::Inverse);
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

    /// Adds the conversion of the dropped rows, their subtraction from the rows that `own` computes, the
    /// products with `factors` factors and the permutation.
    pub(super) fn divide(&mut self, dropped: &[Task], own: &Rows, factors: usize, at: At) -> Rows {
        let rows: Vec<usize> = (0..own.len()).collect();
        let mut done = self.convert(dropped, &rows, at, 4);
        done.sort_unstable();
        let cycles = self
            .blocks
            .product_cycles(self.circuit.n, factors, self.design.key_lanes);
        let work = Work {
            unit: Unit::Key,
            cycles: cycles + self.blocks.permutation_fill(),
            tail: 0.0,
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

    /// Returns the work of a transform, which reads a row and its factors and writes a row.
    pub(super) fn transform_work(&self, way: Way) -> Work {
        let (n, butterflies) = (self.circuit.n, self.design.butterflies);
        Work {
            unit: Unit::Transform,
            cycles: self.blocks.transform_cycles(n, butterflies, way),
            tail: self.blocks.transform_tail(n, butterflies),
            rows: 3.0,
        }
    }

    /// Returns the work of a conversion, which reads all sources and writes all targets.
    fn conversion_work(&self, sources: usize, targets: usize) -> Work {
        let Design {
            conversion_lanes,
            summed,
            ..
        } = *self.design;
        let (n, rows) = (self.circuit.n, [sources, targets]);
        Work {
            unit: Unit::Conversion,
            cycles: self
                .blocks
                .conversion_cycles(n, rows, conversion_lanes, summed),
            tail: 0.0,
            rows: (sources + targets) as f64,
        }
    }

    /// Returns the work of products with a key, which read a row of each digit and two rows of its key, and
    /// write two rows.
    fn key_work(&self, digits: usize) -> Work {
        Work {
            unit: Unit::Key,
            cycles: self
                .blocks
                .product_cycles(self.circuit.n, 2 * digits, self.design.key_lanes),
            tail: 0.0,
            rows: (3 * digits + 2) as f64,
        }
    }
}

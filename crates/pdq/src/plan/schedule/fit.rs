//! Finds where a circuit is cut into steps.

use super::{Op, Sizes};
use crate::plan::Id;
use std::collections::HashSet;
use std::ops::Range;

/// Most bytes of the selections that are made together on a block; they share masks.
const SELECTIONS_BYTES: usize = 1 << 29;

/// Runs of operations whose selections take half a gibibyte at most and ask for at most `constants` constants, unless
/// one selection takes more. A run ends where few of its values are asked for later.
pub(super) fn ranges(sizes: &Sizes, constants: usize) -> Vec<Range<Id>> {
    let ops = &sizes.plan.circuit.ops;
    let carried = carried(sizes);
    let (mut ranges, mut start) = (Vec::new(), 0);
    loop {
        let end = furthest(sizes, start, constants);
        if end == ops.len() {
            ranges.push(start..end);
            return ranges;
        }
        let early = end - (end - start) / 4;
        let cut = (early..=end)
            .rev()
            .min_by_key(|&at| carried[at])
            .expect("the end is one of them");
        ranges.push(start..cut);
        start = cut;
    }
}

/// Where the selection stands that is one too many.
fn furthest(sizes: &Sizes, start: Id, most: usize) -> Id {
    let circuit = &sizes.plan.circuit;
    let (mut bytes, mut constants, mut tables) = (0, 0, HashSet::new());
    for (id, op) in circuit.ops.iter().enumerate().skip(start) {
        let Op::Select { table, .. } = op else {
            continue;
        };
        bytes += sizes.value(id);
        if tables.insert(*table) {
            constants += circuit.tables[*table].radix;
        }
        if (bytes > SELECTIONS_BYTES || constants > most) && id > start {
            return id;
        }
    }
    circuit.ops.len()
}

/// For each place between operations: bytes of the values before it that are asked for behind it.
fn carried(sizes: &Sizes) -> Vec<usize> {
    let ops = &sizes.plan.circuit.ops;
    let mut last: Vec<Id> = (0..ops.len()).collect();
    for (id, op) in ops.iter().enumerate() {
        op.operands()
            .into_iter()
            .for_each(|operand| last[operand] = id);
    }
    let mut ended = vec![0; ops.len() + 1];
    for (id, &last) in last.iter().enumerate() {
        ended[last] += sizes.value(id);
    }
    let mut carried = Vec::with_capacity(ops.len() + 1);
    let mut held = 0;
    for (at, ended) in ended.into_iter().enumerate() {
        carried.push(held);
        if at < ops.len() {
            held += sizes.value(at);
        }
        held -= ended;
    }
    carried
}

//! Divides a circuit into steps, so that few of its values and constants are held at a time.

mod fit;
#[cfg(test)]
mod tests;

use super::circuit::{Circuit, Id, Op};
use super::cost::Counter;
use super::{Masks, Plan, memory};
use crate::Params;
use crate::noise::EXPANSION_LEVELS;
use crate::query::{ciphertexts, constants_of};
use fit::ranges;
use std::collections::HashSet;
use std::ops::Range;

/// Most bytes of values held at a time, unless one block takes more.
const VALUES_BYTES: usize = 1 << 30;

/// Most blocks that are in a step at a time: they share the entries of truth tables.
const MOST_BLOCKS: usize = 16;

/// Constants are not dropped before the answer is made where all of them take no more bytes than this.
const CONSTANTS_BYTES: usize = 1 << 29;

/// A query may take this part of its work more in order to use less memory: a twentieth.
const MORE_WORK: u64 = 20;

/// The steps of a circuit.
///
/// All blocks of a pass make a step before any makes the next one. Constants are expanded for the first step that asks
/// for them, and dropped behind the last; where they are kept for all passes, they are expanded once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// One after another.
    pub(crate) steps: Vec<Step>,
    /// By operation: how many others ask for its value.
    pub(crate) uses: Vec<u32>,
    /// Blocks of a pass.
    pub(crate) pass: usize,
    /// Blocks of a pass that are in a step at a time.
    pub(crate) together: usize,
    /// Most bytes of constants at a time.
    pub(crate) constants: usize,
    /// Most bytes of values of a block in a step.
    pub(crate) bytes: usize,
    /// Most bytes of values of a block between steps.
    pub(crate) carried: usize,
    /// Transforms beyond those of the plan: expansions that are repeated, and all masks.
    more: u64,
}

/// Operations that follow each other in the circuit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// Ciphertexts of the query that are expanded before it.
    pub(crate) expand: Vec<usize>,
    /// The step's selections, which are made first.
    pub(crate) selections: Vec<Id>,
    /// The others: those of a wave need nothing of each other.
    pub(crate) waves: Vec<Vec<Id>>,
    /// Constants that no later step asks for, unless they are kept for other blocks.
    pub(crate) forget: Vec<Range<usize>>,
}

impl Schedule {
    /// The fewest steps whose constants take half a gibibyte or, where that would take too much work, the steps that
    /// take the least memory.
    pub(crate) fn new(params: &Params, plan: &Plan) -> Self {
        let mut best = Self::of_parts(params, plan, 1);
        let most = best.more + plan.cost.transforms / MORE_WORK;
        let grown = |parts: &usize| Some(parts + parts.div_ceil(4));
        let tried = std::iter::successors(Some(2), grown);
        for parts in tried.take_while(|&parts| parts <= ciphertexts(plan)) {
            if best.constants <= CONSTANTS_BYTES {
                break;
            }
            let next = Self::of_parts(params, plan, parts);
            if next.more <= most && next.bytes_of(params, plan) < best.bytes_of(params, plan) {
                best = next;
            }
        }
        best
    }

    /// Returns steps that each use about one of `parts` parts of the constants. With one part, all constants are kept.
    pub(crate) fn of_parts(params: &Params, plan: &Plan, parts: usize) -> Self {
        let circuit = &plan.circuit;
        let sizes = Sizes { params, plan };
        let most = circuit.constants().div_ceil(parts);
        let mut steps: Vec<Step> = ranges(&sizes, most)
            .into_iter()
            .map(|range| Step::new(&circuit.ops, range))
            .collect();
        lifetimes(plan, &mut steps, parts > 1);
        let (bytes, carried) = values(&sizes, &steps);
        let together = match plan.masks {
            Masks::Clear => (VALUES_BYTES / bytes)
                .clamp(1, MOST_BLOCKS)
                .min(plan.blocks),
            Masks::Encrypted => 1,
        };
        let pass = match parts {
            1 => together,
            _ => (VALUES_BYTES / carried).clamp(together, plan.blocks),
        };
        Self {
            uses: uses(&circuit.ops),
            pass,
            together,
            constants: held(plan, &steps) * sizes.constant(),
            bytes,
            carried,
            more: more(params, plan, &steps, (parts > 1).then_some(pass)),
            steps,
        }
    }

    /// The blocks of each pass.
    pub(crate) fn passes(&self, plan: &Plan) -> impl Iterator<Item = Range<usize>> {
        let (pass, blocks) = (self.pass, plan.blocks);
        let starts = (0..blocks).step_by(pass);
        starts.map(move |start| start..(start + pass).min(blocks))
    }

    /// Bytes of constants, values and masks.
    pub(crate) fn bytes_of(&self, params: &Params, plan: &Plan) -> usize {
        let values = (self.pass - self.together) * self.carried + self.together * self.bytes;
        self.constants + values + memory::masks(params, plan, self.together)
    }
}

/// How many others ask for each value.
fn uses(ops: &[Op]) -> Vec<u32> {
    let mut uses = vec![0; ops.len()];
    for operand in ops.iter().flat_map(Op::operands) {
        uses[operand] += 1;
    }
    uses
}

/// Sets the constants that each step expands and drops.
fn lifetimes(plan: &Plan, steps: &mut [Step], forget: bool) {
    let tables = |circuit: &Circuit, step: &Step| -> Vec<usize> {
        let table = |&id: &Id| match circuit.ops[id] {
            Op::Select { table, .. } => Some(table),
            _ => None,
        };
        step.selections.iter().filter_map(table).collect()
    };
    let circuit = &plan.circuit;
    let constants = |table: usize| {
        let of = &circuit.tables[table];
        of.first..of.first + of.radix
    };
    let mut is_expanded = vec![false; ciphertexts(plan)];
    for step in &mut *steps {
        for at in tables(circuit, step).into_iter().flat_map(constants) {
            let ciphertext = at >> EXPANSION_LEVELS;
            if !std::mem::replace(&mut is_expanded[ciphertext], true) {
                step.expand.push(ciphertext);
            }
        }
    }
    let mut is_forgotten = vec![!forget; circuit.tables.len()];
    for step in steps.iter_mut().rev() {
        for table in tables(circuit, step) {
            if !std::mem::replace(&mut is_forgotten[table], true) {
                step.forget.push(constants(table));
            }
        }
    }
}

/// Most constants at a time.
fn held(plan: &Plan, steps: &[Step]) -> usize {
    let (mut held, mut most) = (0, 0);
    for step in steps {
        held += step
            .expand
            .iter()
            .map(|&i| constants_of(plan, i).len())
            .sum::<usize>();
        most = most.max(held);
        held -= step
            .forget
            .iter()
            .map(ExactSizeIterator::len)
            .sum::<usize>();
    }
    most
}

/// Most bytes of values of a block in a step, and between steps: numbers of rows are among them.
fn values(sizes: &Sizes, steps: &[Step]) -> (usize, usize) {
    let ops = &sizes.plan.circuit.ops;
    let numbers = memory::numbers(sizes.params, sizes.plan);
    let mut left = uses(ops);
    let (mut held, mut most, mut carried) = (numbers, 0, 0);
    let all = |ids: &[Id]| ids.iter().map(|&id| sizes.value(id)).sum::<usize>();
    for step in steps {
        held += all(&step.selections);
        most = most.max(held);
        for wave in &step.waves {
            held += all(wave);
            most = most.max(held);
            held -= all(&spent(ops, wave, &mut left));
        }
        carried = carried.max(held);
    }
    (most, carried)
}

/// Transforms for masks, and for expansions beyond the first where constants are not kept. `pass`: blocks of a pass then.
fn more(params: &Params, plan: &Plan, steps: &[Step], pass: Option<usize>) -> u64 {
    let count = Counter::new(params, plan.start);
    let circuit = &plan.circuit;
    let masks_of = |step: &Step| -> usize {
        let digit = |&id: &Id| match circuit.ops[id] {
            Op::Select { source, digit, .. } => Some((source, digit)),
            _ => None,
        };
        let digits: HashSet<_> = step.selections.iter().filter_map(digit).collect();
        let masks = |(source, _): (usize, usize)| count.masks(circuit.sources[source].radix);
        digits.into_iter().map(masks).sum()
    };
    let masks = plan.blocks * steps.iter().map(masks_of).sum::<usize>();
    let again = pass.map_or(0, |pass| plan.blocks.div_ceil(pass) - 1);
    (masks + again * count.expansion(circuit.constants())) as u64
}

/// Bytes of what is held.
struct Sizes<'a> {
    params: &'a Params,
    plan: &'a Plan,
}

impl Sizes<'_> {
    /// An expanded constant.
    fn constant(&self) -> usize {
        memory::ciphertext(self.params, self.plan.start)
    }

    /// A value; selections are summed up a level above their own.
    fn value(&self, id: Id) -> usize {
        match self.plan.circuit.ops[id] {
            Op::Select { .. } => self.constant(),
            _ => memory::ciphertext(self.params, self.plan.level(id)),
        }
    }
}

impl Step {
    fn new(ops: &[Op], range: Range<Id>) -> Self {
        let mut step = Self::default();
        // The wave of each value of the range; those before it are there.
        let mut waves = vec![0; range.len()];
        for id in range.clone() {
            if let Op::Select { .. } = ops[id] {
                step.selections.push(id);
                continue;
            }
            let own = ops[id]
                .operands()
                .into_iter()
                .filter_map(|at| Some(waves[at.checked_sub(range.start)?]));
            let wave = own.max().unwrap_or(0);
            waves[id - range.start] = wave + 1;
            step.waves
                .resize_with(step.waves.len().max(wave + 1), Vec::new);
            step.waves[wave].push(id);
        }
        step
    }
}

/// The values that nothing asks for after a wave. `left`: by operation, how many still ask for its value.
pub(crate) fn spent(ops: &[Op], wave: &[Id], left: &mut [u32]) -> Vec<Id> {
    let mut spent = Vec::new();
    for operand in wave.iter().flat_map(|&id| ops[id].operands()) {
        left[operand] -= 1;
        if left[operand] == 0 {
            spent.push(operand);
        }
    }
    spent
}

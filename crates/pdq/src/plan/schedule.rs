//! In which steps a circuit is evaluated, so that few of its values are held at a time.

use super::Plan;
use super::circuit::{Id, Op};
use crate::Params;
use std::ops::Range;

/// Most bytes of values held at a time, unless one block takes more.
const VALUES_BYTES: usize = 1 << 30;

/// Most blocks that are evaluated together: they share the entries of truth tables.
const MOST_BLOCKS: usize = 16;

/// Most bytes of the selections that are made together on a block; they share masks.
const SELECTIONS_BYTES: usize = 1 << 29;

/// The steps of a circuit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// One after another.
    pub(crate) steps: Vec<Step>,
    /// By operation: how many others ask for its value.
    pub(crate) uses: Vec<u32>,
    /// Most bytes of values of a block at a time.
    pub(crate) bytes: usize,
}

/// Operations that follow each other in the circuit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// Its selections, which are made first.
    pub(crate) selections: Vec<Id>,
    /// The others: those of a wave need nothing of each other.
    pub(crate) waves: Vec<Vec<Id>>,
}

impl Schedule {
    pub(crate) fn new(params: &Params, plan: &Plan) -> Self {
        let ops = &plan.circuit.ops;
        let bytes = |id: Id| {
            let limbs = params.chain.basis(plan.level(id)).len();
            2 * limbs * params.spec().n * size_of::<u64>()
        };
        let steps: Vec<Step> = ranges(ops, &bytes)
            .into_iter()
            .map(|range| Step::new(ops, range))
            .collect();
        let mut uses = vec![0; ops.len()];
        for operand in ops.iter().flat_map(Op::operands) {
            uses[operand] += 1;
        }
        let mut left = uses.clone();
        let (mut held, mut most) = (0, 0);
        let all = |ids: &[Id]| ids.iter().copied().map(bytes).sum::<usize>();
        for step in &steps {
            held += all(&step.selections);
            for wave in &step.waves {
                held += all(wave);
                most = most.max(held);
                held -= all(&spent(ops, wave, &mut left));
            }
            most = most.max(held);
        }
        Self {
            steps,
            uses,
            bytes: most,
        }
    }

    /// Blocks that are evaluated together.
    pub(crate) fn blocks_together(&self) -> usize {
        (VALUES_BYTES / self.bytes).clamp(1, MOST_BLOCKS)
    }
}

impl Plan {
    /// Bytes of the server's memory for constants and values, beside the table's.
    pub fn memory_bytes(&self, params: &Params) -> u64 {
        let schedule = Schedule::new(params, self);
        let values = schedule.bytes * schedule.blocks_together().min(self.blocks);
        let limbs = params.chain.basis(self.start).len();
        let constants = self.cost.constants * 2 * limbs * params.spec().n * size_of::<u64>();
        (constants + values) as u64
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
            let own = ops[id].operands().into_iter();
            let own = own.filter_map(|at| Some(waves[at.checked_sub(range.start)?]));
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

fn ranges(ops: &[Op], bytes: &dyn Fn(Id) -> usize) -> Vec<Range<Id>> {
    let (mut ranges, mut start, mut selected) = (Vec::new(), 0, 0);
    for (id, op) in ops.iter().enumerate() {
        if !matches!(op, Op::Select { .. }) {
            continue;
        }
        if selected + bytes(id) > SELECTIONS_BYTES && id > start {
            ranges.push(start..id);
            (start, selected) = (id, 0);
        }
        selected += bytes(id);
    }
    ranges.push(start..ops.len());
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanError;
    use chacha20::ChaCha20Rng;
    use omr_table::testing::{random_condition, random_table};
    use omr_table::{ColumnType, Filter, Query, Schema, TableBuilder, Value};
    use rand_core::SeedableRng;

    fn plan(params: &Params, schema: &Schema, condition: &str) -> Result<Plan, PlanError> {
        let filter = Filter::parse(condition, schema).unwrap();
        let query = Query {
            select: vec![0],
            filter,
        };
        Plan::new(params, schema, &query.shape(), 16)
    }

    #[test]
    fn values_are_there_when_they_are_asked_for() {
        let mut rng = ChaCha20Rng::seed_from_u64(71);
        let params = Params::named("insecure-tiny-pdq-deep-v1").unwrap();
        let table = random_table(&mut rng, 300);
        let mut planned = 0;
        while planned < 200 {
            let condition = random_condition(&mut rng, table.schema(), &table).sql;
            let Ok(plan) = plan(&params, table.schema(), &condition) else {
                continue;
            };
            planned += 1;
            let ops = &plan.circuit.ops;
            let schedule = Schedule::new(&params, &plan);
            let mut held = vec![false; ops.len()];
            let mut left = schedule.uses.clone();
            for step in &schedule.steps {
                step.selections.iter().for_each(|&id| held[id] = true);
                for wave in &step.waves {
                    for &id in wave {
                        let there = ops[id].operands().iter().all(|&at| held[at]);
                        assert!(there && !held[id], "{condition}");
                    }
                    wave.iter().for_each(|&id| held[id] = true);
                    let spent = spent(ops, wave, &mut left);
                    spent.iter().for_each(|&id| held[id] = false);
                }
            }
            let left: Vec<Id> = (0..ops.len()).filter(|&id| held[id]).collect();
            assert_eq!(left, [ops.len() - 1], "the index alone: {condition}");
        }
    }

    #[test]
    fn neither_places_nor_constants_add_much_to_what_is_held() {
        let columns = [
            ("id", ColumnType::Integer),
            ("text", ColumnType::Text { max_bytes: 64 }),
        ];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        let mut builder = TableBuilder::new("t", columns).unwrap();
        for id in [0, i64::from(u32::MAX)] {
            let text = Value::Text("x".repeat(64));
            builder.push_row(vec![Value::Integer(id), text]).unwrap();
        }
        let table = builder.finish([1; 16]);
        let params = Params::named("pdq-deep-v1").unwrap();
        let ids: Vec<String> = (0..256).map(|id| (id * 1000).to_string()).collect();
        for condition in [
            "text LIKE '%godfather%'".to_owned(),
            format!("id IN ({})", ids.join(", ")),
        ] {
            let plan = plan(&params, table.schema(), &condition).unwrap();
            assert!(plan.circuit.ops.len() > 600, "{}", plan.circuit.ops.len());
            let bytes = Schedule::new(&params, &plan).bytes;
            assert!(bytes < 3 << 29, "{bytes} bytes for {condition}");
        }
    }
}

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
    /// Operations that follow each other. The selections of a step are made first, together.
    pub(crate) steps: Vec<Range<Id>>,
    /// By operation: the values that nothing asks for after it.
    pub(crate) spent: Vec<Vec<Id>>,
    /// Most bytes of values of a block at a time.
    pub(crate) bytes: usize,
}

impl Schedule {
    pub(crate) fn new(params: &Params, plan: &Plan) -> Self {
        let ops = &plan.circuit.ops;
        let bytes = |id: Id| {
            let limbs = params.chain.basis(plan.level(id)).len();
            2 * limbs * params.spec().n * size_of::<u64>()
        };
        let steps = steps(ops, &bytes);
        let spent = spent(ops);
        let (mut held, mut most) = (0, 0);
        for step in &steps {
            let select = |id: &Id| matches!(ops[*id], Op::Select { .. });
            held += step.clone().filter(select).map(bytes).sum::<usize>();
            most = most.max(held);
            for id in step.clone() {
                if !select(&id) {
                    held += bytes(id);
                    most = most.max(held);
                }
                held -= spent[id].iter().copied().map(bytes).sum::<usize>();
            }
        }
        Self {
            steps,
            spent,
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

fn steps(ops: &[Op], bytes: &dyn Fn(Id) -> usize) -> Vec<Range<Id>> {
    let (mut steps, mut start, mut selected) = (Vec::new(), 0, 0);
    for (id, op) in ops.iter().enumerate() {
        if !matches!(op, Op::Select { .. }) {
            continue;
        }
        if selected + bytes(id) > SELECTIONS_BYTES && id > start {
            steps.push(start..id);
            (start, selected) = (id, 0);
        }
        selected += bytes(id);
    }
    steps.push(start..ops.len());
    steps
}

fn spent(ops: &[Op]) -> Vec<Vec<Id>> {
    let mut spent = vec![Vec::new(); ops.len()];
    let mut seen = vec![false; ops.len()];
    for (id, op) in ops.iter().enumerate().rev() {
        for operand in op.operands() {
            if !std::mem::replace(&mut seen[operand], true) {
                spent[id].push(operand);
            }
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanError;
    use omr_table::testing::{random_condition, random_table};
    use omr_table::{ColumnType, Filter, Query, Schema, TableBuilder, Value};
    use rand_chacha::ChaCha20Rng;
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
            let all: Vec<Id> = schedule.steps.iter().cloned().flatten().collect();
            assert_eq!(all, (0..ops.len()).collect::<Vec<_>>(), "{condition}");
            let mut held = vec![false; ops.len()];
            for (id, op) in ops.iter().enumerate() {
                assert!(op.operands().iter().all(|&at| held[at]), "{condition}");
                held[id] = true;
                schedule.spent[id].iter().for_each(|&at| held[at] = false);
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

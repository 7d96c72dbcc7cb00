//! The memory that schedules hold, compared with steps worked out on paper.

use super::*;
use crate::PlanError;
use chacha20::ChaCha20Rng;
use omr_table::testing::{random_condition, random_table};
use omr_table::{ColumnType, Filter, Query, Schema, TableBuilder, Value};
use rand_core::SeedableRng;

fn plan(params: &Params, schema: &Schema, condition: &str) -> Result<Plan, PlanError> {
    let filter = Filter::parse(condition, schema).unwrap();
    let query = Query::new(vec![0], filter);
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
        // All constants are kept, and they come a few at a time.
        let schedule = Schedule::of_parts(&params, &plan, 1 + 3 * (planned % 2));
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
    ]
    .map(|(name, kind)| (name.to_owned(), kind))
    .to_vec();
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

/// Returns the plan of a query for one of `numbers` numbers that are far apart.
fn one_of(params: &Params, rows: u64, numbers: i64) -> Plan {
    let columns = vec![("id".to_owned(), ColumnType::Integer)];
    let mut builder = TableBuilder::new("t", columns).unwrap();
    for id in [0, 99_999_999] {
        builder.push_row(vec![Value::Integer(id)]).unwrap();
    }
    let mut schema = builder.finish([1; 16]).schema().clone();
    schema.rows = rows;
    let ids: Vec<String> = (0..numbers).map(|id| (id * 1009).to_string()).collect();
    plan(params, &schema, &format!("id IN ({})", ids.join(", "))).unwrap()
}

#[test]
fn constants_are_there_when_they_are_asked_for_and_only_then() {
    let params = Params::named("pdq-v1").unwrap();
    for (numbers, parts) in [(100, 1), (100, 2), (100, 9), (100, 63), (7, 4), (1, 1)] {
        let plan = one_of(&params, 20_000, numbers);
        let schedule = Schedule::of_parts(&params, &plan, parts);
        let mut held = vec![false; plan.circuit.constants()];
        let mut most = 0;
        let mut expanded = Vec::new();
        for step in &schedule.steps {
            for &ciphertext in &step.expand {
                expanded.push(ciphertext);
                constants_of(&plan, ciphertext).for_each(|at| held[at] = true);
            }
            most = most.max(held.iter().filter(|held| **held).count());
            for &id in &step.selections {
                let Op::Select { table, .. } = plan.circuit.ops[id] else {
                    panic!("no selection");
                };
                let table = &plan.circuit.tables[table];
                assert!(held[table.first..][..table.radix].iter().all(|held| *held));
            }
            let forgotten = step.forget.iter().cloned().flatten();
            forgotten.for_each(|at| assert!(std::mem::replace(&mut held[at], false)));
        }
        expanded.sort_unstable();
        assert!(expanded.into_iter().eq(0..ciphertexts(&plan)), "each once");
        let bytes = memory::ciphertext(&params, plan.start);
        assert_eq!(schedule.constants, most * bytes);
        assert_eq!(held.contains(&true), parts == 1, "forgotten at the end");
    }
}

#[test]
fn memory_is_that_of_a_few_constants_and_work_hardly_grows() {
    let params = Params::named("pdq-v1").unwrap();
    // Rows, and most bytes of constants at a time: many blocks would encode their masks too often for fewer.
    for (rows, most) in [(20_000, 3 << 29), (300_000, 5 << 30)] {
        let plan = one_of(&params, rows, 100);
        let [whole, chosen] = [
            Schedule::of_parts(&params, &plan, 1),
            Schedule::new(&params, &plan),
        ];
        let all = plan.circuit.constants() * memory::ciphertext(&params, plan.start);
        assert!(all > 11 << 30 && whole.constants == all);
        assert!(chosen.constants <= most, "{} bytes", chosen.constants);
        assert!(chosen.bytes_of(&params, &plan) <= whole.bytes_of(&params, &plan));
        assert!((chosen.more - whole.more) * MORE_WORK <= plan.cost.transforms);
    }
}

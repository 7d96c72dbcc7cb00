//! Circuits in the clear: random queries, each row's value by plain integers, against the plain reference of queries.

use super::*;
use crate::plan::{Op, Plan};
use chacha20::ChaCha20Rng;
use omr_table::testing::random_condition;
use omr_table::{Filter, Query};
use rand_core::SeedableRng;

/// The value of a circuit in every slot.
fn evaluate(plan: &Plan, entries: &[u32], numbers: &[Numbers], exists: &[bool]) -> Vec<i64> {
    let slots = exists.len();
    let each = |of: &dyn Fn(usize) -> i64| -> Vec<i64> { (0..slots).map(of).collect() };
    let mut values: Vec<Vec<i64>> = Vec::new();
    for op in &plan.circuit.ops {
        let present = |source: usize, slot: usize| numbers[source][slot].is_some();
        let value = match op {
            Op::Select {
                source,
                digit,
                table,
            } => {
                let of = &plan.circuit.sources[*source];
                let first = plan.circuit.tables[*table].first;
                let entry = |number| i64::from(entries[first + of.digit(number, *digit)]);
                each(&|slot| numbers[*source][slot].map_or(0, entry))
            }
            Op::Known {
                source,
                present: wanted,
            } => each(&|slot| i64::from(exists[slot] && present(*source, slot) == *wanted)),
            Op::Dot(pairs) => each(&|slot| {
                pairs
                    .iter()
                    .map(|&(a, b)| values[a][slot] * values[b][slot])
                    .sum()
            }),
            Op::Minus(a, b) => each(&|slot| values[*a][slot] - values[*b][slot]),
            Op::Sum(terms) => each(&|slot| terms.iter().map(|&id| values[id][slot]).sum()),
            Op::Complement { of, within } => each(&|slot| {
                let all = within.is_none_or(|source| present(source, slot));
                i64::from(all) - values[*of][slot]
            }),
        };
        values.push(value);
    }
    values.pop().expect("a circuit has a value")
}

#[test]
fn circuits_of_random_queries_are_the_queries() {
    let mut rng = ChaCha20Rng::seed_from_u64(31);
    let params = Params::named("insecure-tiny-pdq-deep-v1").unwrap();
    let table = omr_table::testing::random_table(&mut rng, 300);
    let schema = table.schema();
    let layout = Layout {
        params: &params,
        table: &table,
        seed: &[1; 32],
        hidden: None,
    };
    let places = layout.places(0);
    let positions = params.plain.order().positions();
    let (mut planned, mut selected) = (0, 0);
    for _ in 0..1500 {
        let condition = random_condition(&mut rng, schema, &table).sql;
        let filter = Filter::parse(&condition, schema).unwrap();
        let query = Query::new(vec![0], filter);
        let Ok(plan) = Plan::new(&params, schema, &query.shape(), 16) else {
            continue;
        };
        planned += 1;
        let entries = crate::client::entries(schema, &query, &plan);
        let numbers = layout.numbers(&plan, 0);
        let values = evaluate(&plan, &entries, &numbers, &layout.exists(0));
        for (row, &slot) in places.slots.iter().enumerate() {
            let value = values[positions[slot as usize] as usize];
            let matches = query.matches(&table.at(row));
            selected += usize::from(matches);
            assert_eq!(value, i64::from(matches), "row {row}: {condition}");
        }
        let rest = &places.order;
        assert!(
            (0..rest.len())
                .filter(|&slot| rest[slot] as usize >= table.rows())
                .all(|slot| values[positions[slot] as usize] == 0),
            "{condition}"
        );
    }
    assert!(
        planned > 1000 && selected > 10_000,
        "{planned} planned, {selected} rows"
    );
}

//! Sums are the same in whatever steps and passes they are made.

use super::*;
use crate::{Client, Quiet, SecretKey};
use chacha20::ChaCha20Rng;
use omr_table::{ColumnType, Query, TableBuilder, Value};
use rand_core::SeedableRng;

#[test]
fn steps_and_passes_change_no_sums() {
    let params = Params::named("insecure-tiny-pdq-v1").unwrap();
    let mut builder = TableBuilder::new("t", vec![("id".to_owned(), ColumnType::Integer)]).unwrap();
    for row in 0..4500i64 {
        builder
            .push_row(vec![Value::Integer(row * 49_999)])
            .unwrap();
    }
    let table = builder.finish([2; 16]);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    let ids: Vec<String> = (0..8).map(|i| (i * 499_990).to_string()).collect();
    let sql = format!("SELECT id FROM t WHERE id IN ({})", ids.join(", "));
    let (query, _) = Query::parse(&sql, table.schema()).unwrap();
    let client = Client::new(&params, table.schema(), &secret);
    let plan = client.plan(&query, 16).unwrap();
    assert_eq!(plan.blocks, 5);
    let sent = client.encrypt(&query, &plan, &mut rng);
    let server = Server::new(&params, &table, [4; 32]);
    let compressor = Compressor::new(&params, plan.sums(&params), &key);
    let sums = |parts, pass, together| {
        let mut schedule = Schedule::of_parts(&params, &plan, parts);
        (schedule.pass, schedule.together) = (pass, together);
        assert!(schedule.steps.len() >= parts.min(3));
        let run = Run {
            layout: server.layout(None),
            plan: &plan,
            schedule,
            key: &key,
            compressor: &compressor,
            symbols: &RowSymbols::new(&server, &plan).unwrap(),
            times: &Times::new(),
        };
        let mut words = Vec::new();
        run.groups(&sent, &Quiet, &mut |group, sums| {
            let packed = compressor.pack(sums);
            words.extend(packed.map(|ct| (group, ct.c0.to_words(), ct.c1.to_words())));
        })
        .unwrap();
        words
    };
    let whole = sums(1, 5, 5);
    assert!(!whole.is_empty());
    for (parts, pass, together) in [(1, 2, 2), (4, 5, 2), (4, 2, 1), (9, 3, 3)] {
        assert!(
            sums(parts, pass, together) == whole,
            "{parts} parts, passes of {pass}"
        );
    }
}

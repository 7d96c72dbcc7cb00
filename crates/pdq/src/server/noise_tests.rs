//! The forecast against what circuits measure at full size, on one block.

use super::*;
use crate::{Client, Quiet, SecretKey};
use chacha20::ChaCha20Rng;
use omr_bgv::Decryptor;
use omr_table::{ColumnType, Query, TableBuilder, Value};
use rand_core::{Rng, SeedableRng};

fn table(rows: usize, rng: &mut ChaCha20Rng) -> Table {
    let columns = [
        ("id", ColumnType::Integer),
        ("age", ColumnType::Integer),
        ("name", ColumnType::Text { max_bytes: 16 }),
    ]
    .map(|(name, kind)| (name.to_owned(), kind))
    .to_vec();
    let mut builder = TableBuilder::new("people", columns).unwrap();
    for _ in 0..rows {
        let values = vec![
            Value::Integer(i64::from(rng.next_u32())),
            Value::Integer(i64::from(rng.next_u32() % 100)),
            Value::Text(format!("name {}", rng.next_u32() % 1000)),
        ];
        builder.push_row(values).unwrap();
    }
    builder.finish([5; 16])
}

#[test]
fn noise_is_what_the_plan_predicts() {
    let mut rng = ChaCha20Rng::seed_from_u64(21);
    let params = Params::named("pdq-v1").unwrap();
    let table = table(params.slots(), &mut rng);
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    let client = Client::new(&params, table.schema(), &secret);
    let server = Server::new(&params, &table, [6; 32]);
    for sql in [
        "SELECT id FROM people WHERE age = 40",
        "SELECT id FROM people WHERE name = 'name 7'",
        "SELECT id FROM people WHERE id BETWEEN 1000000 AND 2000000 AND (age < 30 OR name LIKE 'name 1%')",
    ] {
        let (query, _) = Query::parse(sql, table.schema()).unwrap();
        let plan = client.plan(&query, 16).unwrap();
        let sent = client.encrypt(&query, &plan, &mut rng);
        let mut constants = Constants::new(&params, &sent, &plan, &key);
        let layout = Layout {
            params: &params,
            table: &table,
            seed: &server.placement,
            hidden: None,
        };
        let numbers = [layout.numbers(&plan, 0)];
        let block = Block {
            params: &params,
            plan: &plan,
            product: &key.product,
            present: Present::Clear(&numbers[0], &layout.exists(0)),
            stop: None,
        };
        let schedule = Schedule::new(&params, &plan);
        let mut values = vec![Values::new(&schedule)];
        for step in &schedule.steps {
            constants.provide(step, &Quiet).unwrap();
            select::select(
                &params,
                &constants,
                &step.selections,
                &numbers,
                &mut values,
                &Quiet,
            )
            .unwrap();
            block.advance(step, &mut values[0]).unwrap();
        }
        let index = values.remove(0).into_index();
        let index = lowered(&params, &index, params.last_level()).unwrap();
        let large = secret.large(&params);
        let decryptor = Decryptor {
            ring: &params.ring,
            plain: &params.plain,
            secret: &large,
        };
        let places = layout.places(0);
        let slots = decryptor.decrypt(&index);
        for (row, &slot) in places.slots.iter().enumerate() {
            assert_eq!(
                slots[slot as usize] == 1,
                query.matches(&table.at(row)),
                "{sql}: row {row}"
            );
        }
        let squares: f64 = decryptor.noise(&index).iter().map(|v| v * v).sum();
        let measured = squares.log2() / 2.0;
        println!(
            "{sql}: predicted {:.2} bits, measured {measured:.2}",
            plan.noise
        );
        assert!(
            (measured - plan.noise).abs() < 0.7,
            "{sql}: predicted {}, measured {measured}",
            plan.noise
        );
    }
}

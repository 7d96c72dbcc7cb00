//! One equality on 1,000,000 rows: seconds of each part.
use omr_pdq::{Client, Params, SecretKey, Server};
use omr_table::{ColumnType, Filter, Leaf, Query, TableBuilder, Test, Value};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::time::Instant;

fn main() {
    let rows: i64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |n| n.parse().unwrap());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let columns = vec![
        ("id".to_owned(), ColumnType::Integer),
        ("age".to_owned(), ColumnType::Integer),
        ("name".to_owned(), ColumnType::Text { max_bytes: 32 }),
        ("amount".to_owned(), ColumnType::Decimal { scale: 2 }),
        ("day".to_owned(), ColumnType::Date),
    ];
    let mut builder = TableBuilder::new("t", columns).unwrap();
    for row in 0..rows {
        let values = vec![
            Value::Integer(i64::from(rng.next_u32())),
            Value::Integer(i64::from(rng.next_u32() % 100)),
            Value::Text(format!("name {}", row * 7919 % 1_000_003)),
            Value::Decimal(i64::from(rng.next_u32() % 10_000_000)),
            Value::Date(i64::from(rng.next_u32() % 20_000)),
        ];
        builder.push_row(values).unwrap();
    }
    let table = builder.finish([1; 16]);
    let params = Params::named(&std::env::args().nth(2).unwrap_or("pdq-v1".into())).unwrap();
    let start = Instant::now();
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    println!(
        "keygen {:.2} s, key {} bytes",
        start.elapsed().as_secs_f64(),
        key.file_bytes(&params)
    );
    let client = Client {
        params: &params,
        schema: table.schema(),
        secret: &secret,
    };
    let server = Server {
        params: &params,
        table: &table,
        placement: [3; 32],
    };
    for column in [0usize, 2] {
        let test = match column {
            0 => Test::Ordinals(vec![table.ordinal(777 % rows as usize, 0).unwrap()]),
            _ => Test::Texts(vec![table.text(777 % rows as usize, 2).unwrap().to_owned()]),
        };
        let query = Query {
            select: vec![0, 1, 2, 3, 4],
            filter: Filter::Leaf(Leaf {
                column,
                test,
                negated: false,
            }),
        };
        let plan = client.plan(&query, 16).unwrap();
        println!(
            "{:?} {:?} noise {:.1} start {} widest {}",
            plan.flooding, plan.cost, plan.noise, plan.start, plan.circuit.sources[0].radix
        );
        let start = Instant::now();
        let sent = client
            .encrypt(&query, &plan, &mut rng)
            .to_bytes(&params)
            .unwrap();
        println!(
            "encrypt {:.3} s, {} bytes",
            start.elapsed().as_secs_f64(),
            sent.len()
        );
        let start = Instant::now();
        let (received, plan) = server.read(&sent).unwrap();
        let answer = server
            .answer(&received, &plan, &key, &mut rng, &|_, _| {})
            .unwrap();
        println!(
            "answer {:.2} s, {} bytes",
            start.elapsed().as_secs_f64(),
            answer.to_bytes(&params).unwrap().len()
        );
        let start = Instant::now();
        println!(
            "{:?}, {:.3} s",
            client.decode(&plan, &answer),
            start.elapsed().as_secs_f64()
        );
    }
}

//! A private query on a small table, both sides in one process.
use chacha20::ChaCha20Rng;
use omr_pdq::{Answer, Client, Params, Quiet, SecretKey, Server};
use omr_table::{ImportOptions, Query, import_csv};
use rand_core::SeedableRng;
use std::io::Cursor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1);
    let params = Params::named(name.as_deref().unwrap_or("pdq-v1"))?;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    let mut rng = ChaCha20Rng::from_seed(seed);
    let csv = Cursor::new("city,people\nBern,137000\nGenf,206000\nZug,31000\nChur,38000\n");
    let table = import_csv(csv, &ImportOptions::new("cities", [7; 16]), &mut |_| {})?;
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    let (params, schema) = (&*params, table.schema());
    let client = Client::new(params, schema, &secret);
    let (query, limit) = Query::parse("SELECT city FROM cities WHERE people < 100000", schema)?;
    let plan = client.plan(&query, limit.unwrap_or(16) as usize)?;
    println!("the server sees {}", plan.shape.render(schema));
    let sent = client.encrypt(&query, &plan, &mut rng).to_bytes(params)?;

    let server = Server::new(params, &table, [5; 32]);
    let (received, its_plan) = server.read(&sent)?;
    let answer = server
        .answer(&received, &its_plan, &key, &mut rng, &Quiet)?
        .to_bytes(params)?;

    let rows = client.decode(&plan, &Answer::from_bytes(params, &plan, &answer)?)?;
    for (number, values) in rows.numbers.iter().zip(&rows.values) {
        println!("row {number}: {}", values[0].show(schema.columns[0].kind));
    }
    Ok(())
}

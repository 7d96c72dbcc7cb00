//! A private query: a client asks for rows of a server's table; the server learns the form of the question but neither its
//! constants nor which rows match.
//!
//! `cargo run --release --example query` prints `the server sees: ..` and the rows `Zug` and `Chur`.

use omr::client::os_rng;
use omr_pdq::{Answer, Client, Params, Quiet, SecretKey, Server};
use omr_table::{ImportOptions, Query, import_csv};
use std::io::Cursor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A small set for tests, which protects nothing. `pdq-v1` is the default.
    let params = Params::named("insecure-tiny-pdq-v1")?;
    let mut rng = os_rng();
    // The server's table. A client knows the schema: the names, types and ranges of the columns.
    let csv = Cursor::new("city,people\nBern,137000\nGenf,206000\nZug,31000\nChur,38000\n");
    let table = import_csv(csv, &ImportOptions::new("cities", [7; 16]), &mut |_| {})?;
    let schema = table.schema();
    // The client keeps `secret` and gives `key` to the server, once for all its queries.
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    let client = Client::new(&params, schema, &secret);
    let sql = "SELECT city FROM cities WHERE people < 100000 LIMIT 3";
    let (query, limit) = Query::parse(sql, schema)?;
    let plan = client.plan(&query, limit.unwrap_or(16) as usize)?;
    println!("the server sees: {}", plan.shape.render(schema));
    let question = client.encrypt(&query, &plan, &mut rng).to_bytes(&params)?;
    // The server works on the encrypted question and all rows.
    let server = Server::new(&params, &table, [5; 32]);
    let (question, its_plan) = server.read(&question)?;
    let answer = server.answer(&question, &its_plan, &key, &mut rng, &Quiet)?;
    let answer = answer.to_bytes(&params)?;
    // The client decodes the rows that match.
    let rows = client.decode(&plan, &Answer::from_bytes(&params, &plan, &answer)?)?;
    let city = schema.columns[0].kind;
    let cities: Vec<String> = rows
        .values
        .iter()
        .map(|row| row[0].show(city).to_string())
        .collect();
    assert_eq!(cities, ["Zug", "Chur"]);
    for (number, city) in rows.numbers.iter().zip(&cities) {
        println!("row {number}: {city}");
    }
    Ok(())
}

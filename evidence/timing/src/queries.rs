//! Cases for private queries.

use crate::Case;
use crate::cases::public;
use crate::rng::SecretRng;
use omr_marks::{hide, publish};
use omr_pdq::{Client, Params, Quiet, SecretKey, Server, flood};
use omr_ring::Poly;
use omr_rlwe::Rlwe;
use omr_table::{ColumnType, Filter, Leaf, Query, Table, TableBuilder, Test, Value};
use std::hint::black_box;
use std::sync::Arc;

pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("keys of private queries", keys),
        Case::new("private queries and their answers", answers),
        Case::new("flooding of two-sided answers", flooding),
    ]
}

fn params() -> Arc<Params> {
    Params::named("insecure-tiny-pdq-two-sided-v1").expect("published")
}

fn keys() {
    let (params, rng) = (params(), &mut SecretRng::new());
    let (secret, key) = SecretKey::generate(&params, rng);
    let mut file = Vec::new();
    key.write(&params, &mut file).expect("a file");
    black_box((secret, file));
}

fn table() -> Table {
    let columns = ["key", "value"].map(|name| (name.to_owned(), ColumnType::Integer));
    let mut builder = TableBuilder::new("t", columns.to_vec()).expect("columns");
    for row in 0..20 {
        let values = vec![Value::Integer(row), Value::Integer(100 + row)];
        builder.push_row(values).expect("a row");
    }
    builder.finish([2; 16])
}

/// Encrypts a query and decodes its answer with a marked secret.
fn answers() {
    let (params, table, rng) = (params(), table(), &mut public());
    let (mut secret, key) = SecretKey::generate(&params, rng);
    let filter = Filter::Leaf(Leaf::new(0, Test::Ordinals(vec![7])));
    let query = Query::new(vec![1], filter);
    let client = Client::new(&params, table.schema(), &secret);
    let plan = client.plan(&query, 4).expect("a plan");
    let sent = client.encrypt(&query, &plan, rng);
    let server = Server::new(&params, &table, [0; 32]);
    let answer = server
        .answer(&sent, &plan, &key, rng, &Quiet)
        .expect("an answer");

    hide(std::slice::from_ref(&secret));
    publish(&mut secret.id);
    let client = Client::new(&params, table.schema(), &secret);
    black_box(client.encrypt(&query, &plan, &mut SecretRng::new()));
    let rows = client.decode(&plan, &answer).expect("rows");
    assert_eq!(rows.values, [[Value::Integer(107)]]);
}

fn flooding() {
    let params = params();
    let (ring, basis) = (&params.small, params.small_basis());
    let row = || Poly::zero(ring, basis);
    let zero = Rlwe::new(row(), row());
    let mut answer = Rlwe::new(row(), row());
    let bits = params.flooding().expect("a set with flooding");
    flood(&params, &zero, bits, &mut answer, &mut SecretRng::new());
    black_box(answer);
}

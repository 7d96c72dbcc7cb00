//! Queries mean what SQL says: they select the rows that SQLite selects, over random tables of all
//! types with absent values.

use chacha20::ChaCha8Rng;
use omr_table::testing::{
    Cells, Twin, random_condition, random_query, random_table, selective_condition,
};
use omr_table::{ColumnType, Filter, Query, Schema, Table, Value};
use rand_core::{Rng, SeedableRng};
use rusqlite::{Connection, params_from_iter, types::Value as Stored};

const TABLES: u64 = 12;
const QUERIES: usize = 500;

#[test]
fn selects_the_rows_that_sqlite_selects() {
    let mut counts = Counts::default();
    for seed in 0..TABLES {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let size = [0, 1, 100, 300, 3000][seed as usize % 5];
        let table = random_table(&mut rng, size);
        let schema = table.schema().clone();
        let database = database(&schema, &table);
        let cells: Vec<Cells> = (0..size)
            .map(|row| Cells::of(&table, row, schema.columns.len()))
            .collect();
        for _ in 0..QUERIES {
            let twin = random_condition(&mut rng, &schema, &table);
            let found = ours(&twin, &schema, &cells);
            assert_eq!(found, theirs(&database, &twin), "table {seed}: {twin:#?}");
            counts.add(size, found.len());
        }
    }
    println!("{counts:?}");
    assert!(counts.queries >= 5000);
    // The generator is of use where answers are small and not empty.
    assert!(counts.selective * 5 >= counts.large, "{counts:?}");
    assert!(counts.empty * 2 <= counts.queries, "{counts:?}");
}

#[derive(Debug, Default)]
struct Counts {
    queries: usize,
    empty: usize,
    /// Queries over tables of 3,000 rows.
    large: usize,
    /// Queries over tables of 3,000 rows that select 1 to 50 of them.
    selective: usize,
}

impl Counts {
    fn add(&mut self, size: usize, found: usize) {
        self.queries += 1;
        self.empty += usize::from(size > 1 && found == 0);
        self.large += usize::from(size == 3000);
        self.selective += usize::from(size == 3000 && (1..=50).contains(&found));
    }
}

fn ours(twin: &Twin, schema: &Schema, cells: &[Cells]) -> Vec<usize> {
    let filter =
        Filter::parse(&twin.sql, schema).unwrap_or_else(|error| panic!("{}: {error}", twin.sql));
    (0..cells.len())
        .filter(|&row| filter.matches(&cells[row]))
        .collect()
}

fn theirs(database: &Connection, twin: &Twin) -> Vec<usize> {
    let sql = format!(
        "SELECT rowid FROM people WHERE {} ORDER BY rowid",
        twin.sqlite
    );
    let mut statement = database
        .prepare(&sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    rows.map(|row| row.unwrap() as usize - 1).collect()
}

fn database(schema: &Schema, table: &Table) -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database
        .execute_batch("PRAGMA case_sensitive_like = ON")
        .unwrap();
    let declared = |kind| {
        if matches!(kind, ColumnType::Text { .. }) {
            "TEXT"
        } else {
            "INTEGER"
        }
    };
    let columns: Vec<String> = schema
        .columns
        .iter()
        .map(|column| format!("\"{}\" {}", column.name, declared(column.kind)))
        .collect();
    database
        .execute_batch(&format!(
            "CREATE TABLE people ({}); BEGIN",
            columns.join(", ")
        ))
        .unwrap();
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = database
        .prepare(&format!("INSERT INTO people VALUES ({marks})"))
        .unwrap();
    for row in 0..table.rows() {
        let values = (0..columns.len()).map(|column| stored(table.value(row, column)));
        insert.execute(params_from_iter(values)).unwrap();
    }
    drop(insert);
    database.execute_batch("COMMIT").unwrap();
    database
}

fn stored(value: Value) -> Stored {
    match value {
        Value::Null => Stored::Null,
        Value::Text(text) => Stored::Text(text),
        Value::Boolean(value) => Stored::Integer(value.into()),
        Value::Integer(value)
        | Value::Date(value)
        | Value::Timestamp(value)
        | Value::Decimal(value) => Stored::Integer(value),
    }
}

#[test]
fn statements_parse_and_their_shapes_are_fit_to_ask() {
    let mut rng = ChaCha8Rng::seed_from_u64(77);
    let table = random_table(&mut rng, 300);
    let schema = table.schema().clone();
    for _ in 0..500 {
        let limit = rng.next_u32() % 100;
        let sql = random_query(&mut rng, &schema, &table);
        let (query, found) = Query::parse(&format!("{sql} LIMIT {limit};"), &schema)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(found, Some(limit.into()));
        let shape = query.shape();
        assert_eq!(shape.check(&schema), Ok(()));
        let (leaves, shapes) = (query.leaves(), shape.leaves());
        assert_eq!(leaves.len(), shapes.len());
        for (leaf, shape) in leaves.iter().zip(shapes) {
            assert_eq!((leaf.column, leaf.negated), (shape.column, shape.negated));
            assert_eq!(leaf.test.shape(), *shape.test);
        }
    }
}

#[test]
fn selective_conditions_are_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let table = random_table(&mut rng, 1000);
    let schema = table.schema().clone();
    let cells: Vec<Cells> = (0..1000)
        .map(|row| Cells::of(&table, row, schema.columns.len()))
        .collect();
    for _ in 0..20 {
        let twin = selective_condition(&mut rng, &schema, &table, 1..=50).unwrap();
        assert!((1..=50).contains(&ours(&twin, &schema, &cells).len()));
    }
    // No row passes more often than all do.
    assert_eq!(
        selective_condition(&mut rng, &schema, &table, 1001..=2000),
        None
    );
}

//! Fuzz target: conditions and queries in SQL, and their shapes as JSON.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use crate::tables::TABLE;
use omr_table::{Filter, Query, Shape};

/// The fuzz target.
pub const TARGET: Target = Target::new("sql", run, seeds);

const CONDITION: usize = 128;
const SHAPE: usize = 192;

fn run(choice: usize, rest: &[u8]) {
    let table = &*TABLE;
    let schema = table.schema();
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    bounded(rest.len(), 4096, || match choice {
        SHAPE.. => {
            if let Ok(shape) = serde_json::from_str::<Shape>(text)
                && shape.check(schema).is_ok()
            {
                is_sound(&shape);
            }
        }
        CONDITION.. => {
            if let Ok(filter) = Filter::parse(text, schema) {
                let _ = filter.matches(&table.at(1));
            }
        }
        _ => {
            if let Ok((query, _)) = Query::parse(text, schema) {
                is_sound(&query.shape());
                for row in 0..table.rows() {
                    let _ = query.matches(&table.at(row));
                }
            }
        }
    });
}

/// Checks that a valid shape survives its JSON, and can be printed.
fn is_sound(shape: &Shape) {
    let schema = TABLE.schema();
    shape.check(schema).expect("a shape of this table");
    let json = serde_json::to_string(shape).expect("plain data");
    let again: Shape = serde_json::from_str(&json).expect("what was written reads");
    assert_eq!(&again, shape);
    assert!(!shape.render(schema).is_empty());
}

fn seeds() -> Vec<Vec<u8>> {
    let queries = [
        "SELECT * FROM people WHERE id = 7 AND name LIKE 'a%b' LIMIT 5",
        "SELECT id, \"name\" FROM people WHERE NOT (fare BETWEEN 1.5 AND 9 OR open) AND day IN (DATE '2001-01-10')",
        "SELECT name FROM people WHERE at >= TIMESTAMP '2001-01-10 12:00:00' OR name ILIKE '_x%' ESCAPE '!'",
        "SELECT day FROM people WHERE name IS NOT NULL AND id <> NULL AND id IN (1, 2, 3, -9223372036854775808)",
    ];
    let condition = |sql: &&str| {
        let (_, condition) = sql.split_once("WHERE ").expect("a condition");
        choose(CONDITION, condition.as_bytes())
    };
    let shape = |sql: &&str| {
        let (query, _) = Query::parse(sql, TABLE.schema()).expect("a query");
        let json = serde_json::to_vec(&query.shape()).expect("plain data");
        choose(SHAPE, &json)
    };
    let whole = queries.iter().map(|sql| choose(0, sql.as_bytes()));
    let conditions = queries.iter().skip(1).map(condition);
    whole
        .chain(conditions)
        .chain(queries.iter().map(shape))
        .collect()
}

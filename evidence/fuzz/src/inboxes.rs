//! Fuzz target: an inbox's file, damaged, and with records that no version wrote.

use crate::Target;
use crate::input::{choose, patched};
use omr_mail::{Home, Inbox, MailError};
use redb::{Database, TableDefinition};
use std::cell::RefCell;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The fuzz target. The database's own panics become errors.
pub const TARGET: Target = Target::new("inboxes", run, seeds).catching();

const FILE: &str = "inbox.redb";
/// The tables of records, by number.
const TABLES: [&str; 6] = ["jobs", "digests", "messages", "bodies", "kept", "spares"];
/// The first choice for records; lower choices damage the file.
const RECORDS: usize = 64;
/// The first choice for any bytes.
const ANY: usize = 192;

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder"));
}

static RIGHT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let inbox = Inbox::open(&Home::new(folder.path())).expect("an inbox");
    inbox.begin_at(7, None).expect("written");
    drop(inbox);
    fs::read(folder.path().join(FILE)).expect("read")
});

fn run(choice: usize, rest: &[u8]) {
    let file = match choice {
        ANY.. => rest.to_vec(),
        RECORDS.. => RIGHT.clone(),
        _ => patched(&RIGHT, rest),
    };
    FOLDER.with_borrow(|folder| {
        let home = Home::new(folder.path());
        let path = home.path(FILE);
        fs::write(&path, &file).expect("a file to write to");
        if (RECORDS..ANY).contains(&choice) {
            insert(&path, TABLES[choice % TABLES.len()], rest);
        }
        // A record that cannot be read, and damage, yield an error.
        let _ = look(&home);
    });
}

/// Inserts a record: eight bytes of number, then the value.
fn insert(path: &std::path::Path, table: &'static str, record: &[u8]) {
    let (number, value) = record.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let number = u64::from_le_bytes(*number);
    let table: TableDefinition<u64, &[u8]> = TableDefinition::new(table);
    let db = Database::open(path).expect("a right file");
    let tx = db.begin_write().expect("a transaction");
    let inserted = tx
        .open_table(table)
        .expect("a table")
        .insert(number, value)
        .map(drop);
    inserted.expect("written");
    tx.commit().expect("written");
}

fn look(home: &Home) -> Result<(), MailError> {
    let inbox = Inbox::open(home)?;
    for entry in inbox.list(true)? {
        let _ = inbox.body(entry.number);
    }
    let _ = inbox.kept();
    let _ = inbox.leftovers();
    let _ = inbox.audit();
    let _ = inbox.pending();
    let _ = inbox.again_range(0..7, 5, 3);
    let _ = inbox.retry_damaged();
    let _ = inbox.drop_range(0..u64::MAX);
    Ok(())
}

fn seeds() -> Vec<Vec<u8>> {
    let choice = |table: usize| (RECORDS..).find(|choice| choice % TABLES.len() == table);
    let record = |table, json: &str| {
        let record = [&5u64.to_le_bytes()[..], json.as_bytes()].concat();
        choose(choice(table).expect("a number"), &record)
    };
    let id = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]";
    let job = format!(
        r#"{{"request_id":{id},"start":0,"end":7,"step":0,"bound":5,"fetched":false,"again":null,"spare":false,"turn":1,"failures":0}}"#
    );
    let kept = r#"{"start":0,"end":7,"bound":5,"overflowed":9,"exact":true,"reason":"x","asked_again":false,"read":1,"fetches_left":0,"turn":1,"covered":[[0,7,2]]}"#;
    vec![
        choose(0, &[]),
        choose(0, &[9, 0, 0, 1]),
        choose(0, &[0, 32, 0, 255, 0, 64, 0, 1]),
        choose(ANY, &RIGHT[..320]),
        record(0, &job),
        record(
            2,
            r#"{"index":3,"fetched":1,"bytes":2,"read":false,"name":"x"}"#,
        ),
        record(3, "a body"),
        record(4, kept),
        record(5, r#"{"of":[0,7,2],"turn":1,"found":[2]}"#),
    ]
}

//! Fuzz target: an inbox's file, damaged, and with records that no version wrote.

use crate::Target;
use crate::input::{choose, patched};
use omr_client::{identity, os_rng};
use omr_mail::{Home, Inbox, MailError};
use omr_protocol::{ClueKind, ClueParams};
use redb::{Builder, StorageBackend, TableDefinition};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

/// The fuzz target. The database's own panics become errors.
pub const TARGET: Target = Target::new("inboxes", run, seeds).catching();

const FILE: &str = "inbox.redb";
const SECRET: &str = "secret.key";
/// The tables of records, by number.
const TABLES: [&str; 6] = ["jobs", "digests", "messages", "bodies", "kept", "spares"];
/// The first choice for records; lower choices damage the file.
const RECORDS: usize = 64;
/// The first choice for any database.
const ANY: usize = 192;
/// The first choice for any file.
const BARE: usize = 224;

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new({
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(SECRET), &RIGHT.secret).expect("written");
        folder
    });
}

/// An identity with an inbox.
struct Right {
    secret: Vec<u8>,
    key: omr_disk::Key,
    /// The database of the inbox, which its file contains encrypted.
    database: Vec<u8>,
}

static RIGHT: LazyLock<Right> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (secret, address) = identity(&CLUES, ClueKind::Bound, &mut os_rng());
    drop(address);
    let bytes = secret.to_bytes(&CLUES).expect("a secret").to_vec();
    let home = Home::new(folder.path());
    fs::write(home.path(SECRET), &bytes).expect("written");
    let inbox = Inbox::open(&home).expect("an inbox");
    inbox.begin_at(7, None).expect("written");
    drop(inbox);
    let key = secret.storage_key();
    let storage = storage(&home.path(FILE), &key);
    let mut database = vec![0; storage.len().expect("a length") as usize];
    storage.read(0, &mut database).expect("read");
    Right {
        secret: bytes,
        key,
        database,
    }
});

static CLUES: LazyLock<Arc<ClueParams>> =
    LazyLock::new(|| ClueParams::named("insecure-tiny-v4").expect("a known set"));

/// Returns the storage of a database in an encrypted file; an empty one where there is no file.
fn storage(path: &Path, key: &omr_disk::Key) -> impl StorageBackend + use<> {
    let mut options = fs::File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).expect("a file");
    let storage = omr_disk::encrypted_database(file, key).expect("a storage");
    storage.expect("the key of the file")
}

fn run(choice: usize, rest: &[u8]) {
    let database = match choice {
        ANY.. => rest.to_vec(),
        RECORDS.. => RIGHT.database.clone(),
        _ => patched(&RIGHT.database, rest),
    };
    FOLDER.with_borrow(|folder| {
        let home = Home::new(folder.path());
        let path = home.path(FILE);
        if choice >= BARE {
            fs::write(&path, rest).expect("a file to write to");
        } else {
            let _ = fs::remove_file(&path);
            let storage = storage(&path, &RIGHT.key);
            // Databases have whole sectors.
            let sectors = database.len().next_multiple_of(64);
            storage.set_len(sectors as u64).expect("written");
            storage.write(0, &database).expect("written");
        }
        if (RECORDS..ANY).contains(&choice) {
            insert(&path, TABLES[choice % TABLES.len()], rest);
        }
        // A record that cannot be read, and damage, yield an error.
        let _ = look(&home);
    });
}

/// Inserts a record: eight bytes of number, then the value.
fn insert(path: &Path, table: &'static str, record: &[u8]) {
    let (number, value) = record.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let number = u64::from_le_bytes(*number);
    let table: TableDefinition<u64, &[u8]> = TableDefinition::new(table);
    let storage = storage(path, &RIGHT.key);
    let db = Builder::new().create_with_backend(storage);
    let tx = db
        .expect("a right file")
        .begin_write()
        .expect("a transaction");
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
        choose(ANY, &RIGHT.database[..320]),
        choose(BARE, &RIGHT.secret),
        choose(BARE, b"omr encrypted database 1"),
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

//! Flips one bit in any row of any table: the board continues, and everything lost is named.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::disk::Disk;
use super::{
    Simulated, append, back_up, back_up_what_is_left, config, key, message, read_key, upload,
};
use crate::database::builder;
use crate::format::{HASHES, ONCE, Rows, TABLES};
use crate::{Change, Expiry, Store, StoreConfig};
use omr_errors::hex;

/// Asserts that a message has the content with which it was appended.
pub(super) fn check_message(store: &Store, index: u64) {
    let mut seen = false;
    let read = store.read(index..index + 1, &mut |found, clue, payload| {
        let expected = message(index);
        seen = found == index && clue == expected.clue && payload == expected.payload;
        ControlFlow::Continue(())
    });
    read.unwrap();
    assert!(seen, "message {index}");
}

/// Returns the messages that are lost, and asserts that all others are right.
fn lost(store: &Store) -> BTreeSet<u64> {
    let mut lost = BTreeSet::new();
    let (first, len) = (store.first(), store.len());
    store
        .read(first..len, &mut |index, clue, payload| {
            let expected = message(index);
            if clue.is_empty() && payload.is_empty() {
                lost.insert(index);
            } else {
                assert!(clue == expected.clue && payload == expected.payload);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    lost
}

const KEY_BYTES: usize = 3000;

/// Returns a store with rows in every table: messages 0 to 8 have expired, 8 to 24 are in segments, 24 to 30 in the
/// tail.
fn everything() -> Simulated {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    for start in (0..30).step_by(3) {
        append(&store, start..start + 3).unwrap();
    }
    store.seal().unwrap();
    store.expire(Expiry::Keep(22)).unwrap();
    let (bytes, hash) = key(KEY_BYTES, 1);
    upload(&store, &bytes, hash).unwrap();
    store.upload([9; 32], 20 << 20).unwrap();
    store.upload_chunk([9; 32], 0, &vec![1; 17 << 20]).unwrap();
    let put = |table: &str, at: u8| Change::Put {
        table: table.into(),
        key: vec![at; 16],
        value: vec![at; 40],
    };
    store
        .write(&[put("jobs", 1), put("jobs", 2), put("registrations", 3)])
        .unwrap();
    drop(store);
    simulated
}

/// The place of a flipped bit: the key of its row, and a position in the key or in the value.
#[derive(Clone)]
struct Flip {
    table: &'static str,
    rows: Rows,
    key: Vec<u8>,
    in_key: bool,
    at: usize,
}

impl fmt::Debug for Flip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, key) = (if self.in_key { "key" } else { "value" }, hex(&self.key));
        write!(
            f,
            "{}, row {key}, byte {} of its {part}",
            self.table, self.at
        )
    }
}

/// Returns flips in every row: in the first and the last byte of its key and in four places of its value. If a table
/// has more than four rows, each row has one of these, in turn.
fn flips(bytes: &[u8]) -> Vec<Flip> {
    let disk = Disk::from_bytes(bytes.to_vec());
    let database = builder().create_with_backend(disk.attach()).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut out = Vec::new();
    let of_posts = TABLES.into_iter().filter(|(_, table)| *table != "blocks");
    for (rows, table) in of_posts.chain([(ONCE, "once"), (HASHES, "hashes")]) {
        let found = transaction.open_table(rows).unwrap();
        let few = found.len().unwrap() <= 4;
        assert!(!found.is_empty().unwrap(), "no row of {table}");
        for (number, row) in found.iter().unwrap().enumerate() {
            let (key, value) = row.unwrap();
            let (key, len) = (key.value().to_vec(), value.value().len());
            let in_key = [0, key.len() - 1].map(|at| (true, at));
            let in_value = [0, len / 3, len / 2, len - 1].map(|at| (false, at));
            let places = if few {
                [&in_key[..], &in_value[..]].concat()
            } else {
                vec![in_key[number % 2], in_value[number % 4]]
            };
            out.extend(places.into_iter().map(|(in_key, at)| Flip {
                table,
                rows,
                key: key.clone(),
                in_key,
                at,
            }));
        }
    }
    out
}

fn flipped(bytes: &[u8], flip: &Flip) -> Disk {
    let disk = Disk::from_bytes(bytes.to_vec());
    let database = builder().create_with_backend(disk.attach()).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(flip.rows).unwrap();
        let row = table.remove(flip.key.as_slice()).unwrap();
        let (mut key, mut value) = (flip.key.clone(), row.unwrap().value().to_vec());
        if flip.in_key {
            key[flip.at] ^= 1 << (flip.at % 8)
        } else {
            value[flip.at] ^= 1 << (flip.at % 8)
        }
        table.insert(key.as_slice(), value.as_slice()).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    Disk::from_bytes(disk.bytes())
}

/// Asserts that all other tables are intact.
fn check_rest(store: &Store, flip: &Flip) {
    let (bytes, hash) = key(KEY_BYTES, 1);
    if flip.table != "keys" {
        assert!(read_key(store, hash).unwrap() == bytes);
    } else {
        assert_eq!(store.key_bytes(hash).unwrap(), None);
    }
    let jobs = store.scan("jobs").unwrap();
    let registrations = store.scan("registrations").unwrap();
    let records = jobs.len() + registrations.len();
    assert_eq!(records, if flip.table == "records" { 2 } else { 3 });
    for (key, value) in jobs.iter().chain(&registrations) {
        assert_eq!(value, &vec![key[0]; 40]);
    }
}

fn try_one(good: &Simulated, bytes: &[u8], intact: &Path, flip: &Flip) {
    let damaged = Simulated::on(flipped(bytes, flip), Arc::new(good.objects.fork()));
    let store = damaged.open().unwrap();
    let gone = lost(&store);
    let expected = match flip.table {
        "tail" => 1..=3,
        _ => 0..=0,
    };
    assert!(expected.contains(&gone.len()), "{flip:?}: {gone:?}");
    check_rest(&store, flip);

    // The damage is named, unless opening has mended it.
    let report = store.verify(&mut |_, _| {}).unwrap();
    let mended = ["uploads", "segments"].contains(&flip.table);
    assert_eq!(report.is_sound(), mended, "{flip:?}: {report:?}");
    let (folder, again) = (
        damaged.dir.path().join("bak"),
        damaged.dir.path().join("again"),
    );
    let (_, faults) = back_up_what_is_left(&store, &folder).unwrap();
    let left_out = ["uploads", "segments", "meta", "once", "hashes"].contains(&flip.table);
    assert_eq!(faults.is_empty(), left_out, "{flip:?}: {faults:?}");

    // Posts, sealing and expiry continue.
    assert_eq!(append(&store, 30..33).unwrap(), 30..33);
    assert_eq!(store.seal().unwrap(), 1);
    assert_eq!(lost(&store), gone, "{flip:?}");
    check_rest(&store, flip);

    // The backup restores everything that was not damaged.
    let config = StoreConfig {
        dir: again,
        ..config(&damaged.dir)
    };
    let restored = Store::restore(&config, &folder, &mut |_, _| {}).unwrap();
    assert_eq!(restored.messages, 30);
    let copy = Store::open(&config).unwrap();
    assert_eq!(lost(&copy), gone, "{flip:?}");
    check_rest(&copy, flip);
    let report = copy.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{flip:?}: {report:?}");
    assert_eq!(append(&copy, 30..33).unwrap(), 30..33);
    drop(copy);

    // An intact backup restores everything.
    let report = store.repair(Some(intact)).unwrap();
    assert!(lost(&store).is_empty(), "{flip:?}: {report:?}");
    let stray = flip.table == "records" && flip.in_key;
    if !stray {
        assert!(
            report.is_sound() && report.lost.is_empty(),
            "{flip:?}: {report:?}"
        );
        assert_eq!(store.scan("jobs").unwrap().len(), 2);
    }
    assert!(read_key(&store, key(KEY_BYTES, 1).1).is_ok());
    let report = store.repair(None).unwrap();
    assert!(report.is_sound(), "{flip:?}: {report:?}");
    assert_eq!(store.expire(Expiry::Keep(0)).unwrap().range, 8..32);
    assert_eq!(append(&store, 33..35).unwrap(), 33..35);
}

#[test]
fn one_flip_in_any_row_is_named_and_costs_nothing_else() {
    let good = everything();
    let bytes = good.disk.bytes();
    let intact = good.dir.path().join("intact");
    back_up(&good.open().unwrap(), &intact).unwrap();
    let all = flips(&bytes);
    let halves = all.chunks(all.len().div_ceil(2));
    std::thread::scope(|scope| {
        for half in halves {
            scope.spawn(|| {
                half.iter()
                    .for_each(|flip| try_one(&good, &bytes, &intact, flip))
            });
        }
    });
}

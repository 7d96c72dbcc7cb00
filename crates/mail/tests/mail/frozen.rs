//! An inbox that an earlier version wrote, table by table: it opens and holds what it held.

use omr_mail::{Home, Inbox};
use redb::{Database, Key, TableDefinition, Value, WriteTransaction};
use std::borrow::Borrow;

/// Table, key and value in each line; bytes in hexadecimal.
const RECORDS: &str = include_str!("frozen/records.txt");
/// What the earlier version showed of them.
const SHOWN: &str = include_str!("frozen/shown.txt");

fn put<'k, 'v, K: Key + 'static, V: Value + 'static>(
    tx: &WriteTransaction,
    name: &str,
    key: impl Borrow<K::SelfType<'k>>,
    value: impl Borrow<V::SelfType<'v>>,
) {
    let mut table = tx.open_table(TableDefinition::<K, V>::new(name)).unwrap();
    table.insert(key, value).unwrap();
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

fn pair(text: &str) -> (&str, u64) {
    let (first, second) = text.split_once(',').unwrap();
    (first, number(second))
}

/// Writes a record as the earlier version did.
fn restore(tx: &WriteTransaction, line: &str) {
    let [table, key, value] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let byte = |at: usize, text: &str| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
    let bytes = |text: &str| -> Vec<u8> { (0..text.len() / 2).map(|at| byte(at, text)).collect() };
    match table {
        "state" => put::<&str, u64>(tx, table, key, number(value)),
        "records" => put::<&str, &[u8]>(tx, table, key, value.as_bytes()),
        "digests" | "bodies" | "seen" => {
            put::<u64, &[u8]>(tx, table, number(key), &bytes(value)[..]);
        }
        "copies" => put::<&[u8], u64>(tx, table, &bytes(key)[..], number(value)),
        "unopened" => put::<u64, &str>(tx, table, number(key), value),
        "marks" => put::<u64, u64>(tx, table, number(key), number(value)),
        "canaries" => put::<&[u8], &[u8]>(tx, table, &bytes(key)[..], value.as_bytes()),
        "jobs" | "messages" | "kept" | "spares" => {
            put::<u64, &[u8]>(tx, table, number(key), value.as_bytes());
        }
        "pieces" | "found" => {
            let (first, second) = pair(key);
            let key = (number(first), second);
            match table {
                "found" => put::<(u64, u64), ()>(tx, table, key, ()),
                _ => put::<(u64, u64), &[u8]>(tx, table, key, &bytes(value)[..]),
            }
        }
        "adopted" => {
            let (address, index) = pair(key);
            let address = bytes(address);
            put::<(&[u8], u64), u64>(tx, table, (&address[..], index), number(value));
        }
        other => panic!("no table {other}"),
    }
}

#[test]
fn an_inbox_of_before_opens() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    let database = Database::create(home.path("inbox.redb")).unwrap();
    let tx = database.begin_write().unwrap();
    RECORDS.lines().for_each(|line| restore(&tx, line));
    tx.commit().unwrap();
    drop(database);

    let inbox = Inbox::open(&home).unwrap();
    let mut shown: Vec<String> = Vec::new();
    for listed in inbox.list(true).unwrap() {
        let body = inbox.body(listed.number).unwrap();
        shown.push(format!("{listed:?} {}", omr_protocol::hex(&body)));
    }
    shown.extend(inbox.kept().unwrap().iter().map(|kept| format!("{kept:?}")));
    shown.push(format!("{:?}", inbox.leftovers().unwrap()));
    let canaries = inbox.audit().unwrap().canaries;
    shown.extend(canaries.iter().map(|canary| format!("{canary:?}")));
    let (pending, next) = (inbox.pending().unwrap(), inbox.requests().cursor().unwrap());
    shown.push(format!("{pending} requests, next {next}"));
    let shown = shown.join("\n") + "\n";
    assert_eq!(shown, SHOWN);
    // A person's act changes records of every kind.
    assert!(inbox.raise_bound(100).unwrap() > 0);
    assert!(inbox.drop_range(0..u64::MAX).unwrap().0 > 0);
    assert_eq!(inbox.kept().unwrap(), []);
}

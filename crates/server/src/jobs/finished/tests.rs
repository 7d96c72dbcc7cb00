//! Finished jobs in memory and on the disk.

use super::*;
use crate::caller::Caller;
use crate::jobs::trial::{id, jobs, record};
use crate::jobs::{FINISHED, State};
use crate::records::test_store;
use omr_store::{Change, Store};
use std::time::Duration;
use tempfile::TempDir;
use tonic::Code;

const LONG: Keep = Keep {
    asked: Duration::from_secs(3600),
    ordered: Duration::from_secs(3600),
};

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = test_store(&dir);
    (dir, store)
}

fn ann() -> Caller {
    Caller::test("ann", 1)
}

fn done(jobs: &Jobs, number: u64) {
    let digest = number.to_le_bytes().to_vec();
    let ended = jobs.finish(&mut jobs.lock(), &id(number), Ok(digest));
    assert!(ended.is_some_and(|ended| ended.is_done()));
}

fn ordered() -> JobRecord {
    JobRecord {
        ordered: true,
        ..record("ann", 0)
    }
}

fn nothing() -> Change {
    Change::Delete {
        table: "none".into(),
        key: Vec::new(),
    }
}

/// Writes `count` finished jobs to the disk.
fn write_finished(store: &Store, count: u64, of: impl Fn(u64) -> JobRecord) {
    let change = |number| {
        let state = State::Done;
        let record = JobRecord {
            state,
            number,
            ..of(number)
        };
        record.change(&id(number))
    };
    store
        .write(&(0..count).map(change).collect::<Vec<_>>())
        .unwrap();
}

fn kept(store: &Store) -> usize {
    store.scan(crate::jobs::JOBS).unwrap().len()
}

fn state(jobs: &Jobs, account: &str, number: u64) -> Result<State, Code> {
    let found = jobs.find(account, &id(number));
    let found = found.map(|(view, _)| view.borrow().state);
    found.map_err(|status| status.code())
}

#[test]
fn a_finished_job_is_found_on_the_disk_also_over_a_restart() {
    let (_dir, store) = store();
    let own = jobs(&store, LONG);
    own.create(id(0), record("ann", 1), &[], &ann()).unwrap();
    let (mut watched, _) = own.find("ann", &id(0)).unwrap();
    let early = own.digest("ann", &id(0)).unwrap_err();
    assert_eq!(early.code(), Code::FailedPrecondition, "{early}");
    done(&own, 0);
    own.create_ordered(id(1), ordered(), nothing()).unwrap();
    done(&own, 1);
    assert!(own.lock().entries.is_empty());
    assert!(watched.has_changed().unwrap_or(true));
    assert_eq!(watched.borrow_and_update().state, State::Done);

    let check = |own: &Jobs| {
        for number in 0..2 {
            assert_eq!(state(own, "ann", number), Ok(State::Done));
            let digest = own.digest("ann", &id(number)).unwrap();
            assert_eq!(digest, number.to_le_bytes());
            assert_eq!(state(own, "bea", number), Err(Code::NotFound));
            assert!(own.digest("bea", &id(number)).is_err());
            assert!(own.cancel("bea", &id(number)).is_err());
        }
        // Repeating the request finds the job; the same id with another request does not.
        own.create(id(0), record("ann", 1), &[], &ann()).unwrap();
        own.create_ordered(id(1), ordered(), nothing()).unwrap();
        let mut other = record("ann", 1);
        other.bound += 1;
        let refused = own.create(id(0), other, &[], &ann()).unwrap_err();
        assert_eq!(refused.code(), Code::AlreadyExists, "{refused}");
        assert_eq!(own.lock().tally.unfinished(), [0, 0]);
    };
    check(&own);
    drop(own);
    let own = jobs(&store, LONG);
    check(&own);
    // Revoking a key ends unfinished jobs only.
    own.create(id(2), record("ann", 1), &[], &ann()).unwrap();
    own.revoke("ann", &[3; 32]).unwrap();
    assert_eq!(state(&own, "ann", 2), Err(Code::NotFound));
    check(&own);
    own.cancel("ann", &id(0)).unwrap();
    assert_eq!(state(&own, "ann", 0), Err(Code::NotFound));
    assert_eq!(kept(&store), 1);
}

#[test]
fn digests_are_deleted_after_their_time() {
    let (_dir, store) = store();
    let keep = Keep {
        asked: Duration::ZERO,
        ..LONG
    };
    let own = jobs(&store, keep);
    for number in 0..3 {
        own.create(id(number), record("ann", 1), &[], &ann())
            .unwrap();
        done(&own, number);
    }
    own.create_ordered(id(3), ordered(), nothing()).unwrap();
    done(&own, 3);
    // A job that was cancelled and requested again is not the job that ended.
    own.cancel("ann", &id(1)).unwrap();
    own.create(id(1), record("ann", 1), &[], &ann()).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    own.tidy();
    for (number, expected) in [
        (0, Err(Code::NotFound)),
        (1, Ok(State::Queued)),
        (2, Err(Code::NotFound)),
        (3, Ok(State::Done)),
    ] {
        assert_eq!(state(&own, "ann", number), expected, "{number}");
    }
    drop(own);
    let keep = Keep {
        ordered: Duration::ZERO,
        ..LONG
    };
    let own = jobs(&store, keep);
    std::thread::sleep(Duration::from_millis(2));
    own.tidy();
    assert_eq!(state(&own, "ann", 1), Ok(State::Queued));
    assert_eq!(state(&own, "ann", 3), Err(Code::NotFound));
    assert_eq!(kept(&store), 1);
    assert!(store.scan(crate::jobs::DIGESTS).unwrap().is_empty());
}

#[test]
fn the_oldest_of_a_client_give_way_also_after_a_restart() {
    let (_dir, store) = store();
    write_finished(&store, FINISHED as u64, |_| record("ann", 0));
    let own = jobs(&store, LONG);
    let new = FINISHED as u64;
    own.create(id(new), record("ann", 1), &[], &ann()).unwrap();
    assert_eq!(state(&own, "ann", 0), Err(Code::NotFound));
    assert_eq!(state(&own, "ann", 1), Ok(State::Done));
    assert_eq!(kept(&store), FINISHED);
    // Clients without a token are distinguished in memory, although not on the disk.
    own.cancel("ann", &id(new)).unwrap();
    for client in [1, 2] {
        let stranger = Caller::test("", client);
        let number = new + client;
        own.create(id(number), record("", client), &[], &stranger)
            .unwrap();
        done(&own, number);
        let old = own.lock().tally.oldest(&stranger, 1, 9);
        assert_eq!(old.len(), 1, "{client}");
        own.cancel("", &id(number)).unwrap();
        assert!(own.lock().tally.oldest(&stranger, 1, 9).is_empty());
    }
}

/// Returns the bytes of memory that this process uses.
fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse::<usize>().ok());
    4096 * pages.unwrap_or(0)
}

#[test]
fn a_finished_job_of_an_order_takes_few_bytes_of_memory_and_all_go_at_once() {
    let count = 10_000;
    let (_dir, store) = store();
    write_finished(&store, count, |_| ordered());
    let keep = Keep {
        ordered: Duration::ZERO,
        ..LONG
    };
    let before = memory();
    let own = jobs(&store, keep);
    let grown = memory().saturating_sub(before);
    let inner = own.lock();
    let bytes = inner.finished.ordered.capacity() * size_of::<Ended>();
    println!("{count} finished jobs: {bytes} bytes; the process has {grown} bytes more");
    assert!(inner.entries.is_empty() && bytes <= 64 * count as usize);
    drop(inner);
    std::thread::sleep(Duration::from_millis(2));
    own.tidy();
    assert_eq!(kept(&store), 0);
    assert_eq!(own.lock().finished.ordered.capacity(), 0);
}

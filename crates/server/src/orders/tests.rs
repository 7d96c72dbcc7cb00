//! Orders over a store with meaningless messages: the jobs that they queue.

use super::*;
use crate::jobs::{Keep, State, trial};
use crate::records::{test_store, test_store_of};
use omr_protocol::Scheme;
use omr_store::{Expiry, Message, Post, StoreConfig};
use tempfile::TempDir;

const BATCH: u64 = 10;

fn orders(store: &Store, limit: usize) -> Orders {
    Orders::open(store.clone(), limit, BATCH).unwrap()
}

fn jobs(store: &Store) -> Jobs {
    let keep = Keep {
        asked: Duration::ZERO,
        ordered: Duration::from_secs(60),
    };
    trial::jobs(store, keep)
}

fn record(account: &str, id: Id, next: u64) -> OrderRecord {
    OrderRecord {
        account: account.into(),
        request_id: id,
        keys: vec![[3; 32]],
        next,
        bound: 5,
        indices_only: false,
        scheme: Scheme::Sophomr.tag(),
    }
}

fn append(store: &Store, count: u64) {
    let message = |i: u64| Message {
        clue: (store.len() + i).to_le_bytes().to_vec(),
        payload: vec![0; 8],
    };
    let id = [store.len() as u8 + 1; 16];
    let post = Post::new(id, String::new(), (0..count).map(message).collect());
    store.append(&[post]).unwrap().remove(0).unwrap();
}

/// Creates a store with this number of messages.
fn filled(messages: u64) -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = test_store(&dir);
    append(&store, messages);
    (dir, store)
}

fn state(jobs: &Jobs, account: &str, id: &Id, start: u64) -> Option<State> {
    let job = derived(account, &order_batch_id(id, start));
    let (view, _) = jobs.find(account, &job).ok()?;
    let state = view.borrow().state;
    Some(state)
}

fn caller(account: &str) -> Caller {
    Caller::test(account, 1)
}

#[test]
fn full_batches_are_queued_once_and_the_disk_knows() {
    let (_dir, store) = filled(25);
    let (own, queue) = (orders(&store, 9), jobs(&store));
    let id = [1; 16];
    assert_eq!(
        own.create(id, record("ann", id, 0), &caller("ann"), 1)
            .unwrap(),
        0
    );
    for _ in 0..2 {
        own.feed(&queue);
        assert_eq!(own.next("ann", &id).unwrap(), 20);
    }
    for (start, expected) in [
        (0, Some(State::Queued)),
        (10, Some(State::Queued)),
        (20, None),
    ] {
        assert_eq!(state(&queue, "ann", &id, start), expected, "{start}");
    }
    assert_eq!(queue.room_for_ordered(), 256 - 2);
    // Orders leave the room of clients who wait, which is one job here.
    let asked = record("ann", id, 0).job(0..BATCH);
    let asked = crate::jobs::JobRecord {
        ordered: false,
        ..asked
    };
    queue.create([9; 16], asked, &[], &caller("ann")).unwrap();
    drop((own, queue));
    let (own, queue) = (orders(&store, 9), jobs(&store));
    assert_eq!(own.next("ann", &id).unwrap(), 20);
    assert_eq!(queue.room_for_ordered(), 256 - 2);
    append(&store, 5);
    own.feed(&queue);
    assert_eq!(state(&queue, "ann", &id, 20), Some(State::Queued));
    assert_eq!(own.keys(), [([3; 32], "ann".to_owned())]);
}

#[test]
fn expired_messages_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = StoreConfig::new(dir.path().join("data"));
    config.segment_messages = 6;
    let store = test_store_of(&config);
    append(&store, 35);
    store.seal().unwrap();
    let (own, queue) = (orders(&store, 9), jobs(&store));
    let id = [1; 16];
    own.create(id, record("ann", id, 0), &caller("ann"), 1)
        .unwrap();
    store.expire(Expiry::Keep(24)).unwrap();
    assert!((1..=20).contains(&store.first()), "{}", store.first());
    let begins = store.first().div_ceil(BATCH) * BATCH;
    own.feed(&queue);
    for start in [0, 10, 20] {
        let expected = (start >= begins).then_some(State::Queued);
        assert_eq!(state(&queue, "ann", &id, start), expected, "{start}");
    }
    assert_eq!(own.next("ann", &id).unwrap(), 30);
}

#[test]
fn orders_are_limited_and_end_when_nobody_asks_for_them() {
    let (_dir, store) = filled(1);
    let own = orders(&store, 2);
    let give = |account: &str, id: Id| own.create(id, record(account, id, 0), &caller(account), 1);
    give("ann", [1; 16]).unwrap();
    assert!(give("ann", [2; 16]).is_err(), "ann has as many as allowed");
    give("bea", [3; 16]).unwrap();
    assert!(
        give("cas", [4; 16]).is_err(),
        "all clients have as many as allowed"
    );
    std::thread::sleep(Duration::from_millis(30));
    assert!(own.next("ann", &[3; 16]).is_err(), "bea's order");
    own.next("ann", &[1; 16]).unwrap();
    own.tidy(Duration::from_millis(25));
    assert!(own.next("bea", &[3; 16]).is_err());
    own.next("ann", &[1; 16]).unwrap();
    own.revoke("bea", &[3; 32]).unwrap();
    own.next("ann", &[1; 16]).unwrap();
    own.revoke("ann", &[3; 32]).unwrap();
    assert!(own.next("ann", &[1; 16]).is_err());
    drop(own);
    assert!(record::load(&store).unwrap().is_empty());
}

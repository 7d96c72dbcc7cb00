//! Failed attempts, and jobs whose process ended.

use super::*;
use crate::caller::Caller;
use crate::jobs::trial::{id, jobs, local, put_key, record};
use crate::jobs::{Asking, DIGESTS, Keep, Lent, record as records};
use crate::records::test_store;
use omr_store::{Change, Store};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tempfile::TempDir;

const LONG: Keep = Keep {
    asked: Duration::from_secs(3600),
    ordered: Duration::from_secs(3600),
};

/// Creates a store with a key and one job of this key.
fn scene() -> (TempDir, Store, JobRecord) {
    let dir = tempfile::tempdir().unwrap();
    let store = test_store(&dir);
    let keys = vec![put_key(&store)];
    let asked = JobRecord {
        keys,
        ..record("ann", 1)
    };
    let own = jobs(&store, LONG);
    own.create(id(0), asked.clone(), &[], &Caller::test("ann", 1))
        .unwrap();
    (dir, store, asked)
}

fn lent(jobs: &Jobs, asking: &Asking) -> Arc<Unit> {
    match jobs.lend(asking) {
        Lent::Unit(unit) => unit,
        Lent::Until(until) => panic!("nothing until {until:?}"),
        Lent::Ended => panic!("ended"),
    }
}

fn elsewhere(worker: &str) -> Asking {
    Asking {
        who: Arc::new(WorkerId {
            account: "pool".into(),
            worker: worker.into(),
        }),
        lasts: Some(Duration::from_secs(60)),
        ..local()
    }
}

/// Returns the record of the job on the disk.
fn kept(store: &Store) -> JobRecord {
    records::get(store, &id(0)).unwrap().unwrap()
}

fn seen(jobs: &Jobs) -> View {
    jobs.find("ann", &id(0)).unwrap().0.borrow().clone()
}

#[test]
fn a_job_that_ends_the_process_fails_with_the_third_attempt() {
    let (_dir, store, _) = scene();
    for attempts in 0..3 {
        let own = jobs(&store, LONG);
        assert_eq!(seen(&own).state, State::Queued);
        let found = own.lock().entries[&id(0)].record.attempts;
        assert_eq!(found, attempts);
        let unit = lent(&own, &local());
        assert_eq!(unit.jobs.len(), 1);
        assert_eq!(kept(&store).state, State::Running);
        // The process ends here, so that nothing more is written.
    }
    let own = jobs(&store, LONG);
    let failed = seen(&own);
    assert_eq!(failed.state, State::Failed);
    for expected in [
        "3 attempts",
        "process ended",
        "detector.together",
        "omr worker",
    ] {
        assert!(failed.error.contains(expected), "{}", failed.error);
    }
    assert!(matches!(own.lend(&local()), Lent::Until(_)));
    assert_eq!(own.lock().tally.unfinished(), [0, 0]);
    // The failure is on the disk, and is kept and deleted like others.
    assert_eq!(kept(&store).state, State::Failed);
    own.cancel("ann", &id(0)).unwrap();
    drop(own);
    assert!(jobs(&store, LONG).find("ann", &id(0)).is_err());
}

#[test]
fn a_server_that_stops_in_order_counts_no_attempt() {
    let (_dir, store, _) = scene();
    for round in 0..5 {
        let own = jobs(&store, LONG);
        let unit = lent(&own, &local());
        own.stop();
        match round % 2 {
            0 => own
                .fail(&local().who, &unit.id, 0, Ending::GivenBack)
                .unwrap(),
            // The thread is still making the digest when the process ends.
            _ => own.let_go(),
        }
        assert_eq!(
            (kept(&store).state, kept(&store).attempts),
            (State::Queued, 0)
        );
    }
}

#[test]
fn a_worker_elsewhere_is_not_blamed_for_the_end_of_the_server() {
    let (_dir, store, _) = scene();
    for _ in 0..5 {
        let own = jobs(&store, LONG);
        lent(&own, &elsewhere("box"));
        assert_eq!(
            (kept(&store).state, kept(&store).attempts),
            (State::Queued, 0)
        );
    }
}

#[test]
fn a_failed_attempt_is_on_the_disk_with_the_job_in_line() {
    let (_dir, store, _) = scene();
    let own = jobs(&store, LONG);
    let unit = lent(&own, &local());
    let failed = Ending::Attempt("a sector could not be read".into());
    own.fail(&local().who, &unit.id, 0, failed).unwrap();
    assert_eq!(
        (kept(&store).state, kept(&store).attempts),
        (State::Queued, 1)
    );
    assert_eq!(seen(&own).state, State::Queued);
    // Another worker gets the job at once.
    lent(&own, &elsewhere("box"));
}

#[test]
fn a_worker_that_only_fails_is_left_without_work_for_a_while() {
    let (_dir, store, asked) = scene();
    let own = jobs(&store, LONG);
    let unit = lent(&own, &elsewhere("evil"));
    let failed = Ending::Attempt("no".into());
    own.fail(&elsewhere("evil").who, &unit.id, 0, failed)
        .unwrap();
    let ordered = JobRecord {
        ordered: true,
        ..asked
    };
    let nothing = Change::Delete {
        table: "none".into(),
        key: Vec::new(),
    };
    own.create_ordered(id(1), ordered, nothing).unwrap();
    let Lent::Until(Some(until)) = own.lend(&elsewhere("evil")) else {
        panic!("work for one that only fails");
    };
    assert!(until > Instant::now());
    // An honest worker gets both jobs.
    lent(&own, &elsewhere("honest"));
    lent(&own, &elsewhere("honest"));
}

#[test]
fn a_digest_that_cannot_be_written_is_no_failure_and_is_kept_once_it_can() {
    let (_dir, store, _) = scene();
    let own = jobs(&store, LONG);
    let unit = lent(&own, &local());
    own.disk_fails.store(true, Ordering::Relaxed);
    let taken = own.complete(&local().who, &unit.id, 0, b"a digest".to_vec(), None);
    assert_eq!(taken, Ok(false));
    own.look();
    let waits = seen(&own);
    assert_eq!(
        (waits.state, &*waits.stage),
        (State::Running, "waiting for the disk")
    );
    assert!(matches!(own.lend(&local()), Lent::Until(Some(_))));
    own.disk_fails.store(false, Ordering::Relaxed);
    own.look();
    assert_eq!(seen(&own).state, State::Done);
    assert_eq!(own.digest("ann", &id(0)).unwrap(), b"a digest");
    assert!(own.lock().unwritten.is_empty());
    drop(own);
    assert_eq!(seen(&jobs(&store, LONG)).state, State::Done);
}

#[test]
fn a_job_that_waits_for_the_disk_may_be_cancelled_or_repeated_but_never_failed_first() {
    let (_dir, store, _) = scene();
    let own = jobs(&store, LONG);
    let unit = lent(&own, &local());
    own.disk_fails.store(true, Ordering::Relaxed);
    let failed = Ending::Final("no key".into());
    own.fail(&local().who, &unit.id, 0, failed).unwrap();
    assert_eq!(seen(&own).state, State::Running);
    drop(own);
    let own = jobs(&store, LONG);
    assert_eq!(seen(&own).state, State::Queued);
    let unit = lent(&own, &local());
    own.disk_fails.store(true, Ordering::Relaxed);
    let failed = Ending::Final("no key".into());
    own.fail(&local().who, &unit.id, 0, failed).unwrap();
    own.cancel("ann", &id(0)).unwrap();
    own.disk_fails.store(false, Ordering::Relaxed);
    own.look();
    assert!(own.find("ann", &id(0)).is_err());
    assert!(store.get(DIGESTS, &id(0)).unwrap().is_none());
    assert_eq!(own.lock().tally.unfinished(), [0, 0]);
}

#[test]
fn no_digest_is_begun_whose_attempt_cannot_be_noted() {
    let (_dir, store, _) = scene();
    let own = jobs(&store, LONG);
    own.disk_fails.store(true, Ordering::Relaxed);
    assert!(matches!(own.lend(&local()), Lent::Until(Some(_))));
    assert_eq!(seen(&own).state, State::Queued);
    own.disk_fails.store(false, Ordering::Relaxed);
    // The job is not lent at once, since it would be tried without end.
    assert!(matches!(own.lend(&local()), Lent::Until(Some(_))));
    own.lock().disk_rests = None;
    lent(&own, &local());
}

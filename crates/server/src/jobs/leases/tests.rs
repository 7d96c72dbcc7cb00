//! Leases from their grant to their end.

use super::*;
use omr_detector::engines::Costs;
use omr_protocol::{Scheme, Sealing, Stride};

const SECOND: Duration = Duration::from_secs(1);

fn who(worker: &str) -> Arc<WorkerId> {
    Arc::new(WorkerId {
        account: "pool".into(),
        worker: worker.into(),
    })
}

fn unit(id: u8, jobs: usize) -> Arc<Unit> {
    Arc::new(Unit {
        id: [id; 16],
        board_id: [1; 16],
        history_id: [2; 16],
        sealing: Sealing::None,
        payload_bytes: 32,
        scheme: Scheme::Sophomr,
        stride: Stride::new(0..10, 1),
        bound: 5,
        indices_only: false,
        seeds: Vec::new(),
        costs: Costs::default(),
        jobs: vec![Vec::new(); jobs],
        queries: Vec::new(),
        lease: 10 * SECOND,
    })
}

/// Returns unit 1 with jobs 1 and 2, leased by "a" for ten seconds.
fn granted() -> (Table, Instant) {
    let (mut table, now) = (Table::default(), Instant::now());
    let jobs = vec![[1; 16], [2; 16]];
    table.grant(unit(1, 2), jobs, who("a"), now, Some(10 * SECOND));
    (table, now)
}

#[test]
fn a_lease_lasts_from_each_renewal_on() {
    let (mut table, now) = granted();
    assert_eq!(table.next(), Some(now + 10 * SECOND));
    assert!(table.expire(now + 9 * SECOND).is_empty());
    table.renew(&[1; 16], &who("a"), now + 9 * SECOND).unwrap();
    assert!(table.expire(now + 18 * SECOND).is_empty());
    let ran_out = table.expire(now + 19 * SECOND);
    assert_eq!(ran_out, [(who("a"), vec![[1; 16], [2; 16]])]);
    // A lease expires once, and cannot be renewed after that.
    assert!(table.expire(now + 30 * SECOND).is_empty());
    let late = table.renew(&[1; 16], &who("a"), now + 30 * SECOND);
    assert_eq!(late.err(), Some(Refusal::RanOut));
    assert_eq!((table.next(), table.live().count()), (None, 0));
}

#[test]
fn a_renewal_that_comes_too_late_is_none_even_if_nobody_looked() {
    let (mut table, now) = granted();
    let late = table.renew(&[1; 16], &who("a"), now + 10 * SECOND);
    assert_eq!(late.err(), Some(Refusal::RanOut));
    assert_eq!(table.expire(now + 10 * SECOND).len(), 1);
}

#[test]
fn strangers_and_unknown_units_are_refused() {
    let (mut table, now) = granted();
    let stranger = who("b");
    assert_eq!(
        table.renew(&[1; 16], &stranger, now).err(),
        Some(Refusal::Stranger)
    );
    let other_token = WorkerId {
        account: "other".into(),
        worker: "a".into(),
    };
    assert_eq!(
        table.of(&[1; 16], &other_token).err(),
        Some(Refusal::Stranger)
    );
    assert_eq!(table.of(&[9; 16], &who("a")).err(), Some(Refusal::Unknown));
    let lease = table.of(&[1; 16], &who("a")).unwrap();
    assert_eq!(lease.job(2), Err(Refusal::Job(2)));
}

#[test]
fn a_lease_ends_with_its_last_job_and_is_remembered_for_a_while() {
    let (mut table, now) = granted();
    table.close(&[1; 16], 0, Slot::Done([7; 32]), now);
    let lease = table.of(&[1; 16], &who("a")).unwrap();
    assert!(!lease.has_ended());
    assert_eq!(lease.open().collect::<Vec<_>>(), [(1, [2; 16])]);
    table.close(&[1; 16], 1, Slot::Closed, now + SECOND);
    assert_eq!(table.live().count(), 0);
    let lease = table.of(&[1; 16], &who("a")).unwrap();
    assert!(lease.has_ended());
    assert_eq!(
        (lease.done(), lease.job(0)),
        (1, Ok(([1; 16], Slot::Done([7; 32]))))
    );
    assert!(table.expire(now + 60 * SECOND).is_empty());
    table.tidy(now + PAST);
    assert!(table.of(&[1; 16], &who("a")).is_ok());
    table.tidy(now + PAST + SECOND);
    assert_eq!(table.of(&[1; 16], &who("a")).err(), Some(Refusal::Unknown));
}

#[test]
fn a_lease_of_the_servers_own_thread_never_runs_out() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.grant(unit(1, 1), vec![[1; 16]], Arc::default(), now, None);
    assert_eq!(table.next(), None);
    assert!(table.expire(now + 1000 * PAST).is_empty());
    assert!(
        table
            .renew(&[1; 16], &WorkerId::default(), now + PAST)
            .is_ok()
    );
}

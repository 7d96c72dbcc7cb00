//! Compares the queue with results computed by hand.

use super::*;
use crate::measure::cluster::costs::RoundsCosts;

pub(crate) fn costs() -> UnitCosts {
    UnitCosts {
        batch_messages: 1000,
        together: 8,
        first_core_s: 20.0,
        next_batch_core_s: 18.0,
        further_core_s: 10.0,
        further_next_batch_core_s: 9.0,
        load_core_s: 0.5,
        key_bytes: 1000,
        message_bytes: 10,
        digest_bytes: 50,
        memory_bytes: 3000,
        message_core_s: None,
        rounds: RoundsCosts {
            scan_core_s: 8.0,
            further_scan_core_s: 1.0,
            fetch_core_s: 4.0,
            further_fetch_core_s: 2.0,
            page_core_s: 0.5,
            load_core_s: 0.25,
            page_messages: 100,
            block_messages: 50,
            key_bytes: 100,
            scan_bytes: 400,
            query_bytes: 30,
            answer_bytes: 20,
            page_bytes: 7,
            memory_bytes: 300,
        },
    }
}

pub(crate) fn machines(node_cores: u64) -> Nodes {
    Nodes {
        node_cores,
        efficiency: 1.0,
        node_bandwidth: 1e9,
        nodes: None,
        digest_hours: 168,
    }
}

fn run(at_s: u64, recipients: u64, batches: u64, piece: u64) -> Run {
    Run {
        at_us: at_s * 1_000_000,
        begun_us: at_s * 1_000_000,
        recipients,
        work: Work::Digests { batches },
        piece,
        messages: 1000,
    }
}

#[test]
fn runs_wait_for_each_other_and_for_their_arrays() {
    // 20.5 s each on one core, 58 s for the last: 2 recipients and 2 batches.
    let runs = [run(0, 1, 1, 7), run(1, 1, 1, 7), run(100, 2, 2, 8)];
    let end = 1_000_000_000;
    let done = queue(&runs, 1, &machines(1), &costs(), end, 1);
    let last = 20.0 + 18.0 + 10.0 + 9.0 + 2.0 * 0.5;
    assert!((done.core_s - (41.0 + last)).abs() < 1e-9);
    assert_eq!(done.busy_us, ((41.0 + last) * 1e6) as u64);
    // 20.5 s, 40 s, and the last one.
    assert!((40_000..40_100).contains(&done.waits.value_at_quantile(0.5)));
    assert!((57_900..58_100).contains(&done.waits.max()));
    assert_eq!(
        (done.key_bytes, done.message_bytes, done.left),
        (4000, 20_000, 0)
    );
    // A second node takes the second run at once, and fetches the messages itself.
    let two = queue(&runs, 2, &machines(1), &costs(), end, 1);
    assert!((20_400..20_600).contains(&two.waits.value_at_quantile(0.5)));
    assert_eq!(two.message_bytes, 30_000);
    // If the network is slower than the work, it determines the time.
    let slow_network = Nodes {
        node_bandwidth: 800.0,
        ..machines(1)
    };
    let slow = queue(&runs[..1], 1, &slow_network, &costs(), end, 1);
    assert_eq!(slow.busy_us, 110_000_000);
    // Runs that cannot be finished in time are counted.
    let left = queue(&runs, 1, &machines(1), &costs(), 30_000_000, 1);
    assert_eq!((left.left, left.busy_us), (1, 30_000_000));
}

#[test]
fn nodes_that_were_idle_begin_when_they_are_asked() {
    let runs = [run(100, 1, 1, 7), run(100, 1, 1, 8), run(100, 1, 1, 9)];
    let done = queue(&runs, 2, &machines(1), &costs(), 1_000_000_000, 1);
    let waits = [
        done.waits.min(),
        done.waits.value_at_quantile(0.5),
        done.waits.max(),
    ];
    for (wait, expected) in waits.into_iter().zip([20_500, 20_500, 41_000]) {
        assert!(
            wait.abs_diff(expected) <= expected / 100,
            "{wait} {expected}"
        );
    }
}

/// Scans of 500 messages for some recipients, of a board with as many messages.
fn scans(at_s: u64, recipients: u64, board: u64) -> Run {
    Run {
        work: Work::Scans { board },
        messages: 500,
        ..run(at_s, recipients, 0, board)
    }
}

#[test]
fn each_scan_leads_to_a_fetch_and_pages_are_prepared_once() {
    let end = 1_000_000_000;
    // Three keys, and scans of half a batch.
    let scans_s = 3.0 * 0.25 + (8.0 + 2.0 * 1.0) * 0.5;
    // The keys again, five pages, and three queries about half of a batch's pages: 2 s for the first query of each run,
    // 1 s for each further one.
    let fetches_s = 3.0 * 0.25 + 5.0 * 0.5 + 3.0 * 1.0;
    let done = queue(&[scans(0, 3, 500)], 1, &machines(1), &costs(), end, 1);
    let fetches = (done.runs - 1) as f64;
    assert!((1.0..=3.0).contains(&fetches), "{fetches}");
    let expected = scans_s + fetches_s + fetches;
    assert!(
        (done.core_s - expected).abs() < 1e-9,
        "{} {expected}",
        done.core_s
    );
    assert_eq!((done.left, done.key_bytes), (0, 2 * 3 * 100));
    // Messages once for the scans and once for pages, and three queries.
    assert_eq!(done.message_bytes, 2 * 500 * 10 + 3 * 30);
    // The wait is that of both rounds: a recipient's second and one query with its key and pages at least.
    let least_ms = (1e3 * (scans_s + 1.0 + 0.25 + 5.0 * 0.5 + 2.0)) as u64;
    assert!(
        done.waits.min() >= least_ms / 1000 * 999,
        "{}",
        done.waits.min()
    );
    // A board that grew by 120 messages: its first new page was not full, and the second one is new.
    let two = [scans(0, 3, 550), scans(500, 3, 670)];
    let done = queue(&two, 1, &machines(1), &costs(), end, 1);
    let pages = |from: u64, to: u64| (to - from) * 100 * 10;
    assert_eq!(
        done.message_bytes,
        2 * 500 * 10 + pages(0, 6) + pages(5, 7) + 6 * 30
    );
}

#[test]
fn fetches_that_wait_behind_one_another_run_together() {
    let fetch = |at_us, piece| Run {
        at_us,
        work: Work::Fetches { board: piece },
        ..run(0, 1, 0, piece)
    };
    let mut line = Line {
        coming: [].iter().peekable(),
        asking: (0..5).map(|at| Reverse(fetch(at, 7))).collect(),
        waiting: VecDeque::new(),
    };
    line.asking.push(Reverse(fetch(3, 8)));
    let mut taken = Vec::new();
    while let Some(run) = line.take(4, 3) {
        taken.push((run.piece, run.recipients));
    }
    assert_eq!(taken, [(7, 3), (7, 1), (8, 1), (7, 1)]);
}

#[test]
fn short_scans_are_not_followed_by_a_fetch() {
    let short = Run {
        messages: 50,
        ..scans(0, 3, 500)
    };
    let done = queue(&[short], 1, &machines(1), &costs(), 1_000_000_000, 1);
    assert_eq!((done.runs, done.key_bytes), (1, 300));
}

//! Compares the queue with results computed by hand.

use super::*;

fn costs() -> UnitCosts {
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
    }
}

fn machines(node_cores: u64) -> Nodes {
    Nodes {
        node_cores,
        efficiency: 1.0,
        node_bandwidth: 1e9,
        nodes: None,
    }
}

fn run(at_s: u64, recipients: u64, batches: u64, piece: u64) -> Run {
    Run {
        at_us: at_s * 1_000_000,
        recipients,
        batches,
        piece,
        messages: 1000,
    }
}

#[test]
fn runs_wait_for_each_other_and_for_their_arrays() {
    // 20.5 s each on one core, 58 s for the last: 2 recipients and 2 batches.
    let runs = [run(0, 1, 1, 7), run(1, 1, 1, 7), run(100, 2, 2, 8)];
    let end = 1_000_000_000;
    let done = queue(&runs, 1, &machines(1), &costs(), end);
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
    let two = queue(&runs, 2, &machines(1), &costs(), end);
    assert!((20_400..20_600).contains(&two.waits.value_at_quantile(0.5)));
    assert_eq!(two.message_bytes, 30_000);
    // If the network is slower than the work, it determines the time.
    let slow_network = Nodes {
        node_bandwidth: 800.0,
        ..machines(1)
    };
    let slow = queue(&runs[..1], 1, &slow_network, &costs(), end);
    assert_eq!(slow.busy_us, 110_000_000);
    // Runs that cannot be finished in time are counted.
    let left = queue(&runs, 1, &machines(1), &costs(), 30_000_000);
    assert_eq!((left.left, left.busy_us), (1, 30_000_000));
}

#[test]
fn nodes_that_were_idle_begin_when_they_are_asked() {
    let runs = [run(100, 1, 1, 7), run(100, 1, 1, 8), run(100, 1, 1, 9)];
    let done = queue(&runs, 2, &machines(1), &costs(), 1_000_000_000);
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

#[test]
fn policies_look_at_every_message_for_every_recipient() {
    let load = Load {
        recipients: 100,
        messages_a_day: 500,
        days: 8,
    };
    let count = |policy| -> (u64, u64) {
        let runs = runs(policy, &load, &costs(), 1);
        assert!(runs.is_sorted_by_key(|run| run.at_us));
        let looked = runs.iter().map(|run| run.recipients).sum();
        (looked, runs.len() as u64)
    };
    assert_eq!(count(Policy::Daily), (800, 800));
    // 24 times of 4 or 5 recipients, a run each.
    assert_eq!(count(Policy::Grouped), (800, 24 * 8));
    // Batches are full after 2, 4 and 6 days; 13 runs serve a hundred.
    assert_eq!(count(Policy::Orders), (300, 3 * 13));
}

#[test]
fn sizes_and_prices_follow() {
    let load = Load {
        recipients: 1000,
        messages_a_day: 1000,
        days: 4,
    };
    let prices = Prices {
        core_hour_price: Some(1.0),
        gb_month_price: Some(2.0),
        gb_fetched_price: None,
    };
    let of =
        |policy, prices: &Prices| PolicySizing::new(policy, load, machines(1), &costs(), prices, 1);
    let daily = of(Policy::Daily, &prices);
    assert_eq!(daily.core_seconds_a_day, 1000.0 * 20.5);
    // 20,500 s of a day of 86,400 s, of which 70 % may work.
    assert_eq!((daily.nodes, daily.cores), (1, 1));
    assert!(
        (daily.busy - 20_500.0 / 86_400.0).abs() < 0.01,
        "{}",
        daily.busy
    );
    assert_eq!(daily.keys_bytes, 1_000_000);
    let stored = (daily.keys_bytes + daily.digests_bytes + daily.board_a_year_bytes) as f64;
    let expected = 24.0 * 365.0 / 12.0 + stored / 1e9 * 2.0;
    assert!((daily.month_price.unwrap() - expected).abs() < 1e-6);
    let orders = of(
        Policy::Orders,
        &Prices {
            core_hour_price: None,
            ..prices
        },
    );
    // A digest for each thousand messages of 30 days.
    assert_eq!(
        (orders.digests_bytes, orders.month_price),
        (1_500_000, None)
    );
    assert!(orders.core_seconds_a_day < daily.core_seconds_a_day);
}

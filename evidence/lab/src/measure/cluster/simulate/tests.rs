//! Compares policies with results computed by hand.

use super::queue::tests::{costs, machines};
use super::*;

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
    assert_eq!(count(Policy::TwoRounds), (800, 24 * 8));
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
    let rounds = of(Policy::TwoRounds, &prices);
    // A scan and an answer of each of seven days; 656 pages of a window, and one more.
    assert_eq!(
        (rounds.keys_bytes, rounds.digests_bytes, rounds.memory_bytes),
        (100_000, 7 * 420_000, 300 + 657 * 7)
    );
    assert_eq!(
        rounds.stored_bytes,
        rounds.keys_bytes + rounds.digests_bytes + rounds.board_a_year_bytes
    );
    let fewer_hours = Nodes {
        digest_hours: 24,
        ..machines(1)
    };
    let day = PolicySizing::new(Policy::TwoRounds, load, fewer_hours, &costs(), &prices, 1);
    assert_eq!(day.digests_bytes, 420_000);
}

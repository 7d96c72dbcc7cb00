//! Compares the requirements of services with those computed by hand.

use super::*;
use crate::measure::Machine;
use omr_protocol::params::DEFAULT;

fn costs() -> MeasuredCosts {
    MeasuredCosts {
        format: COSTS_FORMAT.to_owned(),
        command: String::new(),
        date: String::new(),
        machine: Machine::here("scalar"),
        params: DEFAULT.to_owned(),
        batch_core_s: 12.0,
        message_core_s: 0.012,
        bulk_peak_bytes: 3_000_000_000,
        instant_peak_bytes: 231_000_000,
        instant_key_memory_bytes: 201_000_000,
        yardstick_us: None,
    }
}

fn sizing(load: Load, slower: f64) -> Sizing {
    let set = ParamSet::named(DEFAULT).expect("published");
    Sizing::new(&set, load, costs(), slower).expect("both engines")
}

fn zcash(recipients: u64, digests_a_day: u64) -> Load {
    Load {
        messages_a_day: 20_408,
        recipients,
        shape: Shape::default(),
        digests_a_day,
    }
}

#[test]
fn a_day_of_zcash_by_hand() {
    let sizing = sizing(zcash(100, 1), 1.0);
    let [sophomr, instantomr, hybrid] = &sizing.schemes[..] else {
        panic!("{}", sizing.schemes.len());
    };
    // One batch for the recipient; 20,408 messages of 12 ms; the batch again, since 20,408 exceed 1,000.
    assert_eq!(sophomr.core_seconds_a_day, 1200.0);
    assert!((instantomr.core_seconds_a_day - 24_489.6).abs() < 1e-6);
    assert_eq!(hybrid.core_seconds_a_day, 1200.0);
    assert_eq!([sophomr.cores, instantomr.cores, hybrid.cores], [1, 1, 1]);
    // Clue 2,805 bytes, record 4 more, one-time key 60.
    assert_eq!(sizing.board_bytes_a_day, 20_408 * (2_805 + 612 + 4 + 60));
    // 213 counters of 10 bits after the sums of 55,275 bytes.
    assert_eq!(instantomr.digest_bytes, 55_541);
    assert_eq!(instantomr.sent_bytes_a_day, 5_554_100);
    let year = 365 * sizing.board_bytes_a_day;
    // 19 sums of two rows of 2,048 residues of 50 bits.
    let sums = 19 * 2 * 12_800;
    assert_eq!(
        instantomr.disk_bytes_a_year,
        year + 100 * (instantomr.key_bytes + sums + 55_541) + 7 * 5_554_100
    );
    assert_eq!(hybrid.key_bytes, sophomr.key_bytes + instantomr.key_bytes);
    assert_eq!(hybrid.digest_bytes, sophomr.digest_bytes);
    assert_eq!(instantomr.memory_bytes, 231_000_000);
    assert_eq!(
        instantomr.memory_all_keys_bytes,
        30_000_000 + 100 * 201_000_000
    );
}

#[test]
fn short_ranges_go_message_by_message() {
    // 24 digests a day have 851 messages each, below the 1,000 of a batch's price.
    let sizing = sizing(zcash(1, 24), 1.0);
    let [sophomr, _, hybrid] = &sizing.schemes[..] else {
        panic!("{}", sizing.schemes.len());
    };
    assert_eq!(sophomr.core_seconds_a_day, 24.0 * 12.0);
    assert!((hybrid.core_seconds_a_day - 24.0 * 851.0 * 0.012).abs() < 1e-6);
    // Nine counters.
    assert_eq!(hybrid.digest_bytes, 55_286);
}

#[test]
fn cores_grow_with_recipients_and_with_slower_machines() {
    let once = sizing(zcash(1_000, 1), 1.0);
    let twice = sizing(zcash(1_000, 1), 2.0);
    for (once, twice) in once.schemes.iter().zip(&twice.schemes) {
        assert_eq!(twice.core_seconds_a_day, 2.0 * once.core_seconds_a_day);
        assert_eq!(twice.disk_bytes_a_year, once.disk_bytes_a_year);
    }
    // 244,896 s of 86,400, at 70 % of the time.
    assert_eq!(once.schemes[1].cores, 5);
}

#[test]
fn a_quiet_board_and_a_bound_that_is_too_large() {
    let quiet = Load {
        messages_a_day: 0,
        recipients: 0,
        ..zcash(0, 0)
    };
    assert_eq!(sizing(quiet, 1.0).schemes[0].cores, 1);
    let set = ParamSet::named(DEFAULT).expect("published");
    let load = Load {
        shape: Shape {
            bound: 1 << 20,
            ..Shape::default()
        },
        ..zcash(1, 1)
    };
    assert!(matches!(
        Sizing::new(&set, load, costs(), 1.0),
        Err(BenchError::Plan(_))
    ));
}

#[test]
fn costs_are_measured_on_this_machine() {
    let set = ParamSet::named("insecure-tiny-hybrid-v4").expect("published");
    let (command, date) = (String::from("test"), String::from("today"));
    let costs =
        MeasuredCosts::measure(&set, command, date, 1, &omr_detector::Quiet).expect("both engines");
    assert!(costs.is_sound(), "{costs:?}");
    assert!(costs.bulk_peak_bytes >= costs.instant_peak_bytes);
    for bad in [0.0, f64::NAN, f64::INFINITY] {
        let bad = MeasuredCosts {
            batch_core_s: bad,
            ..costs.clone()
        };
        assert!(!bad.is_sound());
    }
}

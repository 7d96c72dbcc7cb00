//! Tests of the shape of digests, up to the last index.

use omr_errors::Mismatch;
use omr_protocol::params::SetSpec;
use omr_protocol::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{PlanError, Scheme};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

fn tiny() -> &'static Params {
    static TINY: LazyLock<Arc<Params>> =
        LazyLock::new(|| Params::named("insecure-tiny-v4").unwrap());
    &TINY
}

fn plan(start: u64, end: u64) -> DigestPlan {
    DigestPlan::new(tiny(), start..end, 5, None).unwrap()
}

#[test]
fn nothing_wraps_at_the_last_index() {
    let slots = tiny().slots() as u64;
    for messages in [1, 100, slots, slots + 1, 3 * slots + 7] {
        let start = u64::MAX - messages;
        let plan = plan(start, u64::MAX);
        let mut next = start;
        for batch in 0..plan.batches() {
            let range = plan.batch(batch);
            assert!(range.start == next && range.end > next && range.end - next <= slots);
            next = range.end;
        }
        assert_eq!(next, u64::MAX);
    }
}

#[test]
fn the_longest_range() {
    let plan = plan(u64::MAX - (1 << 32), u64::MAX);
    let last = plan.batches() - 1;
    assert_eq!(plan.batch(last).end, u64::MAX);
    let group = plan.groups() - 1;
    assert_eq!(plan.group(group).end, plan.batches());
    let error = DigestPlan::new(tiny(), 0..(1 << 32) + 1, 5, None).unwrap_err();
    assert_eq!(
        error,
        PlanError::LongRange(Mismatch::new(1 << 32, (1 << 32) + 1))
    );
}

#[test]
fn bounds_and_payloads_have_limits() {
    let new = |bound, payload| DigestPlan::new(tiny(), 0..1, bound, payload);
    for found in [0, MAX_BOUND + 1, usize::MAX] {
        assert_eq!(new(found, None), Err(PlanError::Bound(found)));
    }
    for found in [0, MAX_PAYLOAD_BYTES + 1, usize::MAX] {
        assert_eq!(new(1, Some(found)), Err(PlanError::Payload(found)));
    }
    assert!(new(MAX_BOUND, Some(MAX_PAYLOAD_BYTES)).is_ok());
}

/// The check of bounds accepts what the engines of a set support, and nothing else.
#[test]
fn sets_and_schemes_have_limits() {
    let named = |name| SetSpec::named(name).unwrap();
    let hybrid = named("hybrid-v4");
    for (scheme, limit) in [
        (Scheme::Sophomr, MAX_BOUND),
        (Scheme::Instantomr, MAX_BOUND),
        (Scheme::Hybrid, MAX_BOUND),
        (Scheme::Instantomd, MAX_BOUND),
    ] {
        assert_eq!(hybrid.largest_bound(scheme), Ok(limit));
        assert_eq!(hybrid.check_bound(scheme, limit), Ok(()));
        for found in [0, limit + 1, usize::MAX] {
            let error = hybrid.check_bound(scheme, found).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("hybrid-v4") && text.contains("smaller ranges"));
            let set = "hybrid-v4";
            let expected = PlanError::SetBound {
                set,
                scheme,
                limit,
                found,
            };
            assert_eq!(error, expected);
        }
    }
    assert_eq!(
        named("instantomr-v2").largest_bound(Scheme::Instantomr),
        Ok(MAX_BOUND)
    );
    for (set, scheme) in [
        ("sophomr-v5", Scheme::Instantomr),
        ("sophomr-v5", Scheme::Hybrid),
        ("instantomr-v2", Scheme::Sophomd),
        ("instantomr-v2", Scheme::Hybrid),
    ] {
        let missing = PlanError::NoEngine { set, scheme };
        assert_eq!(named(set).largest_bound(scheme), Err(missing.clone()));
        assert_eq!(named(set).check_bound(scheme, 1), Err(missing));
    }
}

proptest! {
    #[test]
    fn every_sum_has_one_place(
        bound in 1usize..=MAX_BOUND,
        payload in prop::option::of(1usize..3000),
    ) {
        let plan = DigestPlan::new(tiny(), 0..1, bound, payload).unwrap();
        let mut sums = 0;
        for (round, ct) in plan.positions() {
            let kept: Vec<usize> = plan.kept(round, ct).collect();
            prop_assert_eq!(kept.len(), plan.kept_len(round, ct));
            prop_assert!(kept.is_sorted_by(|a, b| a < b));
            prop_assert!(kept.iter().all(|&i| i < tiny().small.n()));
            sums += kept.len();
        }
        prop_assert_eq!(sums, bound * plan.symbols());
        prop_assert_eq!(plan.positions().count(), plan.rounds() * plan.ciphertexts());
        for (part, position) in plan.positions().enumerate() {
            prop_assert_eq!(plan.position(part), position);
            prop_assert_eq!(plan.position(part + 3 * plan.parts()), position);
        }
    }
}

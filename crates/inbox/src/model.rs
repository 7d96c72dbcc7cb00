//! A model: random orders of posts, fetches, ticks of sessions, failures and crashes, at a server that keeps its promises.
//!
//! A crash loses what was written since changes were last kept. Every letter comes once all the same, nothing is
//! acknowledged before it is kept, and the calls do not depend on what is found.

mod disk;
mod server;
mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use world::World;

use crate::Failure;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Well,
    /// It is refused, without an effect.
    Fails(Failure),
    /// It takes effect, but its answer is lost.
    Lost,
    /// A digest that it brings is damaged.
    Damaged,
    /// What is here is decoded while it is made.
    Decoded,
    /// The program ends before what was written is kept.
    CrashUnkept,
    /// It ends before the call is made.
    CrashKept,
    /// It ends before the answer is looked at.
    CrashAnswered,
}

/// What happens.
#[derive(Clone, Debug)]
enum Event {
    /// Messages, those for her marked.
    Post(Vec<bool>),
    /// More than a first session has room for; the last is for her.
    Flood,
    /// The board forgets its first messages, so many.
    Expire(u64),
    /// A person asks for the first messages again, so many.
    Again(u64),
    Fetch(Vec<Fate>),
    Tick(Vec<Fate>),
    Close(Vec<Fate>),
    /// Digests are decoded; the last one's letters may not be kept before a crash.
    TakeIn {
        crash: bool,
    },
}

fn fate() -> impl Strategy<Value = Fate> {
    use Failure::{Exists, Final, JobCancelled, JobFailed, NotFound, Other, OutOfRange, Refused};
    let failures = [
        OutOfRange,
        Final,
        Refused,
        Exists,
        NotFound,
        JobFailed,
        JobCancelled,
        Other,
    ];
    prop_oneof![
        14 => Just(Fate::Well),
        3 => prop::sample::select(failures.to_vec()).prop_map(Fate::Fails),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Damaged),
        1 => Just(Fate::Decoded),
        1 => Just(Fate::CrashUnkept),
        1 => Just(Fate::CrashKept),
        1 => Just(Fate::CrashAnswered),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let fates = || vec(fate(), 0..12);
    prop_oneof![
        1 => Just(Event::Flood),
        6 => vec(any::<bool>(), 0..9).prop_map(Event::Post),
        1 => (0..9u64).prop_map(Event::Expire),
        1 => (1..20u64).prop_map(Event::Again),
        8 => fates().prop_map(Event::Fetch),
        8 => fates().prop_map(Event::Tick),
        2 => fates().prop_map(Event::Close),
        6 => prop::bool::weighted(0.2).prop_map(|crash| Event::TakeIn { crash }),
    ]
}

fn played(events: &[Event], batch: Option<u64>, hers: impl Fn(bool) -> bool) -> World {
    let mut world = World::new(batch);
    for event in events {
        world.happens(event, &hers);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_letter_comes_once(
        events in vec(event(), 0..40),
        batch in prop::option::of(Just(4u64)),
    ) {
        let mut world = played(&events, batch, |hers| hers);
        world.settles();
        all_came_once(&world)?;
    }

    #[test]
    fn every_letter_comes_once_after_a_crash_behind_any_transaction(
        events in vec(event(), 0..24),
        batch in prop::option::of(Just(4u64)),
        last in any::<prop::sample::Index>(),
    ) {
        let transactions = crashing(&events, batch, None).writes.count();
        let world = crashing(&events, batch, Some(1 + last.index(transactions as usize) as u64));
        prop_assert!(world.writes.has_crashed());
        all_came_once(&world)?;
    }

    #[test]
    fn calls_do_not_depend_on_what_is_found(
        events in vec(event(), 0..40),
        batch in prop::option::of(Just(4u64)),
    ) {
        let whose: [fn(bool) -> bool; 3] = [|_| false, |hers| hers, |_| true];
        let logs = whose.map(|hers| played(&events, batch, hers).server.log);
        prop_assert_eq!(&logs[0], &logs[1]);
        prop_assert_eq!(&logs[0], &logs[2]);
    }
}

/// The answer says that it overflows, though not of which range.
#[test]
fn a_damaged_range_is_asked_for_with_a_larger_bound_after_a_part_expired() {
    let damaged = [vec![Fate::Well; 4], vec![Fate::Damaged]].concat();
    let hers = [vec![false; 16], vec![true; 4]].concat();
    let events = [Event::Post(hers), Event::Fetch(damaged), Event::Expire(1)];
    let mut world = played(&events, None, |hers| hers);
    world.settles();
    assert_eq!(world.letters(), [16, 17, 18, 19]);
}

/// Checks that every letter came that has not expired, and none twice.
fn all_came_once(world: &World) -> Result<(), TestCaseError> {
    let mut found = world.letters();
    found.sort_unstable();
    prop_assert!(found.is_sorted_by(|one, next| one < next), "{:?}", found);
    // Of those that expired some came before.
    let first = world.server.first;
    let hers = world.server.hers();
    prop_assert!(found.iter().all(|letter| hers.contains(letter)));
    let there = |letters: Vec<u64>| -> Vec<u64> {
        letters
            .into_iter()
            .filter(|letter| *letter >= first)
            .collect()
    };
    prop_assert_eq!(there(found), there(hers));
    Ok(())
}

/// Plays the events; the program crashes once, after its transaction of this number. What was written until then is kept.
fn crashing(events: &[Event], batch: Option<u64>, last: Option<u64>) -> World {
    let mut world = World::new(batch);
    world.writes.crash_after(last);
    for event in events {
        world.outlives(|world| world.happens(event, |hers| hers));
    }
    if !world.outlives(World::settles) {
        world.settles();
    }
    world
}

#[test]
fn every_letter_comes_once_after_a_crash_behind_each_transaction_of_a_week() {
    let well = || vec![Fate::Well; 12];
    let some = || Event::Post(vec![true, false, false, true, false]);
    let damaged = || Event::Fetch([vec![Fate::Well; 4], vec![Fate::Damaged]].concat());
    let take_in = || Event::TakeIn { crash: false };
    let events = [
        some(),
        Event::Fetch(well()),
        take_in(),
        // More than her bound.
        Event::Post(vec![true; 5]),
        Event::Fetch(well()),
        take_in(),
        some(),
        Event::Tick(well()),
        some(),
        Event::Tick(well()),
        take_in(),
        Event::Close(well()),
        Event::Again(7),
        some(),
        damaged(),
        take_in(),
        Event::Expire(3),
        some(),
        Event::Fetch(well()),
    ];
    for batch in [None, Some(4)] {
        let transactions = crashing(&events, batch, None).writes.count();
        assert!(transactions > 30, "{transactions}");
        for last in 1..=transactions {
            let world = crashing(&events, batch, Some(last));
            assert!(world.writes.has_crashed(), "{last} of {transactions}");
            let came = all_came_once(&world);
            assert!(came.is_ok(), "{last} of {transactions}: {came:?}");
        }
    }
}

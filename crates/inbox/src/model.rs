//! A model: random orders of posts, fetches, ticks of sessions, failures and crashes, at a server that keeps its
//! promises but may go back to a backup, or drop messages and show others in their place; with a second device, and
//! older copies of the inbox; for an identity that fetches all digests, whole batches, or scans and payloads in two
//! rounds.
//!
//! A crash loses everything that was written since changes were last kept. Even so every letter that is on the board
//! arrives once, nothing is acknowledged before it is kept, and the calls do not depend on what is found.

mod disk;
mod fetches;
mod rounds;
mod server;
mod world;

pub(crate) use server::board;

use proptest::collection::vec;
use proptest::prelude::*;
use world::World;

use crate::Failure;

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Well,
    /// The server refuses it, without an effect.
    Fails(Failure),
    /// It takes effect, but its answer is lost.
    Lost,
    /// A digest that it returns is damaged.
    Damaged,
    /// It returns an earlier digest in place of this one.
    Replayed,
    /// Received digests are decoded while it is made.
    Decoded,
    /// The program ends before the changes are kept.
    CrashUnkept,
    /// The program ends before the call is made.
    CrashKept,
    /// The program ends before the answer is looked at.
    CrashAnswered,
    /// Before the call, the server drops this number of messages.
    Forks(u64),
}

/// An event of the model.
#[derive(Clone, Debug)]
enum Event {
    /// Messages are posted; true for those to the recipient.
    Post(Vec<bool>),
    /// More messages are posted than a first session has room for; the last is for the recipient.
    Flood,
    /// The board forgets this number of its first messages.
    Expire(u64),
    /// The server's state is backed up.
    BackUp,
    /// The backup is restored.
    Restore,
    /// The server drops this number of its last messages, as if they had never been posted.
    Fork(u64),
    /// The recipient's other device is used.
    OtherDevice,
    /// A copy of the inbox is made.
    Copy,
    /// The inbox is replaced by that copy.
    OlderCopy,
    /// A person requests this number of the first messages again.
    Again(u64),
    Fetch(Vec<Fate>),
    Tick(Vec<Fate>),
    Close(Vec<Fate>),
    /// Digests are decoded; the letters of the last one may not be kept before a crash.
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
        1 => Just(Fate::Replayed),
        1 => Just(Fate::Decoded),
        1 => Just(Fate::CrashUnkept),
        1 => Just(Fate::CrashKept),
        1 => Just(Fate::CrashAnswered),
        1 => (1..9u64).prop_map(Fate::Forks),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let fates = || vec(fate(), 0..12);
    prop_oneof![
        1 => Just(Event::Flood),
        6 => vec(any::<bool>(), 0..9).prop_map(Event::Post),
        1 => (0..9u64).prop_map(Event::Expire),
        1 => (1..20u64).prop_map(Event::Again),
        1 => Just(Event::BackUp),
        1 => Just(Event::Restore),
        1 => (1..30u64).prop_map(Event::Fork),
        2 => Just(Event::OtherDevice),
        1 => Just(Event::Copy),
        1 => Just(Event::OlderCopy),
        8 => fates().prop_map(Event::Fetch),
        8 => fates().prop_map(Event::Tick),
        2 => fates().prop_map(Event::Close),
        6 => prop::bool::weighted(0.2).prop_map(|crash| Event::TakeIn { crash }),
    ]
}

/// The way in which the recipient's identity fetches.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Digests of all messages.
    Digests,
    /// Digests of whole batches.
    Batches,
    /// Scans, and payloads of the messages that they find.
    Rounds,
}

const MODES: [Mode; 3] = [Mode::Digests, Mode::Batches, Mode::Rounds];

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(MODES.to_vec())
}

fn played(events: &[Event], mode: Mode, hers: impl Fn(bool) -> bool) -> World {
    let mut world = World::new(mode);
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
        mode in mode(),
    ) {
        let mut world = played(&events, mode, |hers| hers);
        for _ in 0..2 {
            world.settles();
            all_came_once(&world)?;
            world.happens(&Event::OtherDevice, |hers| hers);
        }
    }

    #[test]
    fn every_letter_comes_once_after_a_crash_behind_any_transaction(
        events in vec(event(), 0..24),
        mode in mode(),
        last in any::<prop::sample::Index>(),
    ) {
        let transactions = crashing(&events, mode, None).writes.count();
        let mut world = crashing(&events, mode, Some(1 + last.index(transactions as usize) as u64));
        prop_assert!(world.writes.has_crashed());
        all_came_once(&world)?;
        world.happens(&Event::OtherDevice, |hers| hers);
        world.settles();
        all_came_once(&world)?;
    }

    #[test]
    fn calls_do_not_depend_on_what_is_found(
        events in vec(event(), 0..40),
        mode in mode(),
    ) {
        let whose: [fn(bool) -> bool; 3] = [|_| false, |hers| hers, |_| true];
        let logs = whose.map(|hers| played(&events, mode, hers).server.log);
        prop_assert_eq!(&logs[0], &logs[1]);
        prop_assert_eq!(&logs[0], &logs[2]);
        let mut world = World::new(mode);
        world.server.scans_rubbish = mode == Mode::Rounds;
        for event in &events {
            world.happens(event, |_| false);
        }
        prop_assert_eq!(&logs[0], &world.server.log);
    }
}

/// The answer shows that it overflows, though not in which range.
#[test]
fn a_damaged_range_is_asked_for_with_a_larger_bound_after_a_part_expired() {
    let damaged = [vec![Fate::Well; 4], vec![Fate::Damaged]].concat();
    let hers = [vec![false; 16], vec![true; 4]].concat();
    let events = [Event::Post(hers), Event::Fetch(damaged), Event::Expire(1)];
    let mut world = played(&events, Mode::Digests, |hers| hers);
    world.settles();
    assert_eq!(world.letters(), [16, 17, 18, 19]);
}

/// The messages lie behind the window of fetches, so that those without room are kept as a range of their own.
#[test]
fn a_damaged_scan_whose_first_message_expired_does_not_find_its_letters_again() {
    let damaged = [Fate::Well, Fate::Damaged, Fate::Fails(Failure::OutOfRange)];
    let hers = [vec![false; 5], vec![true; 4]].concat();
    let events = [
        Event::Post(hers),
        Event::Flood,
        Event::Fetch(damaged.to_vec()),
        Event::Expire(1),
    ];
    let mut world = played(&events, Mode::Rounds, |hers| hers);
    world.settles();
    assert_eq!(world.letters(), [5, 6, 7, 8, 1109]);
    let kept = world.inbox.kept().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!((kept[0].range(), kept[0].read), (0..24, 4));
}

/// The recipient received another message at its place before.
#[test]
fn a_letter_that_expired_unseen_comes_after_a_restore() {
    let events = [
        Event::Flood,
        Event::Fetch(Vec::new()),
        Event::Restore,
        Event::Post(vec![true]),
        Event::BackUp,
        Event::Expire(1),
        Event::Fetch(Vec::new()),
        Event::Restore,
    ];
    for mode in MODES {
        let mut world = played(&events, mode, |hers| hers);
        world.settles();
        all_came_once(&world).unwrap();
    }
}

/// Letters that are not sealed have odd ids.
#[test]
fn an_unsealed_letter_comes_once_though_another_lay_at_its_place_meanwhile() {
    let sync = || [Event::Fetch(Vec::new()), Event::TakeIn { crash: false }];
    let before = [Event::Post(vec![false, false, false, true]), Event::BackUp];
    let other = [Event::Fork(1), Event::Post(vec![true])];
    for mode in MODES {
        let events = [&before[..], &sync(), &other, &sync(), &[Event::Restore]].concat();
        let mut world = played(&events, mode, |hers| hers);
        assert_eq!(world.letters(), [3, 4], "{mode:?}");
        world.settles();
        assert_eq!(world.letters(), [3, 4], "{mode:?}");
    }
}

/// Checks that every letter that is on the board and has not expired arrived, and none twice.
fn all_came_once(world: &World) -> Result<(), TestCaseError> {
    let mut found = world.letters();
    found.sort_unstable();
    prop_assert!(found.is_sorted_by(|one, next| one < next), "{:?}", found);
    // Letters that expired, or that the server dropped, may have arrived before.
    let posted = &world.server.letters;
    prop_assert!(found.iter().all(|letter| posted.contains(letter)));
    let first = world.server.first;
    for (index, letter) in world.server.hers() {
        let came = index < first || found.contains(&letter);
        prop_assert!(came, "letter {} at {}", letter, index);
    }
    // Letters are marked where the board has something else at their places.
    for listed in world.inbox.list(true).unwrap() {
        let body = world.inbox.body(listed.number).unwrap();
        let letter = u64::from_le_bytes(body.try_into().unwrap());
        let now = world.server.board.get(listed.index as usize);
        if listed.index >= first {
            let is_gone = now.is_none_or(|post| post.id != letter);
            prop_assert_eq!(listed.withdrawn, is_gone, "{:?}", listed);
        }
    }
    Ok(())
}

/// Plays the events; the program crashes once, after its transaction of this number. Everything that was written until
/// then is kept.
fn crashing(events: &[Event], mode: Mode, last: Option<u64>) -> World {
    let mut world = World::new(mode);
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
        // More than the recipient's bound.
        Event::Post(vec![true; 5]),
        Event::Fetch(well()),
        take_in(),
        some(),
        Event::Tick(well()),
        some(),
        Event::Tick(well()),
        take_in(),
        Event::Close(well()),
        Event::BackUp,
        some(),
        Event::Fetch(well()),
        Event::Restore,
        some(),
        some(),
        Event::Tick(well()),
        Event::Fork(3),
        some(),
        Event::Fetch(well()),
        Event::Again(7),
        some(),
        damaged(),
        take_in(),
        Event::Expire(3),
        some(),
        Event::Fetch(well()),
    ];
    for mode in MODES {
        let transactions = crashing(&events, mode, None).writes.count();
        assert!(transactions > 30, "{transactions}");
        for last in 1..=transactions {
            let world = crashing(&events, mode, Some(last));
            assert!(world.writes.has_crashed(), "{last} of {transactions}");
            let came = all_came_once(&world);
            assert!(came.is_ok(), "{last} of {transactions}: {came:?}");
        }
    }
}

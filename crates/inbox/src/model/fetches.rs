//! Tests of two rounds in the model.

use super::rounds::{ask, large};
use super::server::{Server, place};
use super::world::World;
use super::{Event, Fate, Mode, all_came_once};
use crate::{Asking, Failure, Outcome, Taken, Waiting};

/// The calls of a sync with one long scan and one fetch, by their place.
const SCANNED: usize = 4;
const SEEDS: usize = 5;
const ASKED: usize = 6;
const QUERY: usize = 7;
const ANSWERED: usize = 9;

/// Returns the fates of a sync in which one call or step has another fate than the others.
fn but(at: usize, fate: Fate) -> Vec<Fate> {
    let mut fates = vec![Fate::Well; at];
    fates.push(fate);
    fates
}

/// Posts `messages` messages, every `every`-th of them to the recipient.
fn post(server: &mut Server, messages: u64, every: u64) {
    for number in 0..messages {
        server.post(number % every == 0);
    }
}

fn sync(world: &mut World, fates: &[Fate]) -> Vec<Taken> {
    world.fetch(fates);
    let mut all = Vec::new();
    while let Some(taken) = world.take_one() {
        all.extend(taken);
    }
    world.keep();
    all
}

fn world() -> World {
    World::new(Mode::Rounds)
}

fn waiting(world: &World) -> (u64, u64) {
    let Waiting { messages, syncs } = world.inbox.waiting().unwrap();
    (messages, syncs)
}

/// Returns the ranges and numbers of messages of the kept ranges.
fn kept(world: &World) -> Vec<(u64, u64, u64)> {
    let kept = world.inbox.kept().unwrap().into_iter();
    kept.map(|kept| (kept.start, kept.end, kept.unfetched))
        .collect()
}

/// Returns the kinds and ranges of the calls that a sync made.
fn calls(world: &mut World) -> Vec<String> {
    let log = std::mem::take(&mut world.server.log);
    let kind = |line: &String| line.split([' ', '(', '{']).next().unwrap().to_owned();
    log.iter().map(kind).collect()
}

#[test]
fn a_short_range_takes_one_round() {
    let mut world = world();
    post(&mut world.server, 4, 2);
    sync(&mut world, &[]);
    assert_eq!(world.letters(), [0, 2]);
    let one = ["Board", "Limits", "CreateJob", "WatchJob", "FetchDigest"];
    assert_eq!(calls(&mut world), one);
    sync(&mut world, &[]);
    assert_eq!(calls(&mut world), one[..2]);
}

#[test]
fn messages_that_a_fetch_has_no_room_for_come_with_the_next_ones() {
    let mut world = world();
    post(&mut world.server, 20, 2);
    for came in [3, 6, 9, 10, 10] {
        sync(&mut world, &[]);
        assert_eq!(world.letters().len(), came);
        let left = 10 - came as u64;
        assert_eq!(waiting(&world), (left, left.div_ceil(3)));
    }
    // The oldest come first, and fetches go on when nothing waits.
    assert!(world.letters().is_sorted());
    calls(&mut world);
    sync(&mut world, &[]);
    let fetch = [
        "Board",
        "Limits",
        "Seeds",
        "CreateJob",
        "WatchJob",
        "FetchDigest",
    ];
    assert_eq!(calls(&mut world), fetch);
}

#[test]
fn a_backlog_of_hundreds_comes_by_and_by() {
    let mut world = world();
    (world.rounds, world.server.digest_messages) = (large(), 1 << 16);
    world.server.fetch_messages = 1 << 16;
    post(&mut world.server, 1_500, 3);
    for came in [56, 112, 168, 224, 280, 336, 392, 448, 500, 500] {
        sync(&mut world, &[]);
        assert_eq!(world.letters().len(), came);
        let left = 500 - came as u64;
        assert_eq!(waiting(&world), (left, left.div_ceil(56)));
    }
    all_came_once(&world).unwrap();
}

/// The letters of a recipient among the messages that a script posts, by their number.
type Hers = fn(u64) -> bool;

/// Plays a script of posts, syncs and failures of many kinds. Returns the world after it.
fn script(hers: Hers, scans_rubbish: bool) -> World {
    let mut world = world();
    (world.rounds, world.server.digest_messages) = (large(), 2_000);
    world.server.fetch_messages = 2_000;
    world.server.scans_rubbish = scans_rubbish;
    let fails = |at, kind| but(at, Fate::Fails(kind));
    let syncs = [
        (700, vec![]),
        (0, vec![]),
        (3, vec![]),
        (512, vec![]),
        (513, but(SCANNED, Fate::Damaged)),
        (2_600, but(SCANNED, Fate::CrashAnswered)),
        (0, but(QUERY, Fate::Lost)),
        (0, fails(3, Failure::JobFailed)),
        (900, fails(SCANNED, Failure::JobFailed)),
        (600, but(SEEDS, Fate::CrashKept)),
        (0, but(ASKED, Fate::CrashAnswered)),
        (40, but(ASKED, Fate::Decoded)),
        (800, but(QUERY, Fate::CrashKept)),
        (0, fails(QUERY, Failure::NotFound)),
        (0, but(ANSWERED, Fate::Damaged)),
        (700, but(ANSWERED, Fate::Replayed)),
        (0, but(ANSWERED, Fate::CrashAnswered)),
        (600, but(QUERY, Fate::Forks(9))),
        (20, vec![]),
        (0, fails(2, Failure::Final)),
        (0, fails(5, Failure::OutOfRange)),
        (0, vec![]),
    ];
    let mut number = 0;
    for (messages, fates) in syncs {
        for _ in 0..messages {
            world.server.post(hers(number));
            number += 1;
        }
        sync(&mut world, &fates);
        world.happens(&Event::Expire(7), |hers| hers);
    }
    world
}

#[test]
fn calls_are_those_of_an_inbox_that_finds_nothing() {
    let nobody: Hers = |_| false;
    let few: Hers = |number| number < 560 && number % 10 == 3;
    let many: Hers = |number| number % 16 == 5 || (1_300..1_500).contains(&number);
    let nothing = script(nobody, false);
    assert!(nothing.letters().is_empty());
    let log = &nothing.server.log;
    assert!(log.iter().filter(|line| line.starts_with("Seeds")).count() > 20);
    let mut counts = Vec::new();
    for hers in [few, many] {
        let mut world = script(hers, false);
        assert_eq!(&world.server.log, log);
        world.settles();
        all_came_once(&world).unwrap();
        counts.push(world.server.letters.len());
    }
    assert!(counts[0] == 56 && counts[1] > 500, "{counts:?}");
    let rubbish = script(few, true);
    assert_eq!(&rubbish.server.log, log);
    assert!(waiting(&rubbish).0 > 500, "{:?}", waiting(&rubbish));
}

#[test]
fn a_query_that_was_sent_is_sent_again_as_it_is() {
    let created = |world: &World| -> Vec<String> {
        let log = world.server.log.iter();
        log.filter(|line| line.starts_with("CreateJob"))
            .cloned()
            .collect()
    };
    for fate in [Fate::Lost, Fate::CrashKept, Fate::CrashAnswered] {
        let mut world = world();
        post(&mut world.server, 9, 1);
        sync(&mut world, &but(QUERY, fate));
        sync(&mut world, &[]);
        let lines = created(&world);
        // A scan, the query, once more the query unless it was not sent before, and the query of the second sync.
        assert_eq!(lines.len(), if fate == Fate::CrashKept { 3 } else { 4 });
        let [.., repeated, new] = &lines[1..] else {
            panic!("{lines:?}");
        };
        assert_eq!(&lines[1], repeated, "{fate:?}");
        assert_ne!(repeated, new, "{fate:?}");
        world.settles();
        all_came_once(&world).unwrap();
    }
    // A job that the server forgot or gave up is made again with another id and another query.
    for (at, kind) in [
        (QUERY, Failure::NotFound),
        (8, Failure::JobFailed),
        (ANSWERED, Failure::NotFound),
    ] {
        let mut world = world();
        post(&mut world.server, 9, 1);
        sync(&mut world, &but(at, Fate::Fails(kind)));
        sync(&mut world, &[]);
        let lines = created(&world);
        assert_eq!(lines.len(), 3);
        assert_ne!(lines[1], lines[2], "{kind:?}");
        assert_eq!(world.letters().len(), 3);
    }
}

#[test]
fn an_answer_that_cannot_be_read_loses_nothing() {
    for fate in [Fate::Damaged, Fate::Replayed] {
        let mut world = world();
        post(&mut world.server, 9, 2);
        let taken = sync(&mut world, &but(ANSWERED, fate));
        let unread = taken
            .iter()
            .filter(|taken| matches!(taken.outcome, Outcome::Unanswered(_)));
        assert_eq!(unread.count(), 1, "{taken:?}");
        assert_eq!((world.letters().len(), waiting(&world)), (0, (5, 2)));
        assert_eq!(kept(&world), []);
        world.drains();
        all_came_once(&world).unwrap();
    }
}

#[test]
fn a_scan_that_cannot_be_read_is_kept_until_its_messages_came() {
    for fate in [Fate::Damaged, Fate::Fails(Failure::JobFailed)] {
        let mut world = world();
        post(&mut world.server, 9, 2);
        sync(&mut world, &but(SCANNED, fate));
        if fate == Fate::Damaged {
            assert_eq!(kept(&world), [(0, 9, 0)]);
            assert_eq!(world.inbox.retry_damaged().unwrap(), 1);
            assert_eq!(world.inbox.retry_damaged().unwrap(), 0);
            // The query of the first sync was for nobody's messages; two more fetches bring all five.
            sync(&mut world, &[]);
            assert!(waiting(&world).0 > 0);
            assert_eq!(kept(&world), [(0, 9, 0)]);
        }
        world.drains();
        all_came_once(&world).unwrap();
        assert_eq!(kept(&world), []);
    }
}

#[test]
fn messages_behind_the_window_are_kept_and_come_when_they_are_requested_again() {
    let mut world = world();
    // The first fetch brings three of eight messages.
    post(&mut world.server, 16, 2);
    sync(&mut world, &[]);
    assert_eq!((waiting(&world).0, kept(&world)), (5, vec![]));
    // The window of 40 messages begins at message 12, where message 12 and 14 wait.
    for _ in 0..36 {
        world.server.post(false);
    }
    let taken = sync(&mut world, &[]);
    assert_eq!(kept(&world), [(6, 11, 3)]);
    let reasons: Vec<&Outcome> = taken.iter().map(|taken| &taken.outcome).collect();
    assert!(
        matches!(reasons.last(), Some(Outcome::Kept(kept)) if kept.reason.starts_with("more messages than fetches")),
        "{reasons:?}"
    );
    world.drains();
    assert_eq!(world.letters(), [0, 2, 4, 12, 14]);
    assert_eq!(world.inbox.retry_damaged().unwrap(), 1);
    world.drains();
    assert_eq!(kept(&world), []);
    all_came_once(&world).unwrap();
}

#[test]
fn a_restored_recipient_scans_from_the_birthday_in_the_largest_ranges() {
    const BIRTHDAY: u64 = 1_000;
    let mut world = world();
    (world.rounds, world.server.digest_messages) = (large(), 1 << 20);
    world.server.fetch_messages = 1 << 16;
    post(&mut world.server, 150_000, 500);
    world.recipient.begins = BIRTHDAY;
    world.inbox.begin_at(BIRTHDAY, None).unwrap();
    sync(&mut world, &[]);
    let log = std::mem::take(&mut world.server.log);
    let ranges = log.iter().filter(|line| line.starts_with("CreateJob"));
    let range = |line: &String| {
        let at = |field: &str| {
            let after = line.split_once(field).unwrap().1;
            after.split(',').next().unwrap().parse().unwrap()
        };
        [at("start: "), at("end: ")]
    };
    let ranges: Vec<[u64; 2]> = ranges.map(range).collect();
    // One scan of everything, then queries of the largest ranges that the server answers.
    assert_eq!(
        ranges,
        [
            [BIRTHDAY, 150_000],
            [BIRTHDAY, 66_536],
            [66_536, 132_072],
            [132_072, 150_000],
        ]
    );
    // 56, 56 and all 35 of the last range.
    assert_eq!(world.letters().len(), 56 + 56 + 35);
    assert_eq!(waiting(&world).0, 298 - 147);
    world.drains();
    // What waits behind the window is kept, and comes when it is requested again.
    assert_eq!(world.letters().len(), 222);
    let missing: u64 = kept(&world).iter().map(|(_, _, count)| count).sum();
    assert_eq!(missing, 298 - 222);
    for left in [18, 0] {
        world.inbox.retry_damaged().unwrap();
        sync(&mut world, &[]);
        let missing: u64 = kept(&world).iter().map(|(_, _, count)| count).sum();
        assert_eq!(missing, left);
    }
    // Nothing before the birthday came.
    assert_eq!(world.letters().len(), 298);
    assert!(world.letters().iter().all(|id| *id >= BIRTHDAY));
}

#[test]
fn messages_that_expired_while_they_waited_are_reported() {
    let mut world = world();
    post(&mut world.server, 16, 2);
    sync(&mut world, &[]);
    world.happens(&Event::Expire(9), |hers| hers);
    sync(&mut world, &[]);
    assert_eq!(kept(&world), [(6, 9, 2)]);
    let range = &world.inbox.kept().unwrap()[0];
    assert!(range.expired);
    assert_eq!(
        range.reason,
        "expired before it was fetched: the board begins at 9"
    );
    world.drains();
    assert_eq!(world.letters(), [0, 2, 4, 10, 12, 14]);
}

#[test]
fn a_fork_forgets_what_waits_behind_it() {
    let mut world = world();
    post(&mut world.server, 8, 2);
    sync(&mut world, &[]);
    post(&mut world.server, 8, 2);
    sync(&mut world, &but(QUERY, Fate::CrashKept));
    assert_eq!(waiting(&world).0, 5);
    // The server drops messages 8 to 15, where four wait, and shows others that are not the recipient's.
    world.server.fork(8);
    for _ in 0..9 {
        world.server.post(false);
    }
    world.fetch(&but(QUERY, Fate::CrashKept));
    assert_eq!(waiting(&world).0, 1);
    world.drains();
    assert_eq!(world.letters(), [0, 2, 4, 6]);
    assert_eq!(kept(&world), []);
}

#[test]
fn an_old_answer_does_not_stand_for_a_message_of_another_history() {
    let mut world = world();
    post(&mut world.server, 8, 8);
    world.fetch(&[]);
    world.server.fork(8);
    post(&mut world.server, 9, 8);
    // The answer with the old message 0 is taken in after the new one was found.
    world.fetch(&but(ASKED, Fate::CrashAnswered));
    sync(&mut world, &[]);
    world.drains();
    all_came_once(&world).unwrap();
    assert!(world.letters().contains(&0));
}

#[test]
fn a_range_requested_again_is_fetched_whether_parts_of_it_were_kept_or_not() {
    let logs = [1, 2].map(|every| {
        let mut world = world();
        post(&mut world.server, 16, every);
        sync(&mut world, &[]);
        for _ in 0..36 {
            world.server.post(false);
        }
        sync(&mut world, &[]);
        world.happens(&Event::Again(12), |hers| hers);
        sync(&mut world, &[]);
        (kept(&world).len(), world.server.log)
    });
    let [(kept, log), (more, other)] = logs;
    assert!(kept > 0 && more > 0);
    assert_eq!(log, other);
}

#[test]
fn a_scan_of_another_history_counts_up_to_the_fork() {
    for is_taken_first in [true, false] {
        let mut world = world();
        for _ in 0..2 {
            post(&mut world.server, 4, 2);
            sync(&mut world, &[]);
        }
        // A long scan of messages 0 to 6 is received, and a short one of message 7.
        world.happens(&Event::Again(8), |hers| hers);
        world.fetch(&but(8, Fate::CrashKept));
        world.server.fork(4);
        for _ in 0..4 {
            world.server.post(false);
        }
        let at = if is_taken_first { 2 } else { QUERY };
        world.fetch(&but(at, Fate::CrashKept));
        if is_taken_first {
            assert!(world.take_one().is_some());
        }
        // Messages 4 and 6 were dropped.
        assert_eq!(waiting(&world).0, 2);
        world.drains();
        assert_eq!(world.letters(), [0, 2, 4, 6]);
    }
}

#[test]
fn a_kept_range_is_replaced_by_its_messages_that_were_found_and_not_fetched() {
    let mut world = world();
    post(&mut world.server, 9, 2);
    sync(&mut world, &but(SCANNED, Fate::Damaged));
    world.inbox.retry_damaged().unwrap();
    sync(&mut world, &[]);
    assert_eq!((kept(&world), waiting(&world).0), (vec![(0, 9, 0)], 2));
    for _ in 0..60 {
        world.server.post(false);
    }
    sync(&mut world, &[]);
    assert_eq!((kept(&world), waiting(&world).0), (vec![(6, 9, 2)], 0));
}

#[test]
fn a_fetch_whose_messages_expired_is_shortened_and_keeps_nothing() {
    for at in [SEEDS, 8] {
        let mut world = world();
        post(&mut world.server, 9, 8);
        sync(&mut world, &but(at, Fate::CrashKept));
        world.happens(&Event::Expire(3), |hers| hers);
        sync(&mut world, &[]);
        assert_eq!(kept(&world), [(0, 1, 1)]);
        assert_eq!(world.letters(), [8]);
    }
}

#[test]
fn a_fetch_that_is_refused_for_good_keeps_nothing_and_is_reported() {
    for at in [SEEDS, QUERY] {
        let mut world = world();
        post(&mut world.server, 9, 2);
        sync(&mut world, &but(at, Fate::Fails(Failure::Final)));
        assert!(world.has_failed);
        assert_eq!((kept(&world), world.inbox.pending().unwrap()), (vec![], 0));
        sync(&mut world, &[]);
        assert!(!world.has_failed);
        assert_eq!(world.letters().len(), 3);
    }
}

#[test]
fn a_query_is_made_once() {
    let mut world = world();
    post(&mut world.server, 9, 2);
    world.fetch(&but(QUERY, Fate::CrashKept));
    let open = world.inbox.requests().open().unwrap();
    let [(number, job)] = &open[..] else {
        panic!("{open:?}");
    };
    let query = || world.inbox.requests().query(*number).unwrap().unwrap();
    let made = query();
    let asking = Asking {
        number: *number,
        range: job.start..job.end,
        seeds: Vec::new(),
        place: place(),
    };
    ask(&world.inbox, &asking, world.rounds);
    assert!(query() == made);
    // There is no query without a request.
    let other = Asking {
        number: number + 1,
        ..asking
    };
    ask(&world.inbox, &other, world.rounds);
    assert_eq!(world.inbox.requests().query(number + 1).unwrap(), None);
}

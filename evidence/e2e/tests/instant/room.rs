//! Sessions with limited room: messages in double precision decode like the others.

use crate::world::{BOUND, PAYLOAD_BYTES, World, advance, expected, params};
use omr_client::instantomr::InstantRecipient;
use omr_detector::engine::{Loaded, Task};
use omr_detector::instantomr::Session;
use omr_detector::{DetectorError, Quiet};
use omr_protocol::instantomr::{InstantDigest, InstantParams, SessionError, SessionFile};
use omr_protocol::{Mismatch, Request, Response, Sealing};
use proptest::prelude::*;

fn session(world: &World, start: u64, room: u64) -> Session {
    let header = world.header(start, BOUND, true);
    Session::with_room(world.detector.clone(), header, room)
}

fn restarted(world: &World, session: &Session) -> Session {
    let bytes = session.to_file().to_bytes(world.params()).unwrap();
    let file = SessionFile::from_bytes(world.params(), &bytes).unwrap();
    Session::resume(world.detector.clone(), file).unwrap()
}

/// The most messages of a group that all fit double precision.
fn limit(params: &InstantParams) -> u64 {
    let all = |messages: &u64| params.in_double_precision(*messages) == *messages;
    (0..params.spec().group).take_while(all).last().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Restarts and other machines' shares change no bit, wherever double precision ends.
    #[test]
    fn pieces_add_up(more in -30i64..200, a in 1u64..150, b in 1u64..150, start in 0u64..9) {
        let world = World::new(71);
        let limit = limit(world.params());
        let room = limit.saturating_add_signed(more);
        let end = start + room;
        let mut board = world.board(end, BOUND);
        let mut whole = session(&world, start, room);
        advance(&mut whole, &mut board, end);
        let digest = world.digest(&whole);
        prop_assert_eq!(world.decode(&digest).unwrap(), expected(&board, start..end));
        let (a, b) = (start + a.min(b), end - a.max(b));
        let mut pieces = session(&world, start, room);
        let mut share = pieces.share(b);
        share.advance(&mut board, end, &Quiet).unwrap();
        advance(&mut pieces, &mut board, a);
        pieces = restarted(&world, &pieces);
        advance(&mut pieces, &mut board, b);
        pieces.merge(&share);
        prop_assert_eq!(pieces.digest(), digest);
    }
}

/// A session that began in double precision continues exactly; in one over more than a group the first group is
/// exact.
#[test]
fn double_precision_ends_where_noise_would_pass_that_of_a_full_group() {
    let world = World::new(72);
    let (limit, group) = (limit(world.params()), world.params().spec().group);
    assert!((64..group / 2).contains(&limit), "{limit}");
    let messages = group + 3 * limit / 2;
    let mut board = world.board(messages, BOUND);
    let mut whole = session(&world, 0, messages);
    let mut exact = world.session(0, true);
    // The exact part is equal in every session, bit for bit.
    for session in [&mut whole, &mut exact] {
        advance(session, &mut board, group);
    }
    assert_eq!(whole.digest().ciphertexts, exact.digest().ciphertexts);
    advance(&mut whole, &mut board, messages);
    let digest = world.digest(&whole);
    assert_eq!(
        world.decode(&digest).unwrap(),
        expected(&board, 0..messages)
    );
    let recipient = InstantRecipient::new(world.params(), &world.secret);
    let roundings = recipient.roundings(&digest).unwrap();
    let worst = roundings.into_iter().map(f64::abs).fold(0.0, f64::max);
    let sd = world.params().coefficient_sd(group, 0);
    assert!(worst < 6.0 * sd + InstantParams::body_rounding(), "{worst}");
}

/// A few messages are exact, whether or not the key for double precision is there.
#[test]
fn a_few_messages_make_no_key() {
    let world = World::new(76);
    let many = limit(world.params());
    let mut board = world.board(many, BOUND);
    let mut digest_of = |mut session: Session, end| {
        advance(&mut session, &mut board, end);
        let digest = world.digest(&session);
        assert_eq!(world.decode(&digest).unwrap(), expected(&board, 0..end));
        digest
    };
    let mut is_exact = |room| {
        let with_room = digest_of(session(&world, 0, room), room);
        with_room == digest_of(world.session(0, true), room)
    };
    assert_eq!([3, many, 3].map(&mut is_exact), [true, false, true]);
}

#[test]
fn full_sessions_take_no_more_until_they_are_cut() {
    let world = World::new(73);
    let mut board = world.board(100, 6);
    let mut session = session(&world, 10, 30);
    assert_eq!((session.room(), session.end()), (Some(30), 40));
    advance(&mut session, &mut board, 35);
    for _ in 0..2 {
        let nothing = |_: &Session| Ok::<(), DetectorError>(());
        let error = session
            .advance(&mut board, 41, &Quiet, nothing)
            .unwrap_err();
        let full = matches!(
            error,
            DetectorError::Full(Mismatch {
                expected: 40,
                found: 41
            })
        );
        assert!(full, "{error}");
        assert_eq!(session.next(), 35);
        session = restarted(&world, &session);
    }
    advance(&mut session, &mut board, 40);
    let cut = session.cut(0, [1; 32]).unwrap();
    let cut = InstantDigest::from_bytes(world.params(), &cut).unwrap();
    assert_eq!(world.decode(&cut).unwrap(), expected(&board, 10..40));
    assert_eq!((session.room(), session.end()), (Some(30), 70));
    advance(&mut session, &mut board, 70);
    let found = world.decode(&session.digest()).unwrap();
    assert_eq!(found, expected(&board, 40..70));
}

/// The file states the room; files without it are read as before.
#[test]
fn files_know_the_room() {
    let world = World::new(74);
    let mut board = world.board(20, 1);
    let mut without = world.session(0, true);
    let mut with = session(&world, 0, 20);
    for session in [&mut without, &mut with] {
        advance(session, &mut board, 15);
    }
    let [a, b] = [&without, &with].map(|s| s.to_file().to_bytes(params()).unwrap());
    assert_eq!(b.len(), a.len() + 8);
    let read = |bytes: &[u8]| SessionFile::from_bytes(params(), bytes);
    assert_eq!(read(&a).unwrap().room, None);
    assert_eq!(read(&b).unwrap().room, Some(20));
    let mut file = with.to_file();
    file.room = Some(14);
    let error = read(&file.to_bytes(params()).unwrap()).err().unwrap();
    let found = matches!(
        error,
        SessionError::Room(Mismatch {
            expected: 14,
            found: 15
        })
    );
    assert!(found, "{error}");
    file.room = Some(u64::MAX);
    let file = read(&file.to_bytes(params()).unwrap()).unwrap();
    let mut endless = Session::resume(world.detector.clone(), file).unwrap();
    advance(&mut endless, &mut board, 20);
    let found = world.decode(&endless.digest()).unwrap();
    assert_eq!(found, expected(&board, 0..20));
}

/// A request for a range determines its length.
#[test]
fn answers_are_those_of_sessions_with_room() {
    let world = World::new(75);
    let range = 5..5 + limit(world.params()) + 40;
    let mut board = world.board(range.end, BOUND);
    let mut session = session(&world, range.start, range.end - range.start);
    advance(&mut session, &mut board, range.end);
    let task = Task {
        source: &mut board,
        request: Request::new(range, BOUND, Some(PAYLOAD_BYTES)),
        board_id: [3; 16],
        sealing: Sealing::None,
        seed: [8; 32],
    };
    let detector = world.detector.clone();
    let answer = detector.answer(task, &Quiet).unwrap();
    assert_eq!(answer.response, Response::Instantomr(session.digest()));
}

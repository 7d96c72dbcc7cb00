//! Sessions: messages that arrive later, in pieces, after a restart or from another machine add up.

use crate::world::{World, advance, expected, params};
use omr_detector::instantomr::{CutError, Session};
use omr_detector::{DetectorError, Quiet};
use omr_protocol::Mismatch;
use omr_protocol::instantomr::{InstantDigest, Seen, SessionError, SessionFile};
use proptest::prelude::*;

fn restarted(world: &World, session: &Session) -> Session {
    let bytes = session.to_file().to_bytes(params()).unwrap();
    let file = SessionFile::from_bytes(params(), &bytes).unwrap();
    Session::resume(world.detector.clone(), file).unwrap()
}

#[test]
fn a_session_survives_restarts_at_any_point() {
    let world = World::new(21);
    let mut board = world.board(260, 9);
    let mut whole = world.session(0, true);
    advance(&mut whole, &mut board, 260);
    let mut pieces = world.session(0, true);
    for end in [0, 1, 2, 64, 65, 200, 260] {
        advance(&mut pieces, &mut board, end);
        pieces = restarted(&world, &pieces);
        assert_eq!(pieces.next(), end);
        let found = world.decode(&world.digest(&pieces)).unwrap();
        assert_eq!(found, expected(&board, 0..end));
    }
    assert_eq!(pieces.digest(), whole.digest());
}

#[test]
fn an_error_leaves_what_was_taken() {
    let world = World::new(22);
    let mut board = world.board(150, 4);
    let mut session = world.session(0, true);
    let full = |session: &Session| {
        if session.next() < 100 {
            Ok(())
        } else {
            Err(DetectorError::Source("the disk is full".into()))
        }
    };
    let error = session.advance(&mut board, 150, &Quiet, full).unwrap_err();
    assert!(error.to_string().contains("the disk is full"));
    assert_eq!(session.next(), 128);
    advance(&mut session, &mut board, 150);
    let found = world.decode(&session.digest()).unwrap();
    assert_eq!(found, expected(&board, 0..150));
    let short = session.push(&[0; 10], 3, &[]).unwrap_err();
    assert!(
        matches!(short, DetectorError::SourceLength { .. }),
        "{short}"
    );
    assert_eq!(session.next(), 150);
}

#[test]
fn cutting_loses_and_doubles_nothing() {
    let world = World::new(23);
    let mut board = world.board(300, 12);
    let mut session = world.session(0, true);
    let decoded = |bytes: &[u8]| {
        let digest = InstantDigest::from_bytes(params(), bytes).unwrap();
        world.decode(&digest).unwrap()
    };
    advance(&mut session, &mut board, 120);
    let first = session.cut(0, [1; 32]).unwrap();
    // The answer was lost; messages arrived meanwhile, and the detector restarted.
    advance(&mut session, &mut board, 170);
    session = restarted(&world, &session);
    assert_eq!(session.cut(0, [2; 32]).unwrap(), first);
    assert_eq!(session.cuts(), 1);
    advance(&mut session, &mut board, 300);
    let second = session.cut(1, [3; 32]).unwrap();
    assert_eq!(decoded(&first), expected(&board, 0..120));
    assert_eq!(decoded(&second), expected(&board, 120..300));
    for found in [0, 3] {
        let error = session.cut(found, [4; 32]).unwrap_err();
        assert!(
            matches!(error, CutError::Number(Mismatch { expected: 2, found: f }) if f == found),
            "{error}"
        );
    }
    assert_eq!(decoded(&session.cut(2, [5; 32]).unwrap()), []);
}

/// Both hashes are in the file. Processing messages makes the hash at the next message unknown; a cut begins with it.
#[test]
fn the_running_hash_of_the_log_goes_with_a_session() {
    let world = World::new(27);
    let mut board = world.board(30, 3);
    let mut session = world.session(4, true);
    assert_eq!(session.seen(), Seen::new(&(4..4), None, None));
    session.note_log_hash(Some([4; 32]));
    advance(&mut session, &mut board, 20);
    session = restarted(&world, &session);
    assert_eq!(session.seen(), Seen::new(&(4..20), Some([4; 32]), None));
    session.note_log_hash(Some([20; 32]));
    let both = Seen::new(&(4..20), Some([4; 32]), Some([20; 32]));
    assert_eq!(session.seen(), both);
    // A board that has lost it since takes nothing away.
    session.note_log_hash(None);
    session = restarted(&world, &session);
    assert_eq!(session.seen(), both);
    session.cut(0, [1; 32]).unwrap();
    let cut = Seen::new(&(20..20), Some([20; 32]), Some([20; 32]));
    assert_eq!(session.seen(), cut);
    session.cut(0, [2; 32]).unwrap();
    session = restarted(&world, &session);
    assert_eq!(session.seen(), cut);
    let mut share = session.share(20);
    share.advance(&mut board, 30, &Quiet).unwrap();
    session.merge(&share);
    assert_eq!(session.seen(), Seen::new(&(20..30), Some([20; 32]), None));
}

#[test]
fn foreign_and_damaged_sessions_are_refused() {
    let world = World::new(24);
    let mut board = world.board(10, 1);
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, 10);
    session.cut(0, [7; 32]).unwrap();
    let bytes = session.to_file().to_bytes(params()).unwrap();
    let file = SessionFile::from_bytes(params(), &bytes).unwrap();
    let other = World::new(25).detector;
    let error = Session::resume(other, file).err().unwrap();
    assert!(matches!(error, SessionError::Frame(_)), "{error}");
    for at in (0..bytes.len()).step_by(bytes.len() / 61) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(SessionFile::from_bytes(params(), &damaged).is_err());
        assert!(SessionFile::from_bytes(params(), &bytes[..at]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Shares computed by several machines add up to the session of one machine.
    #[test]
    fn shares_add_up(a in 1u64..99, b in 1u64..99, cut in 0u64..40) {
        let world = World::new(26);
        let mut board = world.board(200, 8);
        let mut whole = world.session(cut, true);
        advance(&mut whole, &mut board, 200);
        let mut own = world.session(cut, true);
        let (a, b) = (cut + a.min(b), cut + a.max(b));
        let mut shares = [own.share(a), own.share(b)];
        shares[1].advance(&mut board, 200, &Quiet).unwrap();
        shares[0].advance(&mut board, b, &Quiet).unwrap();
        advance(&mut own, &mut board, a);
        own.merge(&shares[0]);
        own.merge(&shares[1]);
        prop_assert_eq!(own.digest(), whole.digest());
    }
}

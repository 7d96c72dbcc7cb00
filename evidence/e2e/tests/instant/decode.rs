//! Decoding of digests, whole and damaged.

use crate::world::{BOUND, World, advance, expected, params, tiny};
use omr_client::DecodeError;
use omr_client::instantomr::InstantRecipient;
use omr_detector::{BoundTo, MessageSource, Quiet, Stages};
use omr_protocol::instantomr::{InstantDigest, InstantKey};
use omr_protocol::request::MAX_BOUND;
use omr_protocol::{Clue, ClueKind, DigestError, PlanError, Request, Scheme};

#[test]
fn payloads_come_out_bit_for_bit() {
    let world = World::new(1);
    let mut board = world.board(700, BOUND);
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, 700);
    let digest = world.digest(&session);
    assert_eq!(world.decode(&digest).unwrap(), expected(&board, 0..700));
    let recipient = InstantRecipient::new(params(), &world.secret);
    let worst = recipient
        .roundings(&digest)
        .unwrap()
        .into_iter()
        .map(f64::abs)
        .fold(0.0, f64::max);
    let sd = params().coefficient_sd(700, 0);
    let most = 6.0 * sd + omr_protocol::instantomr::InstantParams::body_rounding();
    assert!(worst > 0.0 && worst < most, "{worst} of {most}");
}

#[test]
fn indices_come_out() {
    let world = World::new(2);
    let mut board = world.board(500, 7);
    let mut session = world.session(0, false);
    advance(&mut session, &mut board, 500);
    let found = world.decode(&world.digest(&session)).unwrap();
    assert!(found.iter().all(|message| message.payload.is_none()));
    let indices: Vec<u64> = found.iter().map(|message| message.index).collect();
    assert_eq!(indices, board.pertinent());
}

#[test]
fn groups_have_bounds_of_their_own() {
    let world = World::new(4);
    let group = params().spec().group;
    let mut board = world.board(group + 200, 2 * BOUND);
    let first = board.pertinent().iter().filter(|&&i| i < group).count();
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, group + 200);
    let digest = world.digest(&session);
    assert_eq!(digest.header.plan.groups(), 2);
    match world.decode(&digest) {
        Err(DecodeError::Overflow { end, count, .. }) => {
            assert_eq!((end, count), (group, first));
            assert!(first > BOUND);
        }
        Ok(found) => {
            assert_eq!(found, expected(&board, 0..group + 200));
            assert!(first <= BOUND);
        }
        Err(other) => panic!("{other}"),
    }
    // A start in the middle leaves few messages in both groups.
    let start = group - 300;
    let mut session = world.session(start, true);
    advance(&mut session, &mut board, group + 200);
    let digest = world.digest(&session);
    let found = world.decode(&digest).unwrap();
    assert_eq!(found, expected(&board, start..group + 200));
}

#[test]
fn unusable_clues_are_counted_and_disturb_nothing() {
    let world = World::new(5);
    let mut board = world.board(64, 5);
    let bytes = Clue::bytes(tiny().clue());
    let mut clues = board.clues(0..64).unwrap();
    let payloads = board.payloads(0..64).unwrap();
    let strangers: Vec<usize> = (0..64)
        .filter(|i| !board.pertinent().contains(i))
        .map(|i| i as usize)
        .collect();
    clues[strangers[0] * bytes] = 9;
    clues[strangers[1] * bytes..][..bytes].fill(0xff);
    let mut session = world.session(0, true);
    session.push(&clues, bytes, &payloads).unwrap();
    assert_eq!(session.unusable_clues, 2);
    let found = world.decode(&world.digest(&session)).unwrap();
    assert_eq!(found, expected(&board, 0..64));
}

/// Plain clues are not bound.
fn plain() -> BoundTo<'static> {
    BoundTo::new(&[0; 16], &[0; 32], &[], 0, None).unwrap()
}

#[test]
fn verdicts_do_not_depend_on_company() {
    let world = World::new(6);
    let mut board = world.board(9, 3);
    let bytes = Clue::bytes(tiny().clue());
    let clues = board.clues(0..9).unwrap();
    let mut stages = Stages::default();
    let together = world
        .detector
        .verdicts(&clues, bytes, &plain(), 0..0, &mut stages)
        .unwrap();
    for (i, clue) in clues.chunks(bytes).enumerate() {
        let alone = world
            .detector
            .verdicts(clue, bytes, &plain(), 0..0, &mut stages)
            .unwrap();
        let (a, b) = (&alone.verdicts[0], &together.verdicts[i]);
        assert_eq!((&a.body[..], &a.mask[..]), (&b.body[..], &b.mask[..]));
    }
}

#[test]
fn verdicts_in_double_precision_are_those_asked_for() {
    let world = World::new(8);
    let clues = world.board(9, 3).clues(0..9).unwrap();
    let bytes = Clue::bytes(tiny().clue());
    let [exact, mixed] = [0..0, 2..7].map(|doubles| {
        let mut stages = Stages::default();
        let found = world
            .detector
            .verdicts(&clues, bytes, &plain(), doubles, &mut stages);
        found.unwrap().verdicts
    });
    for (i, (a, b)) in exact.iter().zip(&mixed).enumerate() {
        let same = a.body[..] == b.body[..] && a.mask[..] == b.mask[..];
        assert_eq!(same, !(2..7).contains(&i), "{i}");
    }
}

#[test]
fn keys_survive_their_files() {
    let world = World::new(7);
    let mut rng = omr_client::os_rng();
    let key = omr_client::instantomr::detection_key(params(), &world.secret, &mut rng).unwrap();
    let mut file = Vec::new();
    key.write(params(), &mut file).unwrap();
    assert_eq!(
        file.len() as u64,
        InstantKey::file_bytes_of(params(), ClueKind::Plain)
    );
    let read = InstantKey::read(params(), &file[..]).unwrap();
    let mut again = Vec::new();
    read.write(params(), &mut again).unwrap();
    assert!(file == again);
    let detectors = [key, read]
        .map(|key| omr_detector::instantomr::InstantDetector::new(params().clone(), key));
    let mut board = world.board(4, 2);
    let clues = board.clues(0..4).unwrap();
    let bytes = Clue::bytes(tiny().clue());
    let [a, b] = detectors.map(|detector| {
        let found = detector.verdicts(&clues, bytes, &plain(), 0..0, &mut Stages::default());
        found.unwrap().verdicts[1].mask.to_vec()
    });
    assert_eq!(a, b);
    // Damage and wrong lengths are detected.
    for cut in [0, 10, 100, file.len() - 1] {
        assert!(InstantKey::read(params(), &file[..cut]).is_err());
    }
    let mut damaged = file.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(InstantKey::read(params(), &damaged[..]).is_err());
}

#[test]
fn foreign_and_damaged_digests_are_refused() {
    let world = World::new(8);
    let mut board = world.board(100, 5);
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, 100);
    let digest = session.digest();
    let error = World::new(9).decode(&digest).unwrap_err();
    assert!(matches!(error, DecodeError::OtherKey(_)), "{error}");
    let bytes = digest.to_bytes(params()).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(InstantDigest::from_bytes(params(), &damaged).is_err());
    }
    assert!(matches!(
        InstantDigest::from_bytes(params(), &bytes[..bytes.len() - 1]),
        Err(DigestError::Frame(_))
    ));
    // A forger's sums never yield a wrong payload.
    for part in 0..digest.ciphertexts[0].parts.len() {
        let mut forged = digest.clone();
        forged.ciphertexts[0].parts[part][3] ^= 1 << 9;
        match world.decode(&forged) {
            Err(_) => {}
            Ok(found) => assert_eq!(found, expected(&board, 0..100)),
        }
    }
}

#[test]
fn impossible_requests_are_refused() {
    let plan = |range, bound, payload_bytes| {
        let request = Request::new(range, bound, payload_bytes);
        omr_protocol::instantomr::InstantPlan::new(params(), request)
    };
    assert_eq!(
        plan(0..1, MAX_BOUND + 1, None).unwrap_err(),
        PlanError::SetBound {
            set: params().name(),
            scheme: Scheme::Instantomd,
            limit: MAX_BOUND,
            found: MAX_BOUND + 1
        }
    );
    assert!(plan(0..1, 0, None).is_err());
    assert!(matches!(plan(0..1, 5, Some(0)), Err(PlanError::Payload(0))));
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = plan(5..4, 5, None);
    assert_eq!(
        reversed.unwrap_err(),
        PlanError::EmptyRange { start: 5, end: 4 }
    );
    assert!(matches!(
        plan(0..(1 << 32) + 1, 5, None),
        Err(PlanError::LongRange(_))
    ));
    assert_eq!(plan(7..7, 5, None).unwrap().groups(), 1);
    let world = World::new(10);
    let empty = world.digest(&world.session(7, true));
    assert_eq!(world.decode(&empty).unwrap(), []);
    let _ = Quiet;
}

//! Sets whose sums have exact counters: every overflow is reported with its number, and bounds may exceed 96.

use crate::hybrid::{NoSource, engines};
use crate::world::{BOUND, PAYLOAD_BYTES, World, advance, expected, tiny};
use omr_client::instantomr::InstantRecipient;
use omr_client::{DecodeError, decode};
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::instantomr::Session;
use omr_detector::{DetectorError, MessageSource, Quiet};
use omr_protocol::instantomr::{InstantDigest, InstantPlan, SessionFile};
use omr_protocol::request::MAX_BOUND;
use omr_protocol::{EngineKind, PlanError, Request, Response, Scheme, Sealing};

/// Checks that decoding reports the number of pertinent messages, not damage.
fn overflows(world: &World, bound: usize, pertinent: usize) {
    let messages = pertinent as u64 + 70;
    let mut board = world.board(messages, pertinent);
    let mut session = world.session_with(bound);
    advance(&mut session, &mut board, messages);
    match world.decode(&world.digest(&session)) {
        Err(DecodeError::Overflow {
            start: 0,
            end,
            count,
            bound: found,
        }) => assert_eq!((end, count, found), (messages, pertinent, bound)),
        other => panic!("{pertinent} of {bound}: {other:?}"),
    }
}

#[test]
fn an_overflow_has_its_number() {
    let world = World::new(61);
    for pertinent in [BOUND + 1, 97, 98, 205, 1000] {
        overflows(&world, BOUND, pertinent);
    }
}

/// A session restarted halfway, with a second half from another machine, cut off as a file.
#[test]
fn large_bounds_go_through_sessions_shares_and_files() {
    let world = World::new(62);
    let params = world.params();
    for bound in [97, 200, 512] {
        let messages = bound as u64 + 90;
        let mut board = world.board(messages, bound);
        let mut session = world.session_with(bound);
        advance(&mut session, &mut board, messages / 2);
        let file = session.to_file().to_bytes(params).unwrap();
        let file = SessionFile::from_bytes(params, &file).unwrap();
        let mut session = Session::resume(world.detector.clone(), file).unwrap();
        let mut share = session.share(messages / 2);
        share.advance(&mut board, messages, &Quiet).unwrap();
        session.merge(&share);
        let digest = world.digest(&session);
        let recipient = InstantRecipient::new(params, &world.secret);
        let sd = params.coefficient_sd(messages, 0);
        let roundings = recipient.roundings(&digest).unwrap();
        let square: f64 = roundings.iter().map(|x| x * x).sum();
        // Rounded bodies add a uniform error.
        let step = 2.0 * omr_protocol::instantomr::InstantParams::body_rounding();
        let predicted = (sd * sd + step * step / 12.0).sqrt();
        let measured = (square / roundings.len() as f64).sqrt();
        assert!(
            (0.8..1.2).contains(&(measured / predicted)),
            "{measured} {predicted}"
        );
        let file = session.cut(0, [1; 32]).unwrap();
        let digest = InstantDigest::from_bytes(params, &file).unwrap();
        let found = recipient.decode(&digest).unwrap();
        assert_eq!(found, expected(&board, 0..messages), "{bound}");
        assert_eq!(found.len(), bound);
    }
    overflows(&world, 200, 201);
    overflows(&world, 97, 294);
}

/// A group that is not full has counters for its messages only, in the file as in the plan.
#[test]
fn counters_grow_with_the_messages() {
    let world = World::new(63);
    let of = |messages| {
        let request = Request::new(5..5 + messages, BOUND, Some(PAYLOAD_BYTES));
        InstantPlan::new(world.params(), request).unwrap()
    };
    let fixed: usize = of(0).code_sums().iter().sum();
    let group = world.params().spec().group;
    for (messages, counters) in [
        (0, 0),
        (1, 1),
        (96, 1),
        (97, 2),
        (group, 43),
        (group + 1, 43),
    ] {
        assert_eq!(of(messages).sums_of(0), fixed + counters);
    }
    assert_eq!(of(group + 97).sums_of(1), fixed + 2);
    let mut board = world.board(400, 3);
    let mut session = world.session_with(BOUND);
    for end in [0, 96, 97, 400] {
        advance(&mut session, &mut board, end);
        let found = world.decode(&world.digest(&session)).unwrap();
        assert_eq!(found, expected(&board, 0..end));
    }
}

#[test]
fn damage_is_no_overflow() {
    let world = World::new(64);
    let mut board = world.board(200, 5);
    let mut session = world.session_with(BOUND);
    advance(&mut session, &mut board, 200);
    let digest = world.digest(&session);
    let n = world.params().ring.n();
    let fixed: usize = digest.header.plan.code_sums().iter().sum();
    for at in [0, 1, 40, fixed, fixed + 2] {
        let mut forged = digest.clone();
        forged.ciphertexts[0].parts[at / n][at % n] ^= 1 << 9;
        let error = world.decode(&forged).unwrap_err();
        assert!(
            matches!(error, DecodeError::Inconsistent(_)),
            "{at}: {error}"
        );
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}

fn job(source: &mut dyn MessageSource, bound: usize) -> Job<'_> {
    Job {
        source,
        request: Request::new(0..2300, bound, Some(PAYLOAD_BYTES)),
        board_id: [3; 16],
        sealing: Sealing::None,
        seed: &|engine| match engine {
            EngineKind::Sophomr => [1; 32],
            EngineKind::Instantomr => [2; 32],
            EngineKind::Rounds => [3; 32],
        },
        costs: Costs {
            batch_s: 1.0,
            message_s: 1e-3,
        },
    }
}

#[test]
fn hybrid_responses_take_large_bounds() {
    let world = World::new(65);
    let engines: Engines = engines(&world);
    let mut board = world.board(2300, 1500);
    let rest = board.pertinent().iter().filter(|&&i| i >= 2048).count();
    assert!(rest > 96);
    let answer = engines.respond(Scheme::Hybrid, job(&mut board, 1500), &Quiet);
    let bytes = answer.unwrap().response.to_bytes(tiny()).unwrap();
    let response = Response::from_bytes(tiny(), &bytes).unwrap();
    assert_eq!(response.scheme(), Scheme::Hybrid);
    let found = decode(tiny(), &world.secret, &response).unwrap();
    assert_eq!(found, expected(&board, 0..2300));
}

/// A request that a set's engines cannot serve is refused with the set's name before a message is read.
#[test]
fn too_large_bounds_are_refused_before_any_work() {
    let (world, found) = (World::new(66), MAX_BOUND + 1);
    let error = engines(&world).respond(Scheme::Hybrid, job(&mut NoSource, found), &Quiet);
    let Err(DetectorError::Plan(error)) = error.map(|_| ()) else {
        panic!("expected a refusal");
    };
    let refused = PlanError::SetBound {
        set: tiny().name(),
        scheme: Scheme::Instantomr,
        limit: MAX_BOUND,
        found,
    };
    assert_eq!(error, refused);
    assert!(error.to_string().contains(tiny().name()));
}

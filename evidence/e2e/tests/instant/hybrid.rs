//! One request for both engines.

use crate::world::{BOUND, PAYLOAD_BYTES, World, expected, tiny};
use chacha20::ChaCha20Rng;
use omr_client::decode;
use omr_client::sophomr::detection_key;
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, MessageSource, Quiet};
use omr_protocol::{Clue, DigestError, EngineKind, ParamSet, Request, Response, Scheme, Sealing};
use rand_core::SeedableRng;
use std::ops::Range;
use std::sync::Arc;

/// A source whose messages must not be read.
pub(crate) struct NoSource;

impl MessageSource for NoSource {
    fn clue_bytes(&self) -> usize {
        Clue::bytes(tiny().clue())
    }

    fn clues(
        &mut self,
        _: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        panic!("no clue is asked for")
    }

    fn payloads(
        &mut self,
        _: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        panic!("no payload is asked for")
    }
}

pub(crate) fn engines(world: &World) -> Engines {
    let mut rng = ChaCha20Rng::seed_from_u64(41);
    let params = world.set.sophomr().unwrap();
    let key = detection_key(params, &world.secret, None, &mut rng);
    let detector = Arc::new(Detector::new(params.clone(), key));
    Engines::default()
        .with(detector)
        .with(world.detector.clone())
}

fn respond(
    world: &World,
    engines: &Engines,
    scheme: Scheme,
    range: Range<u64>,
    payload_bytes: Option<usize>,
) -> Result<Response, DetectorError> {
    let job = Job {
        source: &mut world.board(3000, BOUND),
        request: Request::new(range, BOUND, payload_bytes),
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
    };
    let answer = engines.respond(scheme, job, &Quiet)?;
    assert_eq!(answer.unusable_clues, 0);
    let bytes = answer.response.to_bytes(world.set).unwrap();
    let read = Response::from_bytes(world.set, &bytes).unwrap();
    assert_eq!(read, answer.response);
    Ok(read)
}

#[test]
fn one_decode_opens_every_response_and_one_clue_has_a_secret_for_each_engine() {
    let world = &World::new(31);
    let secrets = [world.secret.clue_secret(), world.secret.instant_secret()];
    assert_ne!(secrets[0].coeffs(), secrets[1].coeffs());
    let engines = engines(world);
    let board = world.board(3000, BOUND);
    for (asked, range, made) in [
        (Scheme::Hybrid, 0..3000, Scheme::Hybrid),
        (Scheme::Hybrid, 100..2148, Scheme::Sophomr),
        (Scheme::Hybrid, 2500..3000, Scheme::Instantomr),
        (Scheme::Sophomr, 2500..3000, Scheme::Sophomr),
        (Scheme::Instantomr, 0..300, Scheme::Instantomr),
    ] {
        let payload = Some(PAYLOAD_BYTES);
        let response = respond(world, &engines, asked, range.clone(), payload).unwrap();
        assert_eq!(response.scheme(), made);
        assert_eq!(response.request().range, range);
        let found = decode(world.set, &world.secret, &response).unwrap();
        assert_eq!(found, expected(&board, range));
    }
    let response = respond(world, &engines, Scheme::Hybrid, 0..2100, None).unwrap();
    let found = decode(world.set, &world.secret, &response).unwrap();
    let indices: Vec<u64> = found.iter().map(|message| message.index).collect();
    let mine = expected(&board, 0..2100);
    assert_eq!(indices, mine.iter().map(|m| m.index).collect::<Vec<_>>());
}

#[test]
fn missing_engines_are_named() {
    let world = World::new(32);
    let both = engines(&world);
    let alone = Engines::default().with(world.detector.clone());
    assert_eq!(both.scheme(true), Some(Scheme::Hybrid));
    assert_eq!(alone.scheme(false), Some(Scheme::Instantomd));
    assert_eq!(Engines::default().scheme(true), None);
    for scheme in [Scheme::Hybrid, Scheme::Sophomr] {
        let error = respond(&world, &alone, scheme, 0..10, None).unwrap_err();
        assert!(matches!(error, DetectorError::NoKey(_)), "{error}");
    }
    let set = ParamSet::named("insecure-tiny-v4").unwrap();
    assert!(set.instantomr().is_err());
    let response = respond(&world, &alone, Scheme::Instantomd, 0..10, None).unwrap();
    let bytes = response.to_bytes(tiny()).unwrap();
    assert!(Response::from_bytes(&set, &bytes).is_err());
}

#[test]
fn two_digests_must_follow_one_another() {
    let world = World::new(33);
    let engines = engines(&world);
    let payload = Some(PAYLOAD_BYTES);
    let of = |scheme, range| respond(&world, &engines, scheme, range, payload).unwrap();
    let (Response::Sophomr(bulk), Response::Instantomr(late)) =
        (of(Scheme::Sophomr, 0..50), of(Scheme::Instantomr, 60..70))
    else {
        panic!("other schemes");
    };
    let bytes = Response::Hybrid(bulk, late).to_bytes(tiny()).unwrap();
    let error = Response::from_bytes(tiny(), &bytes).unwrap_err();
    assert!(matches!(error, DigestError::Parts), "{error}");
}

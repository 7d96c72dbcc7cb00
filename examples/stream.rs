//! A session of InstantOMR: the detector looks at each message when it is posted, and a digest of all messages so far can
//! be cut off at any time. The session then goes on with the next message.
//!
//! `cargo run --release --example stream` prints `messages 0..2: first`, then `messages 2..4: second`.

use omr::client::letter::{Piece, Place, Reader, Writer};
use omr::client::{decode, identity, os_rng, write_detection_key};
use omr::detector::instantomr::{InstantDetector, Session};
use omr::detector::placement_seed;
use omr::protocol::instantomr::{InstantKey, InstantPlan};
use omr::protocol::{ClueKind, DigestHeader, EngineKind, ParamSet, Request, Response, Sealing};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = ParamSet::named("insecure-tiny-hybrid-v4")?;
    let (params, mut rng) = (set.instantomr()?, os_rng());
    let board = Place {
        board_id: [7; 16],
        params: set.name().to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 612,
    };
    let (secret, alice) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let (_, bob) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let (engine, mut key) = (EngineKind::Instantomr, Vec::new());
    write_detection_key(&set, engine, &secret, None, &mut rng, &mut key)?;
    let key = InstantKey::read(params, &key[..])?;
    let detector = Arc::new(InstantDetector::new(params.clone(), key));
    // A session begins empty at message 0, with room for ten messages of Alice's in each digest.
    let header = DigestHeader {
        key_id: detector.key_id(),
        board_id: board.board_id,
        sealing: board.sealing,
        plan: InstantPlan::new(params, Request::new(0..0, 10, Some(board.payload_bytes)))?,
        seed: placement_seed(),
    };
    let mut session = Session::new(detector, header);
    let reader = Reader::new(set.clue(), &secret, &board);
    for (number, expected) in (0..).zip(["first", "second"]) {
        for to in [&bob, &alice] {
            let writer = Writer::new(set.clue(), to, board.clone())?;
            let parts = writer.parts(expected.as_bytes(), &mut rng)?;
            let message = writer.message(&mut rng, &parts[0])?;
            session.push(&message.clue, message.clue.len(), &message.payload)?;
        }
        // A seed for each digest, drawn after the messages were posted.
        let digest = Response::from_bytes(&set, &session.cut(number, placement_seed())?)?;
        let opened = reader.open(&decode(&set, &secret, &digest)?, digest.places());
        let [(_, Ok(Piece::Whole(letter)))] = &opened[..] else {
            return Err(format!("expected one letter, found {opened:?}").into());
        };
        assert_eq!(letter.bytes[..], *expected.as_bytes());
        let range = digest.request().range;
        let text = String::from_utf8_lossy(&letter.bytes);
        println!("messages {range:?}: {text}");
    }
    Ok(())
}

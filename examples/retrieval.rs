//! Every party of a retrieval: three messages are posted, one of them for Alice; a detector makes a digest of all three
//! without learning which one that is; Alice decodes the digest.
//!
//! `cargo run --release --example retrieval` prints `message 1: hello Alice`.

use omr::client::letter::{Piece, Place, Reader, Writer};
use omr::client::{decode, identity, os_rng, write_detection_key};
use omr::detector::engine::{Task, on_cpu};
use omr::detector::{Messages, Quiet, placement_seed};
use omr::protocol::{ClueKind, EngineKind, ParamSet, Request, Response, Sealing};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A small set for tests, which protects nothing. `sophomr-v5` is the secure one.
    let set = ParamSet::named("insecure-tiny-v4")?;
    let board = Place {
        board_id: [7; 16],
        params: set.name().to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 612,
    };
    // Alice keeps `secret`, gives `address` to everybody who writes to her, and `key` to the detector.
    let mut rng = os_rng();
    let (secret, address) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let (engine, mut key) = (EngineKind::Sophomr, Vec::new());
    write_detection_key(&set, engine, &secret, None, &mut rng, &mut key)?;
    // Senders seal letters and add clues; the board shows both to everybody.
    let (_, bob) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let (mut clues, mut payloads) = (Vec::new(), Vec::new());
    for (to, text) in [(&bob, "hi"), (&address, "hello Alice"), (&bob, "hi")] {
        let writer = Writer::new(set.clue(), to, board.clone())?;
        let parts = writer.parts(text.as_bytes(), &mut rng)?;
        let message = writer.message(&mut rng, &parts[0])?;
        clues.extend(message.clue);
        payloads.extend(message.payload);
    }
    // The detector makes a digest with room for ten messages.
    let task = Task {
        source: &mut Messages::new(0..3, clues, payloads)?,
        request: Request::new(0..3, 10, Some(board.payload_bytes)),
        board_id: board.board_id,
        sealing: board.sealing,
        seed: placement_seed(),
    };
    let loaded = on_cpu(&set, engine)?.load(&mut &key[..])?;
    let answer = loaded.answer(task, &Quiet)?;
    let digest = answer.response.to_bytes(&set)?;
    // Alice finds her messages in the digest and opens them.
    let digest = Response::from_bytes(&set, &digest)?;
    let found = decode(&set, &secret, &digest)?;
    let opened = Reader::new(set.clue(), &secret, &board).open(&found, digest.places());
    let [(number, Ok(Piece::Whole(letter)))] = &opened[..] else {
        return Err(format!("expected one letter, found {opened:?}").into());
    };
    assert_eq!(letter.bytes[..], *b"hello Alice");
    let text = String::from_utf8_lossy(&letter.bytes);
    println!("message {number}: {text}");
    Ok(())
}

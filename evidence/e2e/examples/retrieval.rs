//! Every party's part: `OMR_PARAMS=sophomr-v5 cargo run --release -p omr-e2e --example retrieval`.
use omr_client::letter::{Piece, Place, Reader, Writer};
use omr_client::{decode, identity, os_rng, write_detection_key};
use omr_detector::engine::{Task, on_cpu};
use omr_detector::{Messages, Quiet, placement_seed};
use omr_protocol::{ClueKind::Bound, EngineKind, ParamSet, Request, Response, Sealing};

#[rustfmt::skip]
pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let params = std::env::var("OMR_PARAMS").unwrap_or("insecure-tiny-v4".into());
    let (set, board_id, sealing) = (ParamSet::named(&params)?, [7; 16], Sealing::HpkeX25519);
    let place = Place { board_id, params, sealing, payload_bytes: 612 };
    // The recipient keeps `secret`, gives `address` to senders and `key` to the detector.
    let (secret, address) = identity(set.clue(), Bound, &mut os_rng());
    let (kind, mut key) = (EngineKind::Sophomr, Vec::new());
    write_detection_key(&set, kind, &secret, None, &mut os_rng(), &mut key)?;
    // Senders post sealed letters with clues: message 1 is for the recipient, the others are not.
    let (mut clues, mut payloads) = (Vec::new(), Vec::new());
    let (_, other) = identity(set.clue(), Bound, &mut os_rng());
    for (to, text) in [(&other, b"other"), (&address, b"hello"), (&other, b"other")] {
        let writer = Writer::new(set.clue(), to, place.clone())?;
        let message = writer.message(&mut os_rng(), &writer.parts(text, &mut os_rng())?[0])?;
        clues.extend(message.clue);
        payloads.extend(message.payload);
    }
    // The detector makes an encrypted digest, and does not learn which messages are in it.
    let request = Request::new(0..3, 10, Some(612));
    let source = &mut Messages::new(0..3, clues, payloads)?;
    let task = Task { source, request, board_id, sealing, seed: placement_seed() };
    let loaded = on_cpu(&set, kind)?.load(&mut &key[..])?;
    let digest = loaded.answer(task, &Quiet)?.response.to_bytes(&set)?;
    // The recipient decodes it.
    let digest = Response::from_bytes(&set, &digest)?;
    let (reader, found) = (Reader::new(set.clue(), &secret, &place), decode(&set, &secret, &digest)?);
    let opened = reader.open(&found, digest.places());
    let [(1, Ok(Piece::Whole(letter)))] = &opened[..] else { panic!("{opened:?}") };
    println!("message 1: {}", String::from_utf8_lossy(&letter.bytes));
    Ok(())
}

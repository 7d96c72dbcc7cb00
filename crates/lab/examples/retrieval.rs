//! Every party's part in one program: keys, a board, letters, a digest, what its recipient reads.
//! `cargo run --release --example retrieval -p omr-lab sophomr-v3` does it at full size.
use omr_client::letter::{Piece, Place, Reader, Writer};
use omr_client::sophomr::{Keys, keygen};
use omr_client::{decode, os_rng};
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::sophomr::Detector;
use omr_detector::{Messages, Quiet};
use omr_protocol::{ClueKind, ParamSet, Request, Response, Scheme, Sealing};
use omr_store::{Board, BoardConfig, Clues, Message};
use rand_core::Rng;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// 32 bytes that nobody can guess.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    os_rng().fill_bytes(&mut seed);
    seed
}

/// Names and contents of letters.
type Letters = Vec<(String, Vec<u8>)>;

/// Plays it in a folder; gives names and contents of what the recipient found.
pub(crate) fn run(params: &str, dir: &Path) -> Result<Letters, Box<dyn Error>> {
    let set = ParamSet::named(params)?;

    // The recipient: `clue` is her address, `detection` is for the detector, `secret` for nobody.
    let Keys {
        secret,
        clue,
        detection,
    } = keygen(set.sophomr()?, ClueKind::Bound, &mut os_rng());

    // The board.
    let place = Place {
        board_id: [7; 16],
        params: params.to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 612,
    };
    let config = BoardConfig {
        board_id: place.board_id,
        params_id: place.params.clone(),
        sealing: place.sealing.name().to_owned(),
        clue_bytes: ClueKind::Bound.bytes(set.clue()) as u32,
        payload_bytes: place.payload_bytes as u32,
        clues: Clues::Bound,
    };
    let board = Board::create(dir, &config)?;

    // Senders: one who writes to her, and one who writes to somebody else.
    let stranger = keygen(set.sophomr()?, ClueKind::Bound, &mut os_rng()).clue;
    for (to, name, content) in [
        (&stranger, "other.txt", &b"not for her"[..]),
        (&clue, "letter.txt", b"hello"),
        (&clue, "long.bin", &[9; 2000]),
    ] {
        let writer = Writer::new(set.clue(), to, place.clone())?;
        let mut messages = Vec::new();
        for part in writer.named_parts(Some(name), content, &mut os_rng())? {
            let written = writer.message(&mut os_rng(), &part)?;
            messages.push(Message {
                clue: written.clue,
                payload: written.payload,
            });
        }
        board.append(&messages)?;
    }

    // The detector: it has the board and her detection key, and learns nothing of what it finds.
    let (mut clues, mut payloads) = (Vec::new(), Vec::new());
    board.read_into(0..board.len(), &mut clues, &mut payloads)?;
    let mut messages = Messages::new(0..board.len(), clues, payloads)?;
    let detector = Detector::new(set.sophomr()?.clone(), detection);
    let engines = Engines::default().with(Arc::new(detector));
    let job = Job {
        request: Request {
            range: messages.range(),
            bound: 10,
            payload_bytes: Some(place.payload_bytes),
        },
        source: &mut messages,
        board_id: place.board_id,
        sealing: place.sealing,
        // Drawn once the messages are fixed.
        seed: &|_| seed(),
        costs: Costs::default(),
    };
    let answer = engines.respond(Scheme::Sophomr, job, &Quiet)?;
    let digest = answer.response.to_bytes(&set)?;

    // The recipient again.
    let digest = Response::from_bytes(&set, &digest)?;
    let found = decode(&set, &secret, &digest)?;
    let reader = Reader::new(set.clue(), &secret, &place);
    let mut parts = omr_client::fragment::Reassembler::new();
    let mut letters = Vec::new();
    for (_, piece) in reader.open(&found, digest.places()) {
        match piece? {
            Piece::Whole(whole) => letters.push(whole),
            Piece::PartOf(_, part) => parts.push(&part)?,
        }
    }
    letters.extend(parts.finish().0);
    let named = letters
        .into_iter()
        .map(|whole| (whole.name.unwrap_or_default(), whole.bytes));
    Ok(named.collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let params = std::env::args().nth(1);
    let dir = std::env::temp_dir().join(format!("omr-retrieval-{}", std::process::id()));
    let found = run(params.as_deref().unwrap_or("insecure-tiny-v2"), &dir);
    std::fs::remove_dir_all(&dir)?;
    for (name, content) in found? {
        println!("{name}: {} bytes", content.len());
    }
    Ok(())
}

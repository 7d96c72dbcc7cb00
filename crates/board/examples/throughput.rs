//! Measures appends and bulk reads of a board: `throughput FOLDER [TRANSACTIONS]`.

use std::error::Error;
use std::time::Instant;

use omr_board::{Board, BoardConfig, Clues, Message};

const CLUE_BYTES: u32 = 2565;
const PAYLOAD_BYTES: u32 = 612;
const BATCH: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments
        .next()
        .ok_or("usage: throughput FOLDER [TRANSACTIONS]")?;
    let transactions: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let config = BoardConfig {
        board_id: [1; 16],
        params_id: "throughput".into(),
        sealing: "none".into(),
        clue_bytes: CLUE_BYTES,
        payload_bytes: PAYLOAD_BYTES,
        clues: Clues::Plain,
    };
    let mut board = Board::create(&dir, &config)?;
    let message = Message {
        clue: vec![0x5A; CLUE_BYTES as usize],
        payload: vec![0xA5; PAYLOAD_BYTES as usize],
    };
    let start = Instant::now();
    for _ in 0..transactions {
        board.append(std::iter::repeat_n(&message, BATCH as usize))?;
    }
    let messages = transactions * BATCH;
    println!(
        "append {:.0} messages/s",
        messages as f64 / start.elapsed().as_secs_f64()
    );
    drop(board);

    let board = Board::open_read_only(&dir)?;
    let (mut clues, mut payloads) = (Vec::new(), Vec::new());
    for round in ["first", "second"] {
        let start = Instant::now();
        for batch in 0..transactions {
            board.read_into(
                batch * BATCH..(batch + 1) * BATCH,
                &mut clues,
                &mut payloads,
            )?;
        }
        let bytes = messages * u64::from(CLUE_BYTES + PAYLOAD_BYTES);
        println!(
            "{round} read {:.0} MB/s",
            bytes as f64 / start.elapsed().as_secs_f64() / 1e6
        );
    }
    let start = Instant::now();
    assert!(board.verify(&mut |_, _| {})?.is_sound());
    let stat = board.stat()?;
    println!(
        "verify {:.0} MB/s",
        stat.bytes_on_disk as f64 / start.elapsed().as_secs_f64() / 1e6
    );
    println!(
        "overhead {:.3}",
        stat.bytes_on_disk as f64 / stat.message_bytes as f64
    );
    Ok(())
}

//! A program that measures appends by group commit, sealing and reading: `throughput FOLDER [CALLS] [POSTS]`.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use omr_store::{BoardConfig, Clues, Message, Post, Store, StoreConfig};

const CLUE_BYTES: u32 = 2565 + 96;
const PAYLOAD_BYTES: u32 = 612;

/// Returns a post of one message, with an id that is spread over the range as random ids are.
fn post(number: u64) -> Post {
    let id = u128::from(number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    let mut clue = vec![number as u8; CLUE_BYTES as usize];
    // The key is spread over the range as well.
    let key = CLUE_BYTES as usize - 96..CLUE_BYTES as usize - 80;
    clue[key].copy_from_slice(&id.to_be_bytes());
    Post::new(
        id.to_be_bytes(),
        String::new(),
        vec![Message {
            clue,
            payload: vec![!number as u8; PAYLOAD_BYTES as usize],
        }],
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: throughput FOLDER [CALLS] [POSTS]")?;
    let mut number = |default| {
        arguments
            .next()
            .map_or(Ok(default), |text| text.parse::<u64>())
    };
    let (calls, posts) = (number(100)?, number(100)?);
    let config = StoreConfig::new(folder);
    let board = BoardConfig {
        board_id: [1; 16],
        params_id: "throughput".into(),
        sealing: "none".into(),
        clue_bytes: CLUE_BYTES,
        payload_bytes: PAYLOAD_BYTES,
        clues: Clues::Bound,
    };
    Store::create(&config, &board)?;
    let store = Store::open(&config)?;
    append(&store, calls, posts)?;
    let total = calls * posts;
    read(&store, total, "tail")?;
    seal(&store)?;
    read(&store, total, "segments")?;
    let start = Instant::now();
    assert!(store.verify(&mut |_, _| {})?.is_sound());
    let bytes = total * u64::from(CLUE_BYTES + PAYLOAD_BYTES);
    println!(
        "verify {:.0} MB/s",
        bytes as f64 / start.elapsed().as_secs_f64() / 1e6
    );
    Ok(())
}

fn append(store: &Store, calls: u64, posts: u64) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    for call in 0..calls {
        let batch: Vec<_> = (call * posts..(call + 1) * posts).map(post).collect();
        for appended in store.append(&batch)? {
            appended?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "append {:.0} posts/s, {:.2} ms a call of {posts}",
        (calls * posts) as f64 / seconds,
        seconds * 1e3 / calls as f64
    );
    let bytes = calls * posts * u64::from(CLUE_BYTES + PAYLOAD_BYTES);
    println!(
        "meta file {:.2} bytes a byte of messages",
        store.usage().meta_bytes as f64 / bytes as f64
    );
    Ok(())
}

fn seal(store: &Store) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let segments = store.seal()?;
    let sealed: u64 = store.segments()?.iter().map(|segment| segment.count).sum();
    println!(
        "seal {segments} segments, {:.0} messages/s",
        sealed as f64 / start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn read(store: &Store, total: u64, what: &str) -> Result<(), Box<dyn Error>> {
    let (start, mut bytes) = (Instant::now(), 0);
    store.read(0..total, &mut |_, clue, payload| {
        bytes += clue.len() + payload.len();
        ControlFlow::Continue(())
    })?;
    println!(
        "read {what} {:.0} MB/s",
        bytes as f64 / start.elapsed().as_secs_f64() / 1e6
    );
    Ok(())
}

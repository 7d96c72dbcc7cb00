//! One full-size digest of PerfOMR1, with seconds and transforms by stage, and its sums compared:
//! `cargo run --release -p omr-bench --example earlier [THREADS] [BUNDLE] [PARAMS]`.
use omr_bench::{Workload, yardstick_us};
use omr_client::{Recipient, keygen};
use omr_detector::earlier::{Bundles, RowShape, RowSource};
use omr_detector::{ClueBatch, Detector, MessageSource, Quiet, Stages, transforms};
use omr_protocol::{Clue, DetectionKey, Params, Placement, SEED_BYTES};
use omr_ring::Xof;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::time::Instant;

const PERTINENT: usize = 50;
const PAYLOAD_BYTES: usize = 612;
/// Bits of a symbol below p.
const BITS: usize = 19;
/// Symbols of a payload, and two of a checksum, which are random here.
const SYMBOLS: usize = (PAYLOAD_BYTES * 8).div_ceil(BITS) + 2;
/// 16 repetitions of 400 buckets of two digits and a counter.
const BUCKETS: (usize, usize, usize) = (16, 400, 3);
const COMBINATIONS: usize = 53;

fn residues(p: u64, bundle: usize, what: u64, out: &mut [u32]) {
    let mut stream = Xof::stream("omr bench earlier v1", &[4; 32], &[bundle as u64, what]);
    out.iter_mut()
        .for_each(|x| *x = (stream.next_u64() % p) as u32);
}

fn index(p: u64, bundle: usize) -> Vec<(u32, u32)> {
    let (repetitions, buckets, width) = BUCKETS;
    let mut draws = vec![0; 2 * repetitions + width];
    residues(p, bundle, 0, &mut draws);
    let entry = |i: usize| {
        let (repetition, digit) = (i / width, i % width);
        let bucket = draws[repetition] as usize % buckets;
        let position = (repetition * buckets + bucket) * width + digit;
        (position as u32, draws[2 * repetitions + digit])
    };
    (0..repetitions * width).map(entry).collect()
}

/// The payload in symbols of 19 bits.
fn symbols(payload: &[u8], out: &mut [u32]) {
    for (i, symbol) in out.iter_mut().enumerate() {
        let bit = |at: usize| {
            payload
                .get(at / 8)
                .map_or(0, |b| u32::from(b >> (at % 8) & 1))
        };
        *symbol = (0..BITS).fold(0, |x, b| x | bit(i * BITS + b) << b);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, or: usize| args.get(i).map_or(Ok(or), |x| x.parse());
    let (threads, size) = (number(1, 1)?, number(2, 2)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global()?;
    let params = Params::named(args.get(3).map_or("perfomr1-v1", |name| name))?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = keygen(&params, &mut rng);
    println!("detection key: {} bytes", DetectionKey::body_bytes(&params));
    let (n, p) = (params.slots() as u64, params.p().value());
    let (bytes, clue_key) = (PAYLOAD_BYTES, keys.clue.clone());
    let mut board = Workload::new(params.clue.clone(), clue_key, n, PERTINENT, bytes, 1);
    let placement = Placement::new(&[1; SEED_BYTES], 0, params.slots());
    let clues = board.clues(0..n)?;
    let clues = ClueBatch::new(&params, &placement, clues, Clue::bytes(&params.clue));
    let bundles = Bundles::new(&params, size)?;
    let shape = RowShape {
        index: BUCKETS.0 * BUCKETS.1 * BUCKETS.2,
        combinations: COMBINATIONS,
        symbols: size * SYMBOLS,
    };
    let board = &board;
    let payloads = |j: usize, out: &mut [u32]| {
        for (slot, out) in bundles.slots(j).zip(out.chunks_mut(SYMBOLS)) {
            let message = placement.messages()[slot];
            symbols(&board.payload(message.into()), out);
        }
    };
    let rows = RowSource {
        index: &|j, out| out.extend(index(p, j)),
        weights: &|j, out| residues(p, j, 1, out),
        symbols: &payloads,
    };

    let detector = Detector::new(params.clone(), keys.detection);
    println!("yardstick: {:?} us", yardstick_us());
    let (started, mut done) = (Instant::now(), transforms());
    let mut lap = |what: &str| {
        let now = transforms();
        println!("{what:24} {:9} transforms", now - done);
        done = now;
    };
    let mut stages = Stages::default();
    let steps = detector.baby_steps(&Quiet)?;
    println!("baby steps {:.2} s", started.elapsed().as_secs_f64());
    lap("baby steps");
    let pertinency = detector.pertinency_vector(&steps, &clues, &Quiet, &mut stages)?;
    drop(steps);
    lap("pertinency vector");
    let mut compressor = detector.compressor(bundles, shape)?;
    compressor.add_batch(&pertinency, &rows, &Quiet)?;
    lap("compression");
    let (digest, more) = compressor.finish();
    lap("packing");
    println!("digest: {:.2} s", started.elapsed().as_secs_f64());
    stages.add(&more);
    println!("{:#?}", stages.seconds());

    let sums = Recipient::new(&params, &keys.secret).bundle_sums(&digest, shape.positions())?;
    let mut expected = vec![0u64; shape.positions()];
    for &message in board.pertinent() {
        let (j, _) = bundles.locate(placement.slots()[message as usize] as usize);
        let mut add = |at: usize, x: u64| expected[at] = (expected[at] + x) % p;
        index(p, j)
            .iter()
            .for_each(|&(at, x)| add(at as usize, x.into()));
        let (mut weights, mut values) = (vec![0; COMBINATIONS], vec![0; shape.symbols]);
        residues(p, j, 1, &mut weights);
        payloads(j, &mut values);
        for (r, &w) in weights.iter().enumerate() {
            for (s, &x) in values.iter().enumerate() {
                add(shape.payload(r, s), u64::from(w) * u64::from(x) % p);
            }
        }
    }
    let wrong = sums
        .iter()
        .zip(&expected)
        .filter(|(a, b)| u64::from(**a) != **b);
    println!("sums: {}, wrong: {}", sums.len(), wrong.count());
    let bits: usize = digest
        .iter()
        .map(|ct| 29 * ct.mask.len() + 21 * ct.parts.iter().map(Vec::len).sum::<usize>())
        .sum();
    println!(
        "digest: {} ciphertexts, {} bytes",
        digest.len(),
        bits.div_ceil(8)
    );
    Ok(())
}

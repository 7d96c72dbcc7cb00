//! Loads the keys of recipients of one epoch at full size from files and makes their digests in one run; prints seconds
//! of loading, resident memory and the peak.
//!
//! `cargo run --release -p omr-lab --example epoch -- [keys] [threads] [set]`

use chacha20::ChaCha20Rng;
use omr_client::sophomr::keygen_in_epoch;
use omr_detector::Quiet;
use omr_detector::sophomr::{Detector, digests};
use omr_lab::measure::Workload;
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::{DetectionKey, DigestPlan, Epoch, Params};
use omr_protocol::{ClueKind, Sealing};
use rand_core::SeedableRng;
use std::error::Error;
use std::path::PathBuf;

use std::time::Instant;

const BOARD: [u8; 16] = [1; 16];
const MESSAGES: u64 = 65_536;
const PAYLOAD: usize = 612;

/// Returns a figure of the process in megabytes.
fn memory(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(figure));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024 / 1_000_000
}

fn report(what: &str, since: Instant) {
    let (seconds, now, peak) = (since.elapsed(), memory("VmRSS:"), memory("VmHWM:"));
    println!(
        "{what:10} {:8.2} s {now:6} MB, peak {peak:6} MB",
        seconds.as_secs_f64()
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let keys = args.next().map_or(Ok(8), |keys| keys.parse::<usize>())?;
    let threads = args.next().map_or(Ok(1), |threads| threads.parse())?;
    let set = args.next().unwrap_or_else(|| SOPHOMR.to_owned());
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let params = Params::named(&set)?;
    let path = |i: usize| -> PathBuf {
        std::env::temp_dir().join(format!("omr-epoch-{}-{i}.key", std::process::id()))
    };
    let mut clue_keys = Vec::new();
    for i in 0..keys {
        let mut rng = ChaCha20Rng::seed_from_u64(i as u64);
        let epoch = Epoch {
            board: BOARD,
            number: 1,
        };
        let keys = keygen_in_epoch(&params, ClueKind::Plain, &epoch, &mut rng);
        keys.detection
            .write(&params, std::fs::File::create(path(i))?)?;
        clue_keys.push(keys.clue);
    }
    let mut board =
        Workload::for_recipients(params.clue.clone(), clue_keys, MESSAGES, 50, PAYLOAD, 1);
    omr_detector::release_memory();
    report("before", Instant::now());
    let mut detectors = Vec::new();
    for i in 0..keys {
        let start = Instant::now();
        let file = std::io::BufReader::new(std::fs::File::open(path(i))?);
        detectors.push(Detector::new(
            params.clone(),
            DetectionKey::read(&params, file)?,
        ));
        report(&format!("key {i}"), start);
        std::fs::remove_file(path(i))?;
    }
    let plan = DigestPlan::new(&params, 0..MESSAGES, 50, Some(PAYLOAD))?;
    let all: Vec<&Detector> = detectors.iter().collect();
    let start = Instant::now();
    let outputs = digests(
        &all,
        &mut board,
        &plan,
        BOARD,
        Sealing::None,
        [3; 32],
        &Quiet,
    )?;
    report("digests", start);
    for output in outputs {
        let bytes = output.digest.to_bytes(&params)?;
        let sum = bytes.iter().fold(0u64, |sum, &x| {
            (sum ^ u64::from(x)).wrapping_mul(0x100_0000_01b3)
        });
        println!("digest {sum:016x}, {:?}", output.stages);
    }
    Ok(())
}

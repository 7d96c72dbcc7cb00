//! One digest of a paper's scheme from clues to payloads, with seconds by stage:
//! `cargo run --release -p omr-lab --features yardstick --example papers -- [SCHEME] [THREADS] [BUNDLE]`; schemes:
//! omd1p, omr1p, omr2p, perfomr1, perfomr2, dos-perfomr.
use omr_detector::Quiet;
use omr_lab::measure::PaperBench;
use omr_papers::clear::{PaperScheme, PaperSet};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().collect();
    let scheme: PaperScheme = args.get(1).map_or("perfomr1", |name| name).parse()?;
    let threads = args.get(2).map_or(Ok(1), |x| x.parse())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global()?;
    let usual = PaperSet::of(scheme).bundle as usize;
    let bench = PaperBench {
        scheme,
        messages: 1 << 16,
        pertinent: 50,
        bound: 50,
        payload_bytes: 612,
        seed: 1,
        bundle: args.get(3).map_or(Ok(usual), |x| x.parse())?,
    };
    println!("{}", serde_json::to_string_pretty(&bench.run(&Quiet)?)?);
    Ok(())
}

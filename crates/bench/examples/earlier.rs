//! One digest of PerfOMR1 from clues to payloads, with seconds by stage:
//! `cargo run --release -p omr-bench --features yardstick --example earlier [THREADS] [BUNDLE] [PARAMS]`.
use omr_bench::EarlierBench;
use omr_detector::Quiet;
use omr_protocol::Params;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, or: usize| args.get(i).map_or(Ok(or), |x| x.parse());
    let threads = rayon::ThreadPoolBuilder::new().num_threads(number(1, 1)?);
    threads.build_global()?;
    let params = Params::named(args.get(3).map_or("perfomr1-v1", |name| name))?;
    let bench = EarlierBench {
        messages: params.slots() as u64,
        params,
        bundle: number(2, 2)?,
        pertinent: 50,
        bound: 50,
        payload_bytes: 612,
        seed: 1,
    };
    let figures = bench.run(&Quiet)?;
    println!("{}", serde_json::to_string_pretty(&figures)?);
    Ok(())
}

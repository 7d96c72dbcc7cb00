//! Prints the figures of one full-size digest.
use omr_detector::Quiet;
use omr_lab::measure::{DigestBench, Setting, Start};
use omr_protocol::Scheme;
use omr_protocol::sophomr::Params;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads = args.get(1).map_or(1, |t| t.parse().expect("threads"));
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("pool");
    let scheme = if args.get(2).is_some_and(|s| s == "omd") {
        Scheme::Sophomd
    } else {
        Scheme::Sophomr
    };
    let params = Params::named("sophomr-v5").expect("params");
    for (n, w, bits) in params.key_moduli() {
        eprintln!("n {n} weight {w:?} log PQ {bits:.1}");
    }
    for level in 0..params.chain.len() {
        eprintln!(
            "level {level}: {} limbs {:.1} bits",
            params.chain.basis(level).len(),
            params.chain.log2(&params.ring, level)
        );
    }
    let bench = DigestBench {
        no_yardstick: false,
        ..DigestBench::new(Setting {
            scheme,
            start: Start {
                threads: None,
                seed: args.get(3).map_or(1, |s| s.parse().expect("seed")),
            },
            ..Setting::default()
        })
    };
    println!("{:#?}", bench.run(&Quiet).expect("run"));
}

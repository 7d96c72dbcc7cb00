//! Predicted and measured noise along one full-size batch:
//! `cargo run --release -p omr-lab --example noise [PARAMS] [SEED]`. PARAMS may also be a set of a paper's scheme.
use chacha20::ChaCha20Rng;
use omr_bgv::{Ciphertext, Decryptor};
use omr_client::sophomr::keygen_with_large_secret;
use omr_detector::sophomr::{ClueBatch, Detector};
use omr_detector::{MessageSource, Quiet};
use omr_lab::measure::{PaperKeys, Workload};
use omr_papers::clear::PaperSet;
use omr_protocol::ClueKind;
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::{Params, Rings};
use omr_protocol::{Clue, Placement, SEED_BYTES};
use omr_rlwe::Secret;
use rand_core::SeedableRng;

type Error = Box<dyn std::error::Error + Send + Sync>;

const PERTINENT: usize = 50;

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let name = args.get(1).map_or(SOPHOMR, |name| name);
    let seed = args.get(2).map_or(Ok(1), |s| s.parse())?;
    let paper_set = PaperSet::named(name, true).ok();
    if let Some(set) = paper_set.filter(|set| set.lwe().is_some()) {
        let (keys, large) = PaperKeys::with_large_secret(&set, seed)?;
        let n = keys.params().slots() as u64;
        let placement = Placement::new(&[1; SEED_BYTES], 0, n as usize);
        let clues = keys.clues(n, PERTINENT, seed, &placement)?;
        let detector = keys.detector();
        let steps = detector.baby_steps(&Quiet)?;
        let d = detector.affine(&steps, &clues, &Quiet)?;
        drop(steps);
        let pertinent = detector.range_check(&d, &Quiet)?;
        let floor = keys.params().spec().rings.noise_model().floor();
        return show(floor, keys.params(), &large, &d, &pertinent);
    }
    let params = Params::named(name)?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (keys, large) = keygen_with_large_secret(&params, ClueKind::Plain, &mut rng);
    let n = params.slots() as u64;
    let mut board = Workload::new(params.clue.clone(), keys.clue, n, PERTINENT, 1, seed);
    let placement = Placement::new(&[1; SEED_BYTES], 0, params.slots());
    let (clues, bytes) = (board.clues(0..n)?, Clue::bytes(&params.clue));
    let clues = ClueBatch::new(&params, &placement, clues, bytes);
    let detector = Detector::new(params.clone(), keys.detection);
    let d = detector.distances(detector.turned(&Quiet)?, &clues, &Quiet)?;
    let pertinent = detector.range_check(&d, &Quiet)?;
    show(
        params.spec().noise_model().floor(),
        &params,
        &large,
        &d,
        &pertinent,
    )
}

fn show(
    floor: f64,
    params: &Rings,
    large: &Secret,
    d: &[Ciphertext],
    pertinent: &Ciphertext,
) -> Result<(), Error> {
    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: large,
    };
    let line = |what: &str, predicted: f64, ct: &Ciphertext| {
        let noise = decryptor.noise(ct);
        let rms = omr_ring::rms_embedding(&noise).log2();
        let worst = omr_ring::max_embedding_squared(&noise).log2() / 2.0;
        println!(
            "{what:28} predicted {predicted:6.2}  rms {rms:6.2}  worst embedding {worst:6.2} bits"
        );
    };
    for (i, d) in d.iter().enumerate() {
        let what = format!("coordinate {i} of d");
        line(&what, floor, d);
    }
    line("the pertinency vector", floor, pertinent);
    let ones = decryptor
        .decrypt(pertinent)
        .iter()
        .filter(|&&x| x == 1)
        .count();
    println!("pertinent slots: {ones} of {PERTINENT}");
    Ok(())
}

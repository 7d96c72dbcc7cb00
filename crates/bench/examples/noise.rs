//! Predicted and measured noise along one full-size batch: `cargo run --release -p omr-bench
//! --example noise [PARAMS] [SEED]`.
use omr_bench::Workload;
use omr_bgv::{Ciphertext, Decryptor};
use omr_client::keygen_with_large_secret;
use omr_detector::{ClueBatch, Detector, MessageSource, Quiet};
use omr_protocol::ClueKind;
use omr_protocol::{Clue, Params, Placement, SEED_BYTES};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().collect();
    let params = Params::named(args.get(1).map_or("sophomr-v2", |name| name))?;
    let seed = args.get(2).map_or(Ok(1), |s| s.parse())?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (keys, large) = keygen_with_large_secret(&params, ClueKind::Plain, &mut rng);
    let n = params.slots() as u64;
    let mut board = Workload::new(params.clue.clone(), keys.clue.clone(), n, 50, 1, seed);
    let placement = Placement::new(&[1; SEED_BYTES], 0, params.slots());
    let clues = ClueBatch::new(
        &params,
        &placement,
        board.clues(0..n)?,
        Clue::bytes(&params.clue),
    );
    let detector = Detector::new(params.clone(), keys.detection);
    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &large,
    };
    let show = |what: &str, predicted: f64, ct: &Ciphertext| {
        let noise = decryptor.noise(ct);
        let rms = omr_ring::rms_embedding(&noise).log2();
        let worst = omr_ring::max_embedding_squared(&noise).log2() / 2.0;
        println!(
            "{what:28} predicted {predicted:6.2}  rms {rms:6.2}  worst embedding {worst:6.2} bits"
        );
    };
    let model = params.noise_model();
    let steps = detector.baby_steps(&Quiet)?;
    let d = detector.affine(&steps, &clues, &Quiet)?;
    show("after the affine transform", model.floor(), &d[0]);
    show("the other coordinate", model.floor(), &d[1]);
    let pertinent = detector.range_check(&d, &Quiet)?;
    show("the pertinency vector", model.floor(), &pertinent);
    let ones = decryptor
        .decrypt(&pertinent)
        .iter()
        .filter(|&&x| x == 1)
        .count();
    println!("pertinent slots: {ones} of 50");
    Ok(())
}

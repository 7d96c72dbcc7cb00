//! The model makes the processor's pertinency vectors.

use chacha20::ChaCha20Rng;
use omr_client::Sender;
use omr_detector::{Quiet, Stages};
use omr_fpga::blocks::Blocks;
use omr_fpga::device::Device;
use omr_fpga::engine::FpgaModel;
use omr_papers::clear::{EarlierParams, Params, Spec};
use omr_papers::client::ring_keys;
use omr_papers::detector::{ClueBatch, EarlierDetector};
use omr_protocol::{Clue, ClueKind, Placement};
use rand_core::SeedableRng;
use std::sync::Arc;

const MESSAGES: usize = 40;

#[test]
fn pertinency_vectors_are_the_processors() {
    let params = Arc::new(Params::named(Spec::TINY_SOPHOMR).expect("a set"));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = ring_keys(&params, ClueKind::Plain, &mut rng);
    let other = ring_keys(&params, ClueKind::Plain, &mut rng);
    let [mine, others] = [&keys.clue, &other.clue].map(|key| Sender::new(&params.clue, key));
    let batch = |number: usize, rng: &mut ChaCha20Rng| {
        let placement = Placement::new(&[7; 32], number, params.slots());
        let clue = |index: usize| {
            let sender = if index % 20 == 3 { &mine } else { &others };
            sender.gen_clue(rng).to_bytes(&params.clue)
        };
        let clues: Vec<u8> = (0..MESSAGES).flat_map(clue).collect();
        ClueBatch::new(&params, &placement, clues, Clue::bytes(&params.clue))
    };
    let batches = [batch(0, &mut rng), batch(1, &mut rng)];
    let earlier = Arc::new(EarlierParams::of_ring(params.clone()));
    let detector = EarlierDetector::new(earlier, keys.detection);

    let blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let model = FpgaModel::new(&detector, &blocks, &Device::U55C).expect("a design");
    let (vectors, report) = model
        .pertinency_vectors(&batches, &Quiet)
        .expect("two vectors");
    let steps = detector.baby_steps(&Quiet).expect("steps");
    for (vector, clues) in vectors.iter().zip(&batches) {
        let by_processor =
            detector.pertinency_vector(&steps, clues, &Quiet, &mut Stages::default());
        assert!(*vector == by_processor.expect("a vector"));
    }
    assert!(vectors[0] != vectors[1]);

    assert_eq!((report.batches, report.set), (2, Spec::TINY_SOPHOMR));
    assert!(report.processor_affine_s > 0.0 && report.processor_rest_s > 0.0);
    assert!(report.cold.cycles > report.warm.cycles);
    let card_s = 2.0 * report.warm.ms / 1e3;
    assert!((report.detection_warm_s - report.processor_rest_s - card_s).abs() < 1e-9);
}

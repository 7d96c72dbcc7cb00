//! The model detects the pertinent messages in addition to its predictions.

use chacha20::ChaCha20Rng;
use omr_bgv::Decryptor;
use omr_client::Sender;
use omr_detector::Quiet;
use omr_fpga::blocks::Blocks;
use omr_fpga::device::Device;
use omr_fpga::engine::FpgaModel;
use omr_papers::clear::{PaperParams, Params, Spec};
use omr_papers::client::ring_keys;
use omr_papers::detector::{ClueBatch, PaperDetector};
use omr_protocol::{Clue, ClueKind, Placement};
use rand_core::SeedableRng;
use std::sync::Arc;

const MESSAGES: usize = 40;

#[test]
fn the_pertinent_messages_are_found_beside_a_prediction() {
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
    let set_params = Arc::new(PaperParams::of_ring(params.clone()));
    let detector = PaperDetector::new(set_params, keys.detection);

    let blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let model = FpgaModel::new(&detector, &blocks, &Device::U55C).expect("a design");
    let (vectors, report) = model.detect(&batches, &Quiet).expect("two vectors");
    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &keys.large,
    };
    for (number, vector) in vectors.iter().enumerate() {
        let placement = Placement::new(&[7; 32], number, params.slots());
        let slots = decryptor.decrypt(vector);
        let expected: Vec<u32> = placement
            .messages()
            .iter()
            .map(|&message| u32::from(message < MESSAGES as u32 && message % 20 == 3))
            .collect();
        assert!(slots == expected, "batch {number}");
    }

    assert_eq!((report.batches, report.set), (2, Spec::TINY_SOPHOMR));
    assert!(report.processor_affine_s > 0.0 && report.processor_rest_s > 0.0);
    assert!(report.cold.cycles > report.warm.cycles);
    let card_s = 2.0 * report.warm.ms / 1e3;
    assert!((report.detection_warm_s - report.processor_rest_s - card_s).abs() < 1e-9);
}

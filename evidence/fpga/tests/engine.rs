//! The model's engine gives the processor's digests.

use chacha20::ChaCha20Rng;
use omr_client::Sender;
use omr_client::sophomr::{Recipient, keygen};
use omr_detector::engine::{Answer, Engine, Task, on_cpu};
use omr_detector::{Messages, Quiet};
use omr_fpga::blocks::Blocks;
use omr_fpga::device::Device;
use omr_fpga::engine::{FpgaModel, Reports};
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, Response, Scheme, Sealing};
use rand_core::SeedableRng;

const MESSAGES: u64 = 40;

/// The digest of a board with a fixed seed.
fn answer(engine: &dyn Engine, key: &[u8], clues: &[u8]) -> Answer {
    let payloads = (0..MESSAGES as usize * 20)
        .map(|i| (i * 7 % 251) as u8)
        .collect();
    let mut source = Messages::new(0..MESSAGES, clues.to_vec(), payloads).expect("a board");
    let mut file = key;
    let loaded = engine.load(&mut file).expect("a key");
    let task = Task {
        source: &mut source,
        request: Request::new(0..MESSAGES, 4, Some(20)),
        board_id: [6; 16],
        sealing: Sealing::None,
        seed: [7; 32],
    };
    loaded
        .answer(Scheme::Sophomr, task, &Quiet)
        .expect("a digest")
}

#[test]
fn digests_are_the_processors_byte_for_byte() {
    let set = ParamSet::named("insecure-tiny-v2").expect("a published set");
    let params = set.sophomr().expect("SophOMR");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = keygen(params, ClueKind::Plain, &mut rng);
    let other = keygen(params, ClueKind::Plain, &mut rng);
    let mut key = Vec::new();
    keys.detection.write(params, &mut key).expect("a file");
    let [mine, others] = [&keys.clue, &other.clue].map(|key| Sender::new(&params.clue, key));
    let clues: Vec<u8> = (0..MESSAGES)
        .flat_map(|index| {
            let sender = if index % 20 == 3 { &mine } else { &others };
            sender.gen_clue(&mut rng).to_bytes(&params.clue)
        })
        .collect();

    let reports = Reports::default();
    let blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let model = FpgaModel::new(params, &blocks, &Device::U55C, &reports).expect("a design");
    let cpu = on_cpu(&set, EngineKind::Sophomr, None).expect("SophOMR's engine");
    let by_model = answer(&model, &key, &clues);
    let by_processor = answer(&*cpu, &key, &clues);
    let bytes = |answer: &Answer| answer.response.to_bytes(&set).expect("a file");
    assert!(bytes(&by_model) == bytes(&by_processor));

    let Response::Sophomr(digest) = &by_model.response else {
        panic!("a digest of SophOMR")
    };
    let found = Recipient::new(params.recipient(), &keys.secret)
        .decode(digest)
        .expect("the digest");
    assert_eq!(found.len(), 2);
    let reports = reports.lock().expect("the reports");
    let [report] = &reports[..] else {
        panic!("{} reports of one digest", reports.len())
    };
    assert_eq!((report.batches, report.set), (1, "insecure-tiny-v2"));
    assert!(report.processor_affine_s > 0.0 && report.processor_rest_s > 0.0);
    assert!(report.cold.cycles > report.warm.cycles);
}

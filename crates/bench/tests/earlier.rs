//! PerfOMR1 from clues to sums, at the insecure tiny parameters.

use omr_bench::{EarlierBench, Workload};
use omr_client::{DecodeError, Recipient, keygen};
use omr_detector::earlier::{Bundles, RowShape, RowSource};
use omr_detector::{ClueBatch, Detector, MessageSource, Quiet, Stages};
use omr_protocol::ClueKind;
use omr_protocol::{Clue, DetectionKey, Params, Placement, SEED_BYTES};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SHAPE: RowShape = RowShape {
    index: 70,
    combinations: 6,
    symbols: 95,
};

fn value(p: u64, bundle: usize, which: u64) -> u32 {
    let x =
        (bundle as u64 * 40_503 + which * 2_654_435_761 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x >> 24) % p) as u32
}

/// The key goes through its file; a second batch is not full.
#[test]
fn sums_of_the_pertinent_bundles_come_out_of_clues() {
    let params = Params::named("insecure-tiny-perfomr1-v1").unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = keygen(&params, ClueKind::Plain, &mut rng);
    let mut file = Vec::new();
    keys.detection.write(&params, &mut file).unwrap();
    let key = DetectionKey::read(&params, &mut file.as_slice()).unwrap();
    let n = params.slots() as u64;
    let messages = n + n / 3;
    let mut board = Workload::new(params.clue.clone(), keys.clue.clone(), messages, 14, 1, 5);
    let detector = Detector::new(params.clone(), key);
    let bundles = Bundles::new(&params, 2).unwrap();
    let mut compressor = detector.compressor(bundles, SHAPE).unwrap();
    let steps = detector.baby_steps(&Quiet).unwrap();
    let p = params.p().value();
    let mut expected = vec![0u64; SHAPE.positions()];
    for batch in 0..2usize {
        let (start, end) = (batch as u64 * n, messages.min((batch as u64 + 1) * n));
        let placement = Placement::new(&[3; SEED_BYTES], batch, params.slots());
        let clues = board.clues(start..end).unwrap();
        let clues = ClueBatch::new(&params, &placement, clues, Clue::bytes(&params.clue));
        let mut stages = Stages::default();
        let pertinency = detector
            .pertinency_vector(&steps, &clues, &Quiet, &mut stages)
            .unwrap();
        let first = batch * bundles.count();
        let index = |j: usize| {
            [0, 1, 2].map(|i| {
                (
                    value(p, first + j, i) % SHAPE.index as u32,
                    value(p, first + j, 9 + i),
                )
            })
        };
        let weight = |j: usize, r: usize| value(p, first + j, 20 + r as u64);
        let symbol = |j: usize, s: usize| value(p, first + j, 100 + s as u64);
        let rows = RowSource {
            index: &|j, out| out.extend(index(j)),
            weights: &|j, out| (0..).zip(out).for_each(|(r, w)| *w = weight(j, r)),
            symbols: &|j, out| (0..).zip(out).for_each(|(s, x)| *x = symbol(j, s)),
        };
        compressor.add_batch(&pertinency, &rows, &Quiet).unwrap();
        let own = board.pertinent().iter().filter(|&&m| start <= m && m < end);
        for &message in own {
            let slot = placement.slots()[(message - start) as usize] as usize;
            let (j, _) = bundles.locate(slot);
            let mut add = |at: usize, x: u64| expected[at] = (expected[at] + x) % p;
            index(j)
                .iter()
                .for_each(|&(at, x)| add(at as usize, x.into()));
            for r in 0..SHAPE.combinations {
                for s in 0..SHAPE.symbols {
                    let product = u64::from(weight(j, r)) * u64::from(symbol(j, s)) % p;
                    add(SHAPE.payload(r, s), product);
                }
            }
        }
    }
    let (digest, _) = compressor.finish();
    let recipient = Recipient::new(&params, &keys.secret);
    let sums = recipient.bundle_sums(&digest, SHAPE.positions()).unwrap();
    let sums: Vec<u64> = sums.into_iter().map(u64::from).collect();
    assert_eq!(sums, expected);
    assert!(expected.iter().any(|&x| x != 0));

    let shorter = recipient.bundle_sums(&digest, SHAPE.positions() - 1);
    assert!(matches!(shorter, Err(DecodeError::Inconsistent(_))));
    let missing = recipient.bundle_sums(&digest[..1], SHAPE.positions());
    assert!(matches!(missing, Err(DecodeError::Inconsistent(_))));
}

/// Three batches' worth of places, the last batch not full; more pertinent messages than the bound are told.
#[test]
fn payloads_of_perfomr1_come_out_bit_for_bit() {
    let params = Params::named("insecure-tiny-perfomr1-v1").unwrap();
    let n = params.slots() as u64;
    for (bundle, messages) in [(2, n), (1, n + n / 3), (4, 2 * n + 5)] {
        let bench = EarlierBench {
            params: params.clone(),
            bundle,
            messages,
            pertinent: 12,
            bound: 12,
            payload_bytes: 30,
            seed: 11 + bundle as u64,
        };
        let figures = bench.run(&Quiet).unwrap();
        assert_eq!((figures.exact, figures.wrong), (12, 0), "{bundle}");
        let bench = EarlierBench {
            pertinent: 13,
            ..bench
        };
        let error = bench.run(&Quiet).unwrap_err().to_string();
        assert!(error.contains("overflow: 13 pertinent messages"), "{error}");
    }
}

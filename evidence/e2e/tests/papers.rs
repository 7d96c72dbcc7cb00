//! The papers' schemes from clues to payloads, with insecure tiny parameters.

use chacha20::ChaCha20Rng;
use omr_client::DecodeError;
use omr_detector::{MessageSource, Quiet, Stages};
use omr_lab::measure::{PaperBench, PaperKeys, Workload};
use omr_papers::clear::{PaperScheme, PaperSet};
use omr_papers::client::{PaperRecipient, ring_keys};
use omr_papers::detector::{Bundles, PaperDetector, RowShape, RowSource};
use omr_protocol::ClueKind;
use omr_protocol::{Clue, Placement, SEED_BYTES};
use rand_core::SeedableRng;
use std::sync::Arc;

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

/// The number of messages; the second batch is not full.
#[test]
fn sums_of_the_pertinent_bundles_come_out_of_clues() {
    let set = PaperSet::named("insecure-tiny-perfomr1-v1", true).unwrap();
    let set_params = Arc::new(set.params().unwrap());
    let params = &set_params.params;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = ring_keys(params, ClueKind::Plain, &mut rng);
    let n = params.slots() as u64;
    let messages = n + n / 3;
    let mut board = Workload::new(params.clue.clone(), keys.clue.clone(), messages, 14, 1, 5);
    let detector = PaperDetector::new(set_params.clone(), keys.detection);
    let bundles = Bundles::new(params, 2).unwrap();
    let mut compressor = detector.compressor(bundles, SHAPE).unwrap();
    let steps = detector.baby_steps(&Quiet).unwrap();
    let p = params.p().value();
    let mut expected = vec![0u64; SHAPE.positions()];
    for batch in 0..2usize {
        let (start, end) = (batch as u64 * n, messages.min((batch as u64 + 1) * n));
        let placement = Placement::new(&[3; SEED_BYTES], batch, params.slots());
        let clues = board.clues(start..end).unwrap();
        let clues = set_params.batch(&placement, clues, Clue::bytes(&params.clue));
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
    let recipient = PaperRecipient::new(params, &keys.secret);
    let sums: Vec<u64> = recipient
        .sums(&digest, SHAPE.positions())
        .unwrap()
        .into_iter()
        .map(u64::from)
        .collect();
    assert_eq!(sums, expected);
    assert!(expected.iter().any(|&x| x != 0));

    let shorter = recipient.sums(&digest, SHAPE.positions() - 1);
    assert!(matches!(shorter, Err(DecodeError::Inconsistent(_))));
    let missing = recipient.sums(&digest[..1], SHAPE.positions());
    assert!(matches!(missing, Err(DecodeError::Inconsistent(_))));
}

/// Returns the sets of a scheme for tests, with keys that serve all runs.
fn keys(scheme: PaperScheme) -> PaperKeys {
    let sets = PaperSet::tiny();
    let set = sets.iter().find(|set| set.scheme == scheme);
    PaperKeys::new(set.unwrap(), 7).unwrap()
}

/// Up to three batches, the last not full: all pertinent messages are returned bit for bit, and one more than the
/// bound is an error.
fn payloads_come_out(scheme: PaperScheme, bundles: &[usize]) {
    let keys = keys(scheme);
    let n = keys.set().slots as u64;
    for (&bundle, messages) in bundles.iter().zip([n, n + n / 3, 2 * n + 5]) {
        let bench = PaperBench {
            scheme,
            messages,
            pertinent: 12,
            bound: 12,
            payload_bytes: 30,
            seed: 20 + bundle as u64,
            bundle,
        };
        let figures = bench.run_with(&keys, &Quiet).unwrap();
        assert_eq!((figures.exact, figures.wrong), (12, 0), "{bundle}");
        if scheme == PaperScheme::Omd1p {
            continue;
        }
        let bench = PaperBench {
            pertinent: 13,
            ..bench
        };
        let error = bench.run_with(&keys, &Quiet).unwrap_err().to_string();
        assert!(error.contains("overflow: 13 pertinent"), "{error}");
    }
}

#[test]
fn payloads_of_omr2p() {
    payloads_come_out(PaperScheme::Omr2p, &[1, 1, 1]);
}

#[test]
fn payloads_of_omr1p() {
    payloads_come_out(PaperScheme::Omr1p, &[1, 1]);
}

#[test]
fn indices_of_omd1p() {
    payloads_come_out(PaperScheme::Omd1p, &[1, 1, 1]);
}

/// There is one batch more than a vector has bits.
#[test]
fn indices_of_omd1p_in_two_vectors() {
    let keys = keys(PaperScheme::Omd1p);
    let n = keys.set().slots as u64;
    let bits = u64::from(keys.set().p.ilog2());
    let bench = PaperBench {
        scheme: PaperScheme::Omd1p,
        messages: bits * n + n / 2,
        pertinent: 40,
        bound: 40,
        payload_bytes: 30,
        seed: 31,
        bundle: 1,
    };
    let figures = bench.run_with(&keys, &Quiet).unwrap();
    assert_eq!((figures.exact, figures.wrong), (40, 0));
}

#[test]
fn payloads_of_perfomr1() {
    payloads_come_out(PaperScheme::Perfomr1, &[2, 1, 4]);
}

#[test]
fn payloads_of_perfomr2() {
    payloads_come_out(PaperScheme::Perfomr2, &[2, 1, 4]);
}

#[test]
fn payloads_of_dos_perfomr() {
    payloads_come_out(PaperScheme::DosPerfomr, &[2, 1]);
}

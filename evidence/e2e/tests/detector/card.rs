//! Digests by the kernels of graphics cards, compiled for the processor, equal those of the processor's engine byte
//! for byte.

use crate::packed::{
    BOARD, MESSAGES, PAYLOAD, TOGETHER, board, file_of, recipients, through_file, tiny,
};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::Keys;
use omr_cuda::{Arithmetic, BatchRings, CudaRing, Emulated};
use omr_detector::sophomr::{BackendEngine, Detector, Output, digests};
use omr_detector::{DetectorError, MessageSource, Messages, Progress, Quiet};
use omr_opening::{BlockOfClues, ModuleCipher, PackingKey, pack, pack_placed, packing_secret};
use omr_protocol::clue::{OFFSET_LEN, residue_bits, write_residues};
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{ClueKey, ClueKind, SEED_BYTES, Sealing};
use omr_ring::{PackedRow, PackedRows, uniform_ternary};
use omr_rlwe::MaskSeed;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn engine(params: &Arc<Params>, arithmetic: Arithmetic) -> BackendEngine {
    let card = Emulated::or_card(arithmetic);
    BatchRings::new(card, params).unwrap().engine(params)
}

pub(crate) fn made(
    detectors: &[Detector],
    board: &mut Messages,
    progress: &dyn Progress,
) -> Result<Vec<Output>, DetectorError> {
    let all: Vec<&Detector> = detectors.iter().collect();
    let plan = DigestPlan::new(detectors[0].params(), 0..MESSAGES, 9, Some(PAYLOAD)).unwrap();
    digests(
        &all,
        board,
        &plan,
        BOARD,
        Sealing::None,
        [3; SEED_BYTES],
        progress,
    )
}

/// Compares digests for several recipients, with masks of one epoch and with separate masks, over two batches of the
/// tiny set.
fn digested(clues: ClueKind, arithmetic: Arithmetic) {
    digested_by(&tiny(), clues, arithmetic, TOGETHER + 1);
}

/// Compares digests for the first `count` recipients.
fn digested_by(params: &Arc<Params>, clues: ClueKind, arithmetic: Arithmetic, count: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let keys = recipients(params, clues, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = board(params, &addresses, clues, &mut rng);
    let engine = engine(params, arithmetic);
    let read = |keys: &Keys| through_file(params, &keys.detection);
    let keys = &keys[..count];
    let here: Vec<Detector> = keys
        .iter()
        .map(|keys| Detector::new(params.clone(), read(keys)))
        .collect();
    let away: Vec<Detector> = keys
        .iter()
        .map(|keys| {
            engine
                .detector(&file_of(params, &keys.detection)[..])
                .unwrap()
        })
        .collect();
    assert!(!away[0].is_served_with(&here[0]));
    if count > TOGETHER {
        let masks = |recipient: usize| away[recipient].key().step.switching_key();
        assert!(masks(0).shares_masks_with(masks(TOGETHER - 1)));
        assert!(!masks(0).shares_masks_with(masks(TOGETHER)));
    }
    let expected = made(&here, &mut board, &Quiet).unwrap();
    let found = made(&away, &mut board, &Quiet).unwrap();
    assert_eq!(found.len(), count);
    for (recipient, (here, away)) in expected.iter().zip(&found).enumerate() {
        let [here, away] = [here, away].map(|out| out.digest.to_bytes(params).unwrap());
        assert!(here == away, "recipient {recipient}");
    }
}

/// Returns the same clues with their residues a, modulo q, packed at the end of `bytes`; those of every other message are
/// negated.
fn packed_block(
    clues: &BlockOfClues,
    q: u64,
    width: usize,
    bytes: &mut Vec<u8>,
) -> BlockOfClues<PackedRows> {
    let mut rows = Vec::new();
    for (y, row) in clues.a.chunks(width).enumerate() {
        let (first, is_negated) = (bytes.len(), y % 2 == 1);
        let signed = |&x: &u32| {
            if is_negated {
                (q as u32 - x) % q as u32
            } else {
                x
            }
        };
        let residues: Vec<u32> = row.iter().map(signed).collect();
        write_residues(q, residues.iter(), bytes);
        rows.push(Some(PackedRow { first, is_negated }));
    }
    BlockOfClues {
        a: PackedRows {
            bits: residue_bits(q),
            width,
            factor: 1,
            constant: 0,
            rows,
        },
        b: clues.b.clone(),
        extra: clues.extra.clone(),
    }
}

/// Compares packed clues of two recipients at full size, whose ring of packing machines support. Insecure sets have a
/// smaller one.
#[test]
fn packed_clues_are_those_of_the_processor() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let params = Params::named("sophomr-v5").unwrap();
    let (opening, shape) = (&params.opening, params.opening.clue());
    let card = Emulated::or_card(Arithmetic::Whole);
    let backend = Arc::new(CudaRing::new(card, &opening.packing).unwrap());
    let away = opening.packing.with_backend(backend);
    let residues = |count: usize, rng: &mut ChaCha20Rng| -> Vec<u32> {
        (0..count)
            .map(|_| rng.next_u32() % shape.q as u32)
            .collect()
    };
    for extra in [0, OFFSET_LEN] {
        let make = |_| {
            let secret = packing_secret(opening, &mut rng);
            let clue = uniform_ternary(&mut rng, shape.n);
            let seed = MaskSeed::new(&[6; 32], 0);
            PackingKey::generate(opening, &clue, &vec![5; extra], &secret, seed, &mut rng)
        };
        let here: Vec<PackingKey> = (0..2).map(make).collect();
        let copy = |key: &PackingKey| {
            let bodies: Vec<_> = key.bodies().cloned().collect();
            let masks = PackingKey::masks(opening, bodies.len(), MaskSeed::new(&[6; 32], 0));
            PackingKey::from_bodies(opening, bodies, masks).placed(&away)
        };
        let there: Vec<PackingKey> = here.iter().map(copy).collect();
        let n = opening.spec().n;
        let block = |_| BlockOfClues {
            a: residues(n * shape.n, &mut rng),
            b: (0..shape.coordinates)
                .map(|_| residues(n, &mut rng))
                .collect(),
            extra: (0..shape.coordinates)
                .map(|_| residues(n * extra, &mut rng))
                .collect(),
        };
        let blocks: Vec<BlockOfClues> = (0..3).map(block).collect();
        let watch = away.watch();
        let [keys_here, keys_there] = [&here, &there].map(|keys| keys.iter().collect::<Vec<_>>());
        let mut bytes = Vec::new();
        let packed = |clues| packed_block(clues, shape.q, shape.n, &mut bytes);
        let packed: Vec<BlockOfClues<PackedRows>> = blocks.iter().map(packed).collect();
        assert!(here[0].place(&bytes).is_none());
        let bytes = there[0].place(&bytes).unwrap();
        let expected = pack(opening, &keys_here, &blocks);
        let found = pack_placed(opening, &keys_there, &bytes, &packed);
        assert_eq!(watch.failure(), None);
        let words = |ct: &ModuleCipher| {
            let rows = ct.masks.iter().chain(&ct.bodies);
            rows.map(|row| row.to_vec()).collect::<Vec<_>>()
        };
        let all = |packed: &[Vec<ModuleCipher>]| -> Vec<Vec<Vec<u64>>> {
            packed.iter().flatten().map(words).collect()
        };
        let expected = all(&expected);
        assert_eq!(expected.len(), blocks.len() * shape.coordinates);
        assert_eq!(expected[0].len(), opening.spec().packing_rank + here.len());
        assert!(expected == all(&found));
    }
}

#[test]
#[ignore = "minutes: every kernel of a full batch on the processor"]
fn a_digest_at_full_size_is_that_of_the_processor() {
    let params = Params::named("sophomr-v5").unwrap();
    digested_by(&params, ClueKind::Bound, Arithmetic::Floating, 1);
}

#[test]
fn digests_of_plain_clues_are_those_of_the_processor() {
    digested(ClueKind::Plain, Arithmetic::Whole);
}

#[test]
fn digests_of_bound_clues_are_those_of_the_processor() {
    digested(ClueKind::Bound, Arithmetic::Floating);
}

/// A kernel works on all rows of an operation, so the longest payloads whose sums fit as many ciphertexts take few more
/// kernels than the shortest.
#[test]
fn longer_payloads_take_few_more_kernels() {
    let params = tiny();
    let plan = |payload| DigestPlan::new(&params, 0..MESSAGES, 9, Some(payload)).unwrap();
    let long = (1..).find(|&payload| plan(payload + 1).ciphertexts() > plan(1).ciphertexts());
    let long = long.expect("a payload that takes another ciphertext");
    let symbols = |payload| plan(payload).symbols_of(0).len();
    assert!(symbols(long) >= 2 * symbols(1));
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let keys = recipients(&params, ClueKind::Plain, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let clues = board(&params, &addresses, ClueKind::Plain, &mut rng)
        .clues(0..MESSAGES)
        .unwrap();
    let card = Emulated::new(Arithmetic::Whole);
    let engine = BatchRings::new(card.clone(), &params)
        .unwrap()
        .engine(&params);
    let file = file_of(&params, &keys[0].detection);
    let detector = engine.detector(&file[..]).unwrap();
    let mut kernels = |payload: usize| {
        let payloads = vec![7; payload * MESSAGES as usize];
        let mut board = Messages::new(0..MESSAGES, clues.clone(), payloads).unwrap();
        let before = card.ran();
        let seed = [3; SEED_BYTES];
        let plan = plan(payload);
        detector
            .digest(&mut board, &plan, BOARD, Sealing::None, seed, &Quiet)
            .unwrap();
        card.ran() - before
    };
    // The first digest makes constants.
    kernels(1);
    let [few, many] = [1, long].map(&mut kernels);
    assert!(many < few + few / 20, "{few} and {many} kernels");
}

/// A progress that stops after a number of steps.
struct Stops(AtomicUsize);

impl Progress for Stops {
    fn stage(&self, _: &'static str, _: u64) {}

    fn advance(&self, _: u64) {
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A digest that is stopped leaves the engine unchanged.
#[test]
fn a_stopped_digest_spoils_no_other() {
    let params = tiny();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let keys = recipients(&params, ClueKind::Plain, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = board(&params, &addresses, ClueKind::Plain, &mut rng);
    let file = file_of(&params, &keys[0].detection);
    let away = [engine(&params, Arithmetic::Floating)
        .detector(&file[..])
        .unwrap()];
    let here = Detector::new(params.clone(), through_file(&params, &keys[0].detection));
    let expected = made(&[here], &mut board, &Quiet).unwrap();
    for steps in [1, 4, 9] {
        let stopped = made(&away, &mut board, &Stops(AtomicUsize::new(steps)));
        assert!(matches!(stopped, Err(DetectorError::Stopped)), "{steps}");
    }
    let found = made(&away, &mut board, &Quiet).unwrap();
    let [here, away] = [&expected[0], &found[0]].map(|out| out.digest.to_bytes(&params).unwrap());
    assert!(here == away);
}

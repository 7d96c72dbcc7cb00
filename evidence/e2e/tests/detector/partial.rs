//! Digests in parts: other processes compute the sums of some batches, and all add up to an equal digest.

use crate::world::{Board, SLOTS, World, tiny};
use omr_detector::sophomr::{Detector, PartialOutput, Wanted, finish, partials};
use omr_detector::{DetectorError, Quiet};
use omr_protocol::frame::FrameError;
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, FinalNoise, Partial, PartialError};
use omr_protocol::{DetectionKeyError, SEED_BYTES, Sealing};
use std::ops::Range;

const PAYLOAD_BYTES: usize = 40;
const BATCHES: usize = 5;
const MESSAGES: u64 = (BATCHES as u64 - 1) * SLOTS + 9;
const PERTINENT: [u64; 5] = [3, SLOTS - 1, 2 * SLOTS + 7, 3 * SLOTS, 4 * SLOTS + 8];
const SEED: [u8; SEED_BYTES] = [7; SEED_BYTES];

fn board() -> Board {
    let mut board = Board::new(MESSAGES, PAYLOAD_BYTES);
    board.post(&World::shared().clue_key, &PERTINENT);
    board
}

fn plan() -> DigestPlan {
    DigestPlan::new(tiny(), 0..MESSAGES, 6, Some(PAYLOAD_BYTES)).unwrap()
}

fn wanted(plan: &DigestPlan) -> Wanted<'_> {
    Wanted {
        plan,
        board_id: [6; 16],
        sealing: Sealing::HpkeX25519,
        seed: SEED,
    }
}

/// Computes a part as another process does: with a separate key, through the file.
fn part(board: &Board, batches: Range<usize>) -> Partial {
    let (plan, world) = (plan(), World::shared());
    let key = DetectionKey::read(tiny(), &world.detection[..]).unwrap();
    let detector = Detector::new(tiny().clone(), key);
    let mut source = board.clone();
    let made = partials(
        &[&detector],
        &mut source,
        &wanted(&plan),
        batches.clone(),
        &Quiet,
    );
    let PartialOutput { partial, .. } = made.unwrap().remove(0);
    assert_eq!(partial.batches(), [batches]);
    let bytes = partial.to_bytes(tiny()).unwrap();
    let read = Partial::from_bytes(tiny(), &bytes).unwrap();
    assert_eq!(read.to_bytes(tiny()).unwrap(), bytes);
    read
}

fn merged(parts: &[&Partial]) -> Result<Partial, PartialError> {
    let mut all = parts[0].clone();
    for part in &parts[1..] {
        all.merge(tiny(), part)?;
    }
    Ok(all)
}

fn finished(parts: &[&Partial]) -> Vec<u8> {
    let digest = World::shared().detector.finish(&merged(parts).unwrap());
    digest.unwrap().to_bytes(tiny()).unwrap()
}

#[test]
fn parts_in_any_order_make_the_digest_of_one_process_byte_for_byte() {
    let (board, world) = (board(), World::shared());
    let whole = world
        .digest(&mut board.clone(), 0..MESSAGES, 6, PAYLOAD_BYTES)
        .unwrap()
        .digest
        .to_bytes(tiny())
        .unwrap();
    let ones: Vec<Partial> = (0..BATCHES).map(|i| part(&board, i..i + 1)).collect();
    let [first, second] = [0..2, 2..BATCHES].map(|batches| part(&board, batches));
    let one = |i: usize| &ones[i];
    for parts in [
        vec![&first, &second],
        vec![&second, &first],
        (0..BATCHES).map(one).collect(),
        [3, 0, 4, 1, 2].map(one).to_vec(),
        vec![one(3), &first, one(4), one(2)],
    ] {
        assert!(finished(&parts) == whole, "{} parts", parts.len());
    }
    let all = merged(&[&first, &second]).unwrap();
    let key = DetectionKey::read_final(tiny(), &world.detection[..]).unwrap();
    let digest = finish(tiny(), &key, &all).unwrap();
    assert!(
        digest.to_bytes(tiny()).unwrap() == whole,
        "by a part of the key"
    );
    let digest = Digest::from_bytes(tiny(), &whole).unwrap();
    let found = world.recipient().decode(&digest).unwrap();
    assert_eq!(found, board.retrieved(&PERTINENT));
}

#[test]
fn parts_of_other_digests_are_refused() {
    let (board, world) = (board(), World::shared());
    let [first, second] = [0..2, 1..BATCHES].map(|batches| part(&board, batches));
    let overlap = merged(&[&first, &second]);
    assert!(matches!(overlap, Err(PartialError::Overlap(1))));
    let missing = world.detector.finish(&first).unwrap_err();
    let expected = "expected parts of all 5 batches, found none of batch 2";
    assert_eq!(missing.to_string(), expected);
    let missing = world.detector.finish(&second).unwrap_err();
    let DetectorError::Partial(PartialError::Missing { batch: 0, .. }) = missing else {
        panic!("{missing}")
    };

    // Parts of another seed, bound, and key.
    let (plan, detector) = (plan(), &world.detector);
    let other_plan = DigestPlan::new(tiny(), 0..MESSAGES, 7, Some(PAYLOAD_BYTES)).unwrap();
    let seeded = Wanted {
        seed: [8; SEED_BYTES],
        ..wanted(&plan)
    };
    let other = World::new(2);
    let stranger = &other.detector;
    for (detector, wanted, what) in [
        (detector, seeded, "seed"),
        (detector, wanted(&other_plan), "bound"),
        (stranger, wanted(&plan), "key"),
    ] {
        let made = partials(&[detector], &mut board.clone(), &wanted, 2..3, &Quiet);
        let other = made.unwrap().remove(0).partial;
        let mut own = first.clone();
        let error = own.merge(tiny(), &other).unwrap_err();
        assert!(
            matches!(error, PartialError::Other { what: found, .. } if found == what),
            "{error}"
        );
        assert_eq!(own.batches(), first.batches(), "nothing was added");
    }
    assert!(stranger.finish(&first).is_err());
    let key = |file: &[u8]| DetectionKey::read_final(tiny(), file);
    let keys = [&world.detection, &other.detection].map(|file| key(file).unwrap());
    for (key, expected) in keys.iter().zip(["batch 2", "key"]) {
        let refused = finish(tiny(), key, &first).err().unwrap();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[test]
fn of_a_damaged_key_no_part_is_read() {
    let file = &World::shared().detection;
    let read = |file: &[u8]| DetectionKey::read_final(tiny(), file).err().unwrap();
    for cut in [0, 50, file.len() / 2, file.len() - 1] {
        assert!(
            matches!(read(&file[..cut]), DetectionKeyError::Frame(_)),
            "{cut}"
        );
    }
    // Damage in a part that is skipped.
    let mut damaged = file.clone();
    damaged[file.len() / 3] ^= 1;
    let refused = read(&damaged);
    assert!(
        matches!(refused, DetectionKeyError::Frame(FrameError::Checksum(_))),
        "{refused}"
    );
}

#[test]
fn damaged_parts_are_refused() {
    let part = part(&board(), 0..1);
    let bytes = part.to_bytes(tiny()).unwrap();
    for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        let read = Partial::from_bytes(tiny(), &bytes[..cut]);
        assert!(matches!(read, Err(PartialError::Frame(_))), "{cut}");
    }
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    let read = Partial::from_bytes(tiny(), &damaged);
    assert!(matches!(
        read,
        Err(PartialError::Frame(FrameError::Checksum(_)))
    ));
}

/// Every batch adds the noise of its sums and of one packing. Twelve batches, a group of the published sets, stay far
/// from half a symbol, where a digest would be wrong.
#[test]
fn noise_of_twelve_batches_grows_as_predicted() {
    let world = World::shared();
    let mut board = Board::new(12 * SLOTS, PAYLOAD_BYTES);
    board.post(&world.clue_key, &PERTINENT);
    let mut roundings = |batches: u64| -> Vec<f64> {
        let out = world.digest(&mut board, 0..batches * SLOTS, 30, PAYLOAD_BYTES);
        world.recipient().roundings(&out.unwrap().digest).unwrap()
    };
    let [one, twelve] = [1, 12].map(&mut roundings);
    let variance = |noise: &[f64]| noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
    let fixed = FinalNoise::new(tiny());
    // Rounding a body is uniform; the rest of one batch's noise is that of its sums and its packing.
    let last = fixed.sd(0.0).powi(2) + fixed.body.powi(2) / 3.0;
    let (of_one, of_twelve) = (variance(&one), variance(&twelve));
    println!(
        "{:.4} and {:.4}, {:.4} of the last step",
        of_one.sqrt(),
        of_twelve.sqrt(),
        last.sqrt()
    );
    let own = (of_one - last).max(0.0);
    // Six standard deviations of a variance from as many samples.
    let spread = 1.0 + 6.0 * (2.0 / twelve.len() as f64).sqrt();
    let most = (last + 12.0 * own) * spread;
    assert!(of_twelve < most, "{of_twelve} of at most {most}");
    let worst = twelve.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    assert!(worst < 0.4, "{worst}");
}

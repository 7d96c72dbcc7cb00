//! Decoding yields the right answer, or an error with the reason.

use crate::world::{World, rng, tiny};
use omr_client::{DecodeError, Retrieved};
use omr_protocol::Mismatch;
use omr_protocol::sophomr::{BODY_BITS, Digest, DigestPlan, MASK_BITS};
use omr_protocol::{DigestHeader, PackedCiphertext, SEED_BYTES, Sealing};
use rand_core::Rng;

fn all_of(count: usize) -> Vec<u64> {
    (0..count as u64).collect()
}

#[test]
fn the_bound_is_reached_and_not_passed() {
    let world = World::shared();
    for (bound, pertinent) in [(1, 1), (4, 4), (16, 16), (17, 17), (70, 70)] {
        let mut board = world.board(100, &all_of(pertinent), 5);
        let digest = world.digest(&mut board, bound, true);
        let expected: Vec<Retrieved> = (0..pertinent as u64)
            .map(|index| Retrieved::new(index, Some(board.payload(index).to_vec()), None))
            .collect();
        assert_eq!(world.recipient().decode(&digest).unwrap(), expected);
    }
}

#[test]
fn overflow_has_the_true_count() {
    let world = World::shared();
    // One more than the bound, twice the bound, all messages, a whole batch.
    for (messages, pertinent, limit) in [
        (100, 2, 1),
        (100, 5, 4),
        (100, 8, 4),
        (100, 100, 4),
        (100, 34, 33),
        (2048, 2048, 50),
    ] {
        for payload in [false, true] {
            let mut board = world.board(messages, &all_of(pertinent), 5);
            let digest = world.digest(&mut board, limit, payload);
            let error = world.recipient().decode(&digest).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("at least {pertinent}")), "{text}");
            match error {
                DecodeError::Overflow {
                    start: 0,
                    end,
                    count,
                    bound,
                } => {
                    assert_eq!((end, count, bound), (messages as u64, pertinent, limit));
                }
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn nothing_pertinent_is_an_empty_answer() {
    let world = World::shared();
    for (messages, bound, payload) in [(1, 1, true), (30, 40, true), (30, 1, false)] {
        let mut board = world.board(messages, &[], 3);
        let digest = world.digest(&mut board, bound, payload);
        assert_eq!(world.recipient().decode(&digest).unwrap(), []);
    }
}

#[test]
fn a_digest_for_another_key() {
    let (world, other) = (World::shared(), World::new(2));
    let mut board = world.board(50, &[3, 4], 5);
    let mut digest = world.digest(&mut board, 8, true);
    match other.recipient().decode(&digest) {
        Err(DecodeError::OtherKey(Mismatch { expected, found })) => {
            assert_eq!(expected, other.secret.detection_id);
            assert_eq!(found, world.secret.detection_id);
        }
        wrong => panic!("{wrong:?}"),
    }
    // Copying the other name does not help.
    digest.header.key_id = other.secret.detection_id;
    assert!(other.recipient().decode(&digest).is_err());
}

/// Random masks and bodies with the right name, in several shapes, are refused or decode to nothing.
#[test]
fn noise_never_gives_payloads() {
    let world = World::shared();
    let mut rng = rng(20);
    let mut residues = |count: usize, bits: u32| -> Vec<u64> {
        (0..count).map(|_| rng.next_u64() >> (64 - bits)).collect()
    };
    for (bound, payload) in [
        (1, None),
        (2, None),
        (50, None),
        (1, Some(1)),
        (3, Some(40)),
    ] {
        for _ in 0..40 {
            let plan = DigestPlan::new(tiny(), 0..3000, bound, payload).unwrap();
            let together = tiny().final_shape.parts;
            let ciphertext = |first: usize| {
                let parts = first..(first + together).min(plan.parts());
                PackedCiphertext {
                    mask: residues(tiny().final_ring.n(), MASK_BITS),
                    parts: parts
                        .map(|part| residues(plan.part_len(part), BODY_BITS))
                        .collect(),
                }
            };
            let ciphertexts = (0..plan.parts())
                .step_by(together)
                .map(ciphertext)
                .collect();
            let header = DigestHeader {
                key_id: world.secret.detection_id,
                board_id: [0; 16],
                sealing: Sealing::None,
                plan,
                seed: [1; SEED_BYTES],
            };
            let digest = Digest {
                header,
                ciphertexts,
            };
            assert!(world.recipient().decode(&digest).is_err());
        }
    }
}

#[test]
fn constant_ciphertexts_decode_to_nothing_or_an_error() {
    let world = World::shared();
    let mut board = world.board(50, &[3, 4], 5);
    let good = world.digest(&mut board, 8, true);
    // Sums that round to zero are those of a detector that found nothing.
    let nothing = [(0, 0), (0, 1), (1, 0), ((1 << 29) - 1, (1 << 21) - 1)];
    for (mask, body) in nothing
        .into_iter()
        .chain([(0, 1 << 20), (0, 3), (1 << 20, 0)])
    {
        let mut digest = good.clone();
        for ct in &mut digest.ciphertexts {
            ct.mask.fill(mask);
            ct.parts.iter_mut().for_each(|part| part.fill(body));
        }
        let found = world.recipient().decode(&digest);
        if nothing.contains(&(mask, body)) {
            assert_eq!(found.unwrap(), [])
        } else {
            assert!(found.is_err(), "{mask} {body}: {found:?}")
        }
    }
}

#[test]
fn another_shape_is_refused() {
    let world = World::shared();
    let mut board = world.board(50, &[3, 4], 5);
    let good = world.digest(&mut board, 8, true);
    let decode = |edit: &dyn Fn(&mut Digest)| {
        let mut digest = good.clone();
        edit(&mut digest);
        match world.recipient().decode(&digest) {
            Err(DecodeError::Inconsistent(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let none = decode(&|digest| digest.ciphertexts.clear());
    assert_eq!(none, "expected 1 ciphertexts, found 0");
    let twice = decode(&|digest| digest.ciphertexts.push(digest.ciphertexts[0].clone()));
    assert_eq!(twice, "expected 1 ciphertexts, found 2");
    let mask = decode(&|digest| digest.ciphertexts[0].mask.truncate(50));
    assert_eq!(mask, "expected 64 mask coefficients, found 50");
    let parts = decode(&|digest| digest.ciphertexts[0].parts.clear());
    assert_eq!(parts, "expected 1 parts of a ciphertext, found 0");
    let more = decode(&|digest| digest.ciphertexts[0].parts.push(Vec::new()));
    assert_eq!(more, "expected 1 parts of a ciphertext, found 2");
    let body = decode(&|digest| digest.ciphertexts[0].parts[0].push(0));
    assert_eq!(body, "expected 56 body coefficients, found 57");
}

/// Payloads of 1 and 2 bytes have equal numbers of symbols: only the checksum distinguishes them.
#[test]
fn another_payload_size() {
    let world = World::shared();
    let mut board = world.board(50, &[3, 4], 2);
    let good = world.digest(&mut board, 8, true);
    let with_size = |bytes| {
        let mut digest = good.clone();
        digest.header.plan = DigestPlan::new(tiny(), 0..50, 8, bytes).unwrap();
        world.recipient().decode(&digest).unwrap_err()
    };
    assert!(matches!(with_size(Some(1)), DecodeError::Checksum(3)));
    for bytes in [None, Some(3), Some(200)] {
        assert!(matches!(with_size(bytes), DecodeError::Inconsistent(_)));
    }
}

/// A checksum binds a payload to its index: with another seed no message appears at another position.
#[test]
fn another_seed() {
    let world = World::shared();
    let mut board = world.board(2048, &[3, 4], 5);
    let good = world.digest(&mut board, 8, true);
    for seed in 0..100 {
        let mut digest = good.clone();
        digest.header.seed = [seed; SEED_BYTES];
        match world.recipient().decode(&digest) {
            Ok(_) => assert_eq!(digest, good),
            Err(error) => assert!(matches!(error, DecodeError::Checksum(_)), "{error}"),
        }
    }
}

#[test]
fn messages_past_the_end_of_the_range() {
    let world = World::shared();
    let mut board = world.board(50, &[3, 40], 2);
    let mut digest = world.digest(&mut board, 8, true);
    digest.header.plan = DigestPlan::new(tiny(), 0..40, 8, Some(2)).unwrap();
    match world.recipient().decode(&digest) {
        Err(DecodeError::Inconsistent(text)) => {
            assert!(
                text.contains("expected 2 distinct nodes, found 1"),
                "{text}"
            )
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_index_there_is() {
    let world = World::shared();
    let mut board = world.board(50, &[0, 49], 2);
    let mut digest = world.digest(&mut board, 8, false);
    digest.header.plan = DigestPlan::new(tiny(), u64::MAX - 50..u64::MAX, 8, None).unwrap();
    let found = world.recipient().decode(&digest).unwrap();
    let indices: Vec<u64> = found.iter().map(|message| message.index).collect();
    assert_eq!(indices, [u64::MAX - 50, u64::MAX - 1]);
}

/// Parts of several groups share masks. They are written by hand with masks of zero, so that a body is its sum for
/// any secret.
#[test]
fn groups_share_masks() {
    let world = World::shared();
    let p = tiny().p();
    let group = (tiny().slots() * tiny().nodes.batches()) as u64;
    for groups in 1..=3 {
        let range = 10..10 + (groups - 1) * group + 5;
        let plan = DigestPlan::new(tiny(), range, 3, None).unwrap();
        assert_eq!(plan.parts() as u64, groups);
        let part = |part: u64| -> Vec<u64> {
            // All are in the first batch of the group: messages `part` and 4.
            let batch = plan.group(part as usize).start;
            let seed = [0; omr_protocol::SEED_BYTES];
            let placement = omr_protocol::Placement::new(&seed, batch, tiny().slots());
            let slots = [part as usize, 4].map(|i| placement.slots()[i] as usize);
            let power = |slot, e| p.pow(tiny().nodes.node(0, slot).into(), e);
            let sum = |e| p.add(power(slots[0], e), power(slots[1], e));
            let sums = (0..3).flat_map(|e| [sum(e), sum(e + 1)]);
            sums.map(|sum| ((sum << BODY_BITS) + p.value() / 2) / p.value())
                .collect()
        };
        let parts: Vec<Vec<u64>> = (0..groups).map(part).collect();
        let ciphertext = |parts: &[Vec<u64>]| PackedCiphertext {
            mask: vec![0; tiny().final_ring.n()],
            parts: parts.to_vec(),
        };
        let ciphertexts = parts.chunks(tiny().final_shape.parts).map(ciphertext);
        let header = DigestHeader {
            key_id: world.secret.detection_id,
            board_id: [0; 16],
            sealing: Sealing::None,
            seed: [0; omr_protocol::SEED_BYTES],
            plan,
        };
        let digest = Digest {
            header,
            ciphertexts: ciphertexts.collect(),
        };
        let bytes = digest.to_bytes(tiny()).unwrap();
        let digest = Digest::from_bytes(tiny(), &bytes).unwrap();
        let found = world.recipient().decode(&digest).unwrap();
        let indices: Vec<u64> = found.iter().map(|message| message.index).collect();
        let expected = (0..groups).flat_map(|i| [10 + i * group + i, 10 + i * group + 4]);
        assert_eq!(indices, expected.collect::<Vec<_>>());
    }
}

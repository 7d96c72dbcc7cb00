//! Compares the front ends of LWE clues with the decision in the clear, with insecure tiny parameters: at the
//! edges of the window, and for strangers.

use chacha20::ChaCha20Rng;
use omr_bgv::{Ciphertext, Decryptor};
use omr_client::Sender;
use omr_detector::Quiet;
use omr_papers::clear::{
    Circuit, Detection, LweKind, LweParams, LweSpec, PaperClue, PaperParams, PaperScheme, PaperSet,
    Params, Spec,
};
use omr_papers::client::{
    LweSecret, LweSender, detection_key_with_large_secret, identity, ring_keys,
};
use omr_papers::detector::{ClueBatch, PaperDetector};
use omr_protocol::params::{ClueSpec, Posting};
use omr_protocol::sophomr::RingsSpec;
use omr_protocol::{Clue, ClueKind, Placement};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// Returns a clue with these distances that is otherwise uniform.
fn at(params: &LweParams, secret: &LweSecret, distances: &[i64], rng: &mut ChaCha20Rng) -> Clue {
    let (spec, residues) = (params.spec(), params.residues());
    let mut a = vec![0; spec.n];
    residues.fill(rng, &mut a);
    let mut clue = Clue {
        a,
        b: vec![0; spec.coordinates],
    };
    let found = secret.distances(params, &clue);
    clue.b = found
        .iter()
        .zip(distances)
        .map(|(found, wanted)| residues.reduce_signed(wanted - found))
        .collect();
    clue
}

/// Returns distances near the edges of the window, in every coordinate.
fn edges(params: &LweParams) -> Vec<Vec<i64>> {
    let (r, l) = (i64::from(params.spec().range), params.spec().coordinates);
    let mut all = vec![vec![0; l], vec![r; l], vec![-r; l]];
    for coordinate in 0..l {
        for d in [r, -r, r + 1, -r - 1, r / 2, i64::from(params.spec().q / 2)] {
            let mut distances = vec![0; l];
            distances[coordinate] = d;
            all.push(distances);
        }
    }
    all
}

/// Returns the tiny set of a scheme, with its clue changed.
fn tiny(scheme: PaperScheme, change: impl Fn(&mut LweSpec)) -> PaperSet {
    let mut sets = PaperSet::tiny().into_iter();
    let mut set = sets.find(|set| set.scheme == scheme).unwrap();
    if let PaperClue::Lwe { spec, .. } = &mut set.clue {
        change(spec);
    }
    set
}

/// Checks one batch of clues at the edges, senders' and strangers' clues, and forged ones.
fn check(detection: &Detection) {
    let set_params = Arc::new(detection.params().unwrap());
    let (params, lwe) = (&set_params.params, set_params.lwe.as_ref().unwrap());
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (secret, address) = identity(lwe, &mut rng);
    let sender = LweSender::new(lwe, &address);
    let n = params.slots();
    let edges = edges(lwe);
    let clues: Vec<Clue> = (0..n - 9)
        .map(|i| match i {
            0..50 => sender.gen_clue(&mut rng),
            50..1000 => at(lwe, &secret, &edges[i % edges.len()], &mut rng),
            1000 => Clue {
                a: vec![0; lwe.spec().n],
                b: vec![lwe.offset(); lwe.spec().coordinates],
            },
            _ => {
                let mut b = vec![0; lwe.spec().coordinates];
                lwe.residues().fill(&mut rng, &mut b);
                let mut clue = at(lwe, &secret, &[], &mut rng);
                clue.b = b;
                clue
            }
        })
        .collect();
    let bytes: Vec<u8> = clues
        .iter()
        .flat_map(|clue| lwe.clue_to_bytes(clue))
        .collect();
    let placement = Placement::new(&[6; 32], 0, n);
    let batch = set_params.batch(&placement, bytes, lwe.clue_bytes());
    let refused = clues.iter().filter(|clue| lwe.check_clue(clue).is_err());
    assert_eq!(batch.unusable(), refused.count());
    assert!(batch.unusable() >= 1);

    let (key, large) = detection_key_with_large_secret(&set_params, &secret, &mut rng);
    assert_eq!(key.secrets.len(), params.circuit().secrets);
    let detector = PaperDetector::new(set_params.clone(), key);
    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &large,
    };
    let decrypt = |ct: &Ciphertext| decryptor.decrypt(ct);
    let steps = detector.baby_steps(&Quiet).unwrap();
    let d = detector.affine(&steps, &batch, &Quiet).unwrap();
    let found: Vec<Vec<u32>> = d.iter().map(decrypt).collect();
    let pertinent = decrypt(&detector.range_check(&d, &Quiet).unwrap());
    let usable = |slot: usize| clues.get(placement.messages()[slot] as usize);
    let usable = |slot| usable(slot).filter(|clue| lwe.check_clue(clue).is_ok());
    let integers = matches!(lwe.spec().kind, LweKind::Integers { .. });
    let mut counts = [0; 2];
    for slot in 0..n {
        let Some(clue) = usable(slot) else {
            assert_eq!(pertinent[slot], 0, "no clue in slot {slot}");
            continue;
        };
        for (found, &expected) in found.iter().zip(&secret.distances(lwe, clue)) {
            assert_eq!(u64::from(found[slot]), params.p().from_i64(expected));
            let inside = lwe.accepts(&[expected]);
            assert_eq!(set_params.test.accepts(params.p(), expected), inside);
            if integers {
                assert!(expected.abs() <= lwe.spec().largest_distance());
            }
        }
        let expected = u32::from(secret.is_pertinent(lwe, clue));
        assert_eq!(pertinent[slot], expected, "slot {slot}");
        counts[expected as usize] += 1;
    }
    assert!(counts[1] >= 150 && counts[0] >= 1000, "{counts:?}");
}

#[test]
fn pvw() {
    check(&tiny(PaperScheme::Omr2p, |_| ()).detection());
}

#[test]
fn lwemongrass() {
    check(&tiny(PaperScheme::DosPerfomr, |_| ()).detection());
}

#[test]
fn integers() {
    check(&tiny(PaperScheme::Perfomr2, |_| ()).detection());
}

/// A pair with one power, and one alone.
#[test]
fn three_coordinates() {
    let set = tiny(PaperScheme::DosPerfomr, |spec| spec.coordinates = 3);
    check(&set.detection());
}

/// OMR's polynomial on all of `Z_p` decides, as in published sets.
#[test]
fn residues_by_one_polynomial() {
    let set = tiny(PaperScheme::Omr2p, |spec| {
        (spec.q, spec.range, spec.coordinates) = (65_537, 850, 4);
    });
    let tiny = set.detection();
    let clue = ClueSpec {
        q: 65_537,
        posting: Posting::Whole,
        ..tiny.spec.clue.clone()
    };
    check(&Detection {
        whole: true,
        spec: Spec {
            rings: RingsSpec {
                p: 65_537,
                block: 128,
                ..tiny.spec.rings.clone()
            },
            clue,
            ..tiny.spec
        },
        ..tiny
    });
}

/// The rotation keys have digits of three primes, two and one.
#[test]
fn small_digits() {
    let few = tiny(PaperScheme::Omr2p, |_| ()).detection();
    for rotation_digits in [8, 13, 26] {
        check(&Detection {
            spec: Spec {
                rings: RingsSpec {
                    rotation_digits,
                    ..few.spec.rings.clone()
                },
                ..few.spec.clone()
            },
            ..few.clone()
        });
    }
}

/// SophOMR's affine transform equals inner products in the clear, with noise below the predicted one.
#[test]
fn clues_of_the_ring() {
    let params = Arc::new(Params::named(Spec::TINY_SOPHOMR).unwrap());
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let keys = ring_keys(&params, ClueKind::Plain, &mut rng);
    let (mine, p) = (Sender::new(&params.clue, &keys.clue), params.p());
    let (width, slots) = (params.spec().clue.n, params.slots());
    let clues: Vec<Clue> = (0..slots - 3)
        .map(|i| match i % 3 {
            0 => mine.gen_clue(&mut rng),
            _ => Clue {
                a: (0..width)
                    .map(|_| (rng.next_u64() % p.value()) as u32)
                    .collect(),
                b: (0..2)
                    .map(|_| (rng.next_u64() % p.value()) as u32)
                    .collect(),
            },
        })
        .collect();
    let bytes = clues.iter().flat_map(|clue| clue.to_bytes(&params.clue));
    let placement = Placement::new(&[6; 32], 0, slots);
    let batch = ClueBatch::new(
        &params,
        &placement,
        bytes.collect(),
        Clue::bytes(&params.clue),
    );
    assert_eq!(batch.unusable(), 0);
    let set_params = PaperParams::of_ring(params.clone());
    let detector = PaperDetector::new(Arc::new(set_params), keys.detection);
    let steps = detector.baby_steps(&Quiet).unwrap();
    let distances = detector.affine(&steps, &batch, &Quiet).unwrap();
    let pertinent = detector.range_check(&distances, &Quiet).unwrap();
    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &keys.large,
    };
    let secret = keys.secret.clue_secret().coeffs();
    let range = params.spec().rings.range as i64;
    let found: Vec<Vec<u32>> = distances.iter().map(|ct| decryptor.decrypt(ct)).collect();
    let decided = decryptor.decrypt(&pertinent);
    let mut inside = 0;
    for slot in 0..slots {
        let Some(clue) = clues.get(placement.messages()[slot] as usize) else {
            assert_eq!(decided[slot], 0);
            continue;
        };
        let mut both = true;
        for (coordinate, found) in found.iter().enumerate() {
            // Coefficient `coordinate` of a s in the ring of clues.
            let term = |(k, &a): (usize, &u32)| {
                let from = (width + coordinate - k) % width;
                let sign = if k > coordinate { -1 } else { 1 };
                i64::from(a) * secret[from] * sign
            };
            let product: i64 = clue.a.iter().enumerate().map(term).sum();
            let distance = p.from_i64(i64::from(clue.b[coordinate]) - product);
            assert_eq!(
                u64::from(found[slot]),
                distance,
                "slot {slot}, coordinate {coordinate}"
            );
            both &= p.to_centered(distance).abs() <= range;
        }
        assert_eq!(decided[slot], u32::from(both), "slot {slot}");
        inside += usize::from(both);
    }
    assert!(inside >= clues.len() / 3, "{inside}");
    let expected = Circuit::sophomr(params.spec()).unwrap();
    assert_eq!(*params.circuit(), expected);
}

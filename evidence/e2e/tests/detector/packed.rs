//! A set whose clues are packed and opened in slots, from its key's file to the digest.

use chacha20::ChaCha20Rng;
use omr_bgv::{Ciphertext, Decryptor, Evaluator, encrypt_symmetric};
use omr_client::sophomr::{Keys, Recipient, keygen, keygen_in_epoch};
use omr_client::{BoundSender, ClueSeed, Sender};
use omr_detector::sophomr::{Detector, digests};
use omr_detector::{Messages, Quiet};
use omr_protocol::params::{SOPHOMR, SetSpec};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Epoch, Outline, Params, ParamsSpec};
use omr_protocol::{ClueKey, ClueKind, SEED_BYTES, Sealing};
use omr_ring::rms_embedding;
use omr_rlwe::{MaskSeed, Secret, SwitchingKey};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

pub(crate) const BOARD: [u8; 16] = [4; 16];
pub(crate) const PAYLOAD: usize = 12;
/// The number of messages, which is more than a batch.
pub(crate) const MESSAGES: u64 = 2500;

/// The tiny set whose clues are halved and opened.
pub(crate) fn tiny() -> Arc<Params> {
    Params::named("insecure-tiny-v4").unwrap()
}

/// The number of recipients with the masks of one epoch.
pub(crate) const TOGETHER: usize = 3;
/// The messages of the first recipient: in both batches, at their ends.
pub(crate) const OWN: [u64; 6] = [0, 1, 2047, 2048, 2300, MESSAGES - 1];

pub(crate) fn payload(i: u64) -> Vec<u8> {
    [i.to_le_bytes(), (!i).to_le_bytes()].concat()[..PAYLOAD].to_vec()
}

/// Returns the recipient of a message: each recipient has every few hundredth, the first one [`OWN`], a stranger the
/// rest.
fn recipient_of(message: u64) -> Option<usize> {
    if OWN.contains(&message) {
        Some(0)
    } else {
        (1..=TOGETHER).find(|&i| message % 700 == 11 * i as u64)
    }
}

/// Returns recipients with the masks of one epoch, then one with separate masks.
pub(crate) fn recipients(params: &Params, clues: ClueKind, rng: &mut ChaCha20Rng) -> Vec<Keys> {
    let epoch = Epoch {
        board: BOARD,
        number: 7,
    };
    let together = (0..TOGETHER).map(|_| keygen_in_epoch(params, clues, &epoch, rng));
    let mut keys: Vec<Keys> = together.collect();
    keys.push(keygen(params, clues, rng));
    keys
}

pub(crate) fn board(
    params: &Params,
    addresses: &[&ClueKey],
    clues: ClueKind,
    rng: &mut ChaCha20Rng,
) -> Messages {
    let stranger = keygen(params, clues, rng).clue;
    let (mut posted, mut payloads) = (Vec::new(), Vec::new());
    for i in 0..MESSAGES {
        let to = recipient_of(i).map_or(&stranger, |recipient| addresses[recipient]);
        posted.extend(match clues {
            ClueKind::Plain => Sender::new(&params.clue, to)
                .gen_clue(rng)
                .to_bytes(&params.clue),
            ClueKind::Bound => BoundSender::new(&params.clue, to, BOARD)
                .clue(&ClueSeed::generate(rng), &payload(i))
                .to_bytes(&params.clue),
        });
        payloads.extend(payload(i));
    }
    let clue_bytes = posted.len() / MESSAGES as usize;
    posted[3 * clue_bytes] = 9; // a clue that does not parse
    Messages::new(0..MESSAGES, posted, payloads).unwrap()
}

/// Returns the file of a key.
pub(crate) fn file_of(params: &Params, key: &DetectionKey) -> Vec<u8> {
    let mut file = Vec::new();
    key.write(params, &mut file).unwrap();
    file
}

/// Writes a key and reads it again.
pub(crate) fn through_file(params: &Params, key: &DetectionKey) -> DetectionKey {
    let (file, clues) = (file_of(params, key), key.clues());
    assert_eq!(file.len() as u64, key.file_bytes(params));
    let predicted = Outline::new(params.spec().clone())
        .unwrap()
        .detection_key_bytes(clues);
    assert_eq!(predicted, DetectionKey::body_bytes(params, clues));
    let read = DetectionKey::read(params, &file[..]).unwrap();
    assert_eq!(
        (read.clues(), read.seed, read.masks),
        (clues, key.seed, key.masks)
    );
    read
}

fn digested(clues: ClueKind) {
    let params = tiny();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let keys = recipients(&params, clues, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = board(&params, &addresses, clues, &mut rng);
    let detector =
        |keys: &Keys| Detector::new(params.clone(), through_file(&params, &keys.detection));
    let detectors: Vec<Detector> = keys.iter().map(detector).collect();
    assert!(detectors[0].is_served_with(&detectors[TOGETHER - 1]));
    assert!(!detectors[0].is_served_with(&detectors[TOGETHER]));
    let share_masks = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|i| detectors[i].key().step.switching_key());
        a.shares_masks_with(b)
    };
    assert!(share_masks(0, TOGETHER - 1) && !share_masks(0, TOGETHER));

    let plan = DigestPlan::new(&params, 0..MESSAGES, 9, Some(PAYLOAD)).unwrap();
    let seed = [3; SEED_BYTES];
    let all: Vec<&Detector> = detectors.iter().collect();
    let outputs = digests(&all, &mut board, &plan, BOARD, Sealing::None, seed, &Quiet).unwrap();
    let alone = detectors[1]
        .digest(&mut board, &plan, BOARD, Sealing::None, seed, &Quiet)
        .unwrap();
    // A digest does not depend on the recipients that are served with it.
    let bytes = |digest: &Digest| digest.to_bytes(&params).unwrap();
    assert_eq!(bytes(&alone.digest), bytes(&outputs[1].digest));
    for (recipient, (out, keys)) in outputs.iter().zip(&keys).enumerate() {
        assert_eq!(out.unusable_clues, 1);
        let found: Vec<_> = Recipient::new(params.recipient(), &keys.secret)
            .decode(&out.digest)
            .unwrap()
            .into_iter()
            .map(|m| (m.index, m.payload))
            .collect();
        let own = (0..MESSAGES).filter(|&i| recipient_of(i) == Some(recipient));
        let expected: Vec<_> = own.map(|i| (i, Some(payload(i)))).collect();
        assert_eq!(found, expected, "recipient {recipient}");
    }
}

#[test]
fn plain_clues_are_packed() {
    digested(ClueKind::Plain);
}

#[test]
fn bound_clues_are_packed() {
    digested(ClueKind::Bound);
}

/// At each lower level, with primes dropped and primes added, slots stay and noise is at the floor, with the
/// relinearisation key itself and with those derived from it.
#[test]
fn every_level_is_reached_from_every_other() {
    let params = tiny();
    let (ring, p, chain) = (&params.ring, params.p(), &params.chain);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let weight = params.spec().weight;
    let secret = Secret::fixed_weight(&mut rng, ring.n(), weight, params.spec().embedding_bound);
    let shape = &params.product_shape;
    let poly = secret.poly(ring, &shape.extended());
    let square = poly.product(ring, &poly);
    let key = SwitchingKey::generate(
        ring,
        shape,
        &square,
        &poly,
        p.value(),
        MaskSeed::new(&[8; 32], 0),
        &mut rng,
    );
    let ev = Evaluator {
        ring,
        plain: &params.plain,
        chain,
        stop: None,
    };
    let decryptor = Decryptor {
        ring,
        plain: &params.plain,
        secret: &secret,
    };
    let floor = params.spec().noise_model().floor();
    let slots: Vec<u32> = (0..ring.n())
        .map(|_| (rng.next_u64() % p.value()) as u32)
        .collect();
    let expect = |ct: &Ciphertext, slots: &[u32]| {
        assert!(decryptor.decrypt(ct) == slots, "level {}", ct.level());
        let noise = rms_embedding(&decryptor.noise(ct)).log2();
        assert!(noise < floor + 0.2, "level {}: {noise}", ct.level());
    };
    let first = chain.basis(1);
    let fresh = secret.poly(ring, first);
    let top = encrypt_symmetric(
        ring,
        &params.plain,
        chain,
        1,
        &fresh,
        &slots,
        MaskSeed::new(&[7; 32], 0),
        &mut rng,
    );
    let squares: Vec<u32> = slots
        .iter()
        .map(|&x| p.mul(u64::from(x), u64::from(x)) as u32)
        .collect();
    let all = |key: &SwitchingKey| {
        for level in 2..chain.len() {
            let ct = ev.at_level(&top, level).unwrap();
            expect(&ct, &slots);
            for below in level + 1..chain.len() {
                expect(&ev.at_level_from_floor(&ct, below).unwrap(), &slots);
                let product = ev.tensor(&ct, &ct).unwrap();
                expect(&ev.relinearise(&product, key, below).unwrap(), &squares);
            }
        }
    };
    all(&key);
    all(&key.with_lowered(ring, &params.lowered_shapes, p));
}

/// With this window misses are as rare as sets require, and rarer with each larger window.
#[test]
fn misses_of_packed_clues_are_rare() {
    let spec = SetSpec::named(SOPHOMR).unwrap().sophomr.unwrap();
    let own = spec.range;
    let missed = |range| {
        ParamsSpec {
            range,
            ..spec.clone()
        }
        .miss_log2()
    };
    let found: Vec<f64> = (own - 2..own + 3).map(missed).collect();
    assert!(found[2] < -30.0 && found[1] > -30.0, "{found:?}");
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
}

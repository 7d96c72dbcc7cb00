//! Other recipients' detection keys, and keys that were damaged on purpose, yield digests of noise, never payloads.

use crate::world::{Board, World, tiny};
use omr_client::DecodeError;
use omr_detector::Quiet;
use omr_detector::sophomr::Detector;
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameHeader, Kind, write_frame_vec};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan};
use omr_protocol::{SEED_BYTES, Sealing};

/// Digests a board for the shared recipient with any key.
fn digest(key: DetectionKey) -> Digest {
    let mut board = Board::new(60, 6);
    board.post(&World::shared().clue_key, &[1, 30]);
    let plan = DigestPlan::new(tiny(), 0..60, 5, Some(6)).unwrap();
    let detector = Detector::new(tiny().clone(), key);
    detector
        .digest(
            &mut board,
            &plan,
            [0; 16],
            Sealing::None,
            [2; SEED_BYTES],
            &Quiet,
        )
        .unwrap()
        .digest
}

#[test]
fn the_key_of_another_recipient() {
    let (world, other) = (World::shared(), World::new(2));
    let key = || DetectionKey::read(tiny(), &other.detection[..]).unwrap();
    match world.recipient().decode(&digest(key())) {
        Err(DecodeError::OtherKey(Mismatch { expected, found })) => {
            assert_eq!(expected, world.secret.detection_id);
            assert_eq!(found, other.secret.detection_id);
        }
        wrong => panic!("{wrong:?}"),
    }
    // Nothing is pertinent to the key's owner.
    assert_eq!(other.recipient().decode(&digest(key())).unwrap(), []);
    let mut renamed = key();
    renamed.id = world.secret.detection_id;
    assert!(world.recipient().decode(&digest(renamed)).is_err());
}

/// If one residue is replaced in each of many places and checksums are corrected, the key is well-formed.
#[test]
fn a_damaged_key_gives_no_wrong_payload() {
    let world = World::shared();
    let header = FrameHeader::new(Kind::DetectionKey, tiny().name(), world.secret.detection_id);
    let start = header.file_len(0) as usize - 32;
    let good = &world.detection[start..world.detection.len() - 32];
    let right = world
        .recipient()
        .decode(&digest(read(&write_frame_vec(&header, good).unwrap())))
        .unwrap();
    assert_eq!(right.len(), 2);
    let mut refused = 0;
    for place in (0..12).map(|i| 32 + i * (good.len() - 32) / 12 + 7) {
        let mut body = good.to_vec();
        // Zero is always reduced.
        body[place..place + 16].fill(0);
        let key = read(&write_frame_vec(&header, &body).unwrap());
        match world.recipient().decode(&digest(key)) {
            Ok(found) => assert_eq!(found, right, "byte {place}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 6, "{refused} of 12");
}

fn read(bytes: &[u8]) -> DetectionKey {
    DetectionKey::read(tiny(), bytes).unwrap()
}

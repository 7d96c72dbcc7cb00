//! Digests with one changed coefficient and corrected checksums.

use crate::world::{Board, World, tiny};
use omr_client::Retrieved;
use omr_protocol::sophomr::{BODY_BITS, Digest, MASK_BITS};

const PERTINENT: [u64; 4] = [2, 17, 18, 49];

fn decode(digest: &Digest) -> Option<Vec<Retrieved>> {
    let bytes = digest.to_bytes(tiny()).unwrap();
    let digest = Digest::from_bytes(tiny(), &bytes).unwrap();
    World::shared().recipient().decode(&digest).ok()
}

fn expected(board: &Board, payload: bool) -> Vec<Retrieved> {
    let retrieved =
        |&index: &u64| Retrieved::new(index, payload.then(|| board.payload(index).to_vec()), None);
    PERTINENT.iter().map(retrieved).collect()
}

/// Adds whole symbols and flips bits, in one body coefficient after another.
fn body_changes(digest: &Digest) -> Vec<Digest> {
    let step = |delta: u64| (delta << BODY_BITS).div_ceil(tiny().p().value());
    let mask = (1 << BODY_BITS) - 1;
    let mut out = Vec::new();
    for (i, ct) in digest.ciphertexts.iter().enumerate() {
        for (part, k) in places(&ct.parts) {
            let mut change = |value: u64| {
                let mut bad = digest.clone();
                bad.ciphertexts[i].parts[part][k] = value & mask;
                out.push(bad);
            };
            let old = ct.parts[part][k];
            [1, 2, 1000, 786_432]
                .iter()
                .for_each(|&delta| change(old + step(delta)));
            (0..BODY_BITS).for_each(|bit| change(old ^ 1 << bit));
        }
    }
    out
}

fn places(parts: &[Vec<u64>]) -> impl Iterator<Item = (usize, usize)> {
    let lens: Vec<usize> = parts.iter().map(Vec::len).collect();
    let of_part = |(part, len)| (0..len).map(move |k| (part, k));
    lens.into_iter().enumerate().flat_map(of_part)
}

fn mask_changes(digest: &Digest) -> Vec<Digest> {
    let mut out = Vec::new();
    for k in 0..digest.ciphertexts[0].mask.len() {
        for bit in (0..MASK_BITS).step_by(7) {
            let mut bad = digest.clone();
            bad.ciphertexts[0].mask[k] ^= 1 << bit;
            out.push(bad);
        }
    }
    out
}

/// Below the bound every sum is checked by others, so the result is an error, or the right answer if the change
/// rounds away.
#[test]
fn an_error_or_exactly_the_right_answer() {
    let world = World::shared();
    for (bound, payload) in [(6, true), (20, true), (6, false), (20, false)] {
        let mut board = world.board(50, &PERTINENT, 7);
        let digest = world.digest(&mut board, bound, payload);
        let right = expected(&board, payload);
        assert_eq!(decode(&digest).unwrap(), right);
        let (mut same, mut refused) = (0, 0);
        for bad in body_changes(&digest)
            .into_iter()
            .chain(mask_changes(&digest))
        {
            match decode(&bad) {
                Some(found) => {
                    assert_eq!(found, right);
                    same += 1;
                }
                None => refused += 1,
            }
        }
        assert!(
            same > 0 && refused > same,
            "{same} unchanged, {refused} refused"
        );
    }
}

/// With as many messages as the bound no index sum is redundant: a change may move a message, but every returned
/// payload was posted.
#[test]
fn no_wrong_payload_at_the_bound() {
    let world = World::shared();
    for pertinent in [&PERTINENT[..], &PERTINENT[..2], &PERTINENT[..1]] {
        let mut board = world.board(50, pertinent, 7);
        let digest = world.digest(&mut board, pertinent.len(), true);
        let posted: Vec<&[u8]> = pertinent
            .iter()
            .map(|&index| board.payload(index))
            .collect();
        for bad in body_changes(&digest)
            .into_iter()
            .chain(mask_changes(&digest))
        {
            for message in decode(&bad).into_iter().flatten() {
                let payload = message.payload.unwrap();
                assert!(posted.contains(&&payload[..]), "message {}", message.index);
            }
        }
    }
}

//! Tests of files that are split into parts and reassembled, in any order and with losses.

use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;

use super::part::{Multi, chunk};
use super::*;
use omr_protocol::Mismatch;

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([5; 32])
}

fn reassemble(parts: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Incomplete>) {
    let mut all = Reassembler::new();
    parts.iter().for_each(|part| all.push(part).unwrap());
    let (complete, incomplete) = all.finish();
    let content = complete.into_iter().map(|whole| whole.bytes);
    (content.collect(), incomplete)
}

fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn files_round_trip(
        bytes in prop::collection::vec(any::<u8>(), 0..20_000),
        capacity in 28usize..2000,
        seed: [u8; 32],
    ) {
        let mut rng = ChaCha20Rng::from_seed(seed);
        match split(&bytes, capacity, &mut rng) {
            Ok(parts) => {
                prop_assert!(parts.iter().all(|part| part.len() == capacity));
                prop_assert_eq!(reassemble(&parts), (vec![bytes], vec![]));
            }
            Err(FragmentError::CapacityTooSmall { least, .. }) => {
                prop_assert!(least > capacity);
                prop_assert!(split(&bytes, least, &mut rng).is_ok());
                prop_assert!(split(&bytes, least - 1, &mut rng).is_err());
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn order_and_repetition_do_not_matter(
        files in prop::collection::vec(prop::collection::vec(any::<u8>(), 300..3000), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
    ) {
        let mut rng = rng();
        let all: Vec<_> =
            files.iter().flat_map(|file| split(file, 100, &mut rng).unwrap()).collect();
        let mut parts: Vec<_> = picks.iter().map(|pick| pick.get(&all).clone()).collect();
        parts.extend(all.into_iter().rev());
        let (mut complete, incomplete) = reassemble(&parts);
        let mut files = files;
        files.sort();
        complete.sort();
        prop_assert_eq!((complete, incomplete), (files, vec![]));
    }

    #[test]
    fn noise_never_panics(mut part in prop::collection::vec(any::<u8>(), 0..80), keep in 0usize..40) {
        let good = split(&noise(200), 80, &mut rng()).unwrap().remove(0);
        let keep = keep.min(part.len());
        part[..keep].copy_from_slice(&good[..keep]);
        let mut all = Reassembler::new();
        let taken = all.push(&part).is_ok();
        let (complete, incomplete) = all.finish();
        prop_assert_eq!(complete.len() + incomplete.len(), usize::from(taken));
    }
}

#[test]
fn the_longest_file_of_a_number_of_parts_is_exact() {
    let count = |len: u64, capacity| {
        let parts = split(&noise(len as usize), capacity, &mut rng());
        parts.map_or(u32::MAX, |parts| parts.len() as u32)
    };
    for capacity in [10, 27, 28, 40, 70, 100, 600] {
        for parts in [1, 2, 50, 127, 128, 130, 140, 240] {
            let most = most_bytes(parts, capacity);
            assert!(count(most, capacity) <= parts, "{parts} of {capacity}");
            assert!(count(most + 1, capacity) > parts, "{parts} of {capacity}");
        }
    }
}

#[test]
fn small_files_cost_one_or_two_bytes() {
    for (len, capacity) in [(0, 1), (63, 64), (64, 66), (610, 612)] {
        let parts = split(&noise(len), capacity, &mut rng()).unwrap();
        assert_eq!(parts.len(), 1, "{len}");
        assert_eq!(reassemble(&parts).0, [noise(len)]);
    }
    assert_eq!(split(&noise(611), 612, &mut rng()).unwrap().len(), 2);
}

#[test]
fn part_counts_change_width() {
    // The number 127 takes one byte, 128 takes two.
    let chunk = chunk(60, 127).unwrap();
    for (len, total) in [
        (127 * chunk, 127),
        (127 * chunk + 1, 136),
        (20_000 * chunk, 22_759),
    ] {
        let parts = split(&noise(len), 60, &mut rng()).unwrap();
        assert_eq!(parts.len(), total, "{len}");
        assert!(parts.iter().all(|part| part.len() == 60));
        assert_eq!(reassemble(&parts), (vec![noise(len)], vec![]));
    }
}

#[test]
fn errors_name_the_least_capacity() {
    let error = split(&noise(1000), 20, &mut rng()).unwrap_err();
    assert!(matches!(
        error,
        FragmentError::CapacityTooSmall {
            file: 1000,
            found: 20,
            ..
        }
    ));
    let error = split(&[], 0, &mut rng()).unwrap_err();
    assert_eq!(
        error,
        FragmentError::CapacityTooSmall {
            file: 0,
            least: 1,
            found: 0
        }
    );
}

#[test]
fn missing_parts_are_counted() {
    let parts = split(&noise(1000), 100, &mut rng()).unwrap();
    let (complete, incomplete) = reassemble(&parts[1..]);
    assert!(complete.is_empty());
    let total = parts.len() as u32;
    assert_eq!(incomplete.len(), 1);
    assert_eq!(
        (incomplete[0].have, incomplete[0].total),
        (total - 1, total)
    );
    assert_eq!(incomplete[0].missing, std::slice::from_ref(&(0..1)));
    let some: Vec<_> = [9, 2, 3, 7].map(|i| parts[i].clone()).into();
    let (_, incomplete) = reassemble(&some);
    assert_eq!(incomplete[0].missing, [0..2, 4..7, 8..9, 10..total]);
    for (index, part) in parts.iter().enumerate() {
        let found = place(part).unwrap().unwrap();
        assert_eq!((found.index as usize, found.total), (index, total));
        assert_eq!(found.id, incomplete[0].id);
    }
    let short = split(b"short", 100, &mut rng()).unwrap();
    assert_eq!(place(&short[0]), Ok(None));
}

/// The shape that is announced before a file is posted is the shape in which it is split.
#[test]
fn the_shape_of_a_file_is_known_beforehand() {
    for capacity in [1, 2, 29, 60, 128, 530] {
        for len in [0, 1, 57, 58, 59, 127, 128, 500, 5000] {
            let file = noise(len);
            match split(&file, capacity, &mut rng()) {
                Ok(parts) => {
                    let shape = shape(len as u64, capacity).unwrap();
                    assert_eq!(shape.parts as usize, parts.len());
                    assert_eq!(
                        shape.parts as usize,
                        len.div_ceil(shape.bytes.max(1)).max(1)
                    );
                }
                Err(error) => assert_eq!(shape(len as u64, capacity), Err(error)),
            }
        }
        let most = most_bytes(1, capacity);
        assert_eq!(shape(most, capacity).unwrap().parts, 1);
        assert_ne!(shape(most + 1, capacity).map(|s| s.parts), Ok(1));
        if let Ok(Shape { parts, bytes }) = shape(50 * capacity as u64, capacity) {
            assert!(parts < 128 && bytes == most_in_part(capacity));
        }
    }
    assert_eq!(most_in_part(27), 0);
}

/// Returns a part as a hostile sender could write it.
fn part(total: u32, index: u32, content: &[u8]) -> Vec<u8> {
    Multi {
        id: [1; 8],
        total,
        index,
        hash: [2; 16],
        content,
    }
    .write(100)
}

fn full() -> Vec<u8> {
    noise(chunk(100, 2).unwrap())
}

fn pushed(part: &[u8]) -> Result<(), FragmentError> {
    Reassembler::new().push(part)
}

#[test]
fn hostile_parts_are_refused() {
    use FragmentError as E;
    let full = full();
    assert_eq!(pushed(&part(2, 0, &full)), Ok(()));
    assert_eq!(
        pushed(&part(2, 2, &full)),
        Err(E::Index(Mismatch::new(2, 2)))
    );
    for found in [0, 1, MAX_PARTS + 1, u32::MAX] {
        let error = Err(E::Total(u64::from(found)));
        assert_eq!(pushed(&part(found, 0, &full)), error);
    }
    assert_eq!(
        pushed(&part(MAX_PARTS, 0, &noise(chunk(100, MAX_PARTS).unwrap()))),
        Ok(())
    );
    assert!(matches!(
        pushed(&part(2, 0, &full[1..])),
        Err(E::Length { .. })
    ));
    assert_eq!(pushed(&part(2, 1, &full[1..])), Ok(()));
    // After a first byte of 0, an id that does not begin with 0 is a mark.
    let mut empty = part(2, 1, &[]);
    empty[1] = 7;
    assert_eq!(pushed(&empty), Err(E::Version(7)));
    empty[1] = 0;
    assert!(matches!(pushed(&empty), Err(E::Length { least: 1, .. })));

    let mut padded = part(2, 1, b"x");
    *padded.last_mut().unwrap() = 1;
    assert_eq!(pushed(&padded), Err(E::Padding));
    assert_eq!(pushed(&[1, 0, 9]), Err(E::Padding));
    assert_eq!(pushed(&[0; 100]), Err(E::Total(0)));
    assert_eq!(
        pushed(&[5, 9]),
        Err(E::Length {
            least: 0,
            most: 1,
            found: 2
        })
    );
    assert_eq!(pushed(&[0x81, 0]), Err(E::Number));
    let found = u64::MAX >> 1;
    let huge = [&[0xff; 9][..], &[1; 30]].concat();
    assert_eq!(
        pushed(&huge),
        Err(E::Length {
            least: 0,
            most: 29,
            found
        })
    );
    assert_eq!(pushed(&[0xff; 30]), Err(E::Number));

    let good = part(2, 0, &full);
    for len in 0..good.len() {
        assert!(pushed(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn parts_that_disagree_are_refused() {
    use FragmentError as E;
    let (id, full) = ([1; 8], full());
    let mut all = Reassembler::new();
    all.push(&part(2, 0, &full)).unwrap();
    assert_eq!(all.push(&part(3, 0, &full)), Err(E::Inconsistent(id)));
    let other = vec![0; full.len()];
    assert_eq!(
        all.push(&part(2, 0, &other)),
        Err(E::Conflict { id, index: 0 })
    );
    let mut shorter = part(2, 1, b"x");
    shorter.pop();
    assert_eq!(all.push(&shorter), Err(E::Inconsistent(id)));
    assert_eq!(all.push(&part(2, 0, &full)), Ok(()));
    assert_eq!(all.push(&part(2, 1, b"x")), Err(E::Hash(id)));
    assert_eq!(
        all.finish(),
        (
            vec![],
            vec![Incomplete {
                id,
                have: 0,
                total: 2,
                missing: std::iter::once(0..2).collect(),
            }]
        )
    );
}

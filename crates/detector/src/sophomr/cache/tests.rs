//! Limits of the cache, and who gives way.

use super::*;

fn key(number: usize) -> BatchKey {
    BatchKey {
        params: "test",
        board_id: [1; 16],
        seed: [2; SEED_BYTES],
        number,
        bound: false,
        messages: 0..10,
    }
}

fn diagonals(limb: usize) -> PartKey {
    PartKey::Diagonals { giant: 0, limb }
}

/// Keeps a limb of `bytes` bytes; whether there was room.
fn keep(batch: &SharedBatch, limb: usize, bytes: usize) -> bool {
    let room = batch.room(diagonals(limb), bytes);
    let part = || Part::Diagonals(Arc::new(Buffer::zeroed(bytes / 8)));
    room.map(|room| room.fill(part())).is_some()
}

#[test]
fn the_batch_unused_for_longest_makes_room() {
    let cache = BoardCache::new(100);
    for number in [0, 1] {
        let batch = cache.batch(key(number)).unwrap();
        assert!(keep(&batch, 0, 24) && keep(&batch, 1, 24));
    }
    let first = cache.batch(key(0)).unwrap();
    let third = cache.batch(key(2)).unwrap();
    assert!(keep(&third, 0, 40));
    assert_eq!(cache.bytes(), 88);
    assert!((0..2).all(|limb| first.diagonals(0, limb).is_some()));
    let second = cache.batch(key(1)).unwrap();
    assert!((0..2).all(|limb| second.diagonals(0, limb).is_none()));
    // Part by part: the batch used before gives no more than is needed.
    assert!(keep(&third, 1, 32));
    let left = (0..2).filter(|&limb| first.diagonals(0, limb).is_some());
    assert_eq!((left.count(), cache.bytes()), (1, 96));
}

#[test]
fn parts_in_use_and_the_batch_itself_stay() {
    let cache = BoardCache::new(100);
    let first = cache.batch(key(0)).unwrap();
    assert!(keep(&first, 0, 80));
    assert!(!keep(&first, 1, 24), "its own parts make no room");
    let used = first.diagonals(0, 0);
    let second = cache.batch(key(1)).unwrap();
    assert!(!keep(&second, 0, 24));
    drop(used);
    assert!(keep(&second, 0, 24));
    assert!(first.diagonals(0, 0).is_none());
    assert!(!keep(&second, 1, 104), "larger than the cache");
    assert!(!keep(&second, 0, 8), "there already");
    assert_eq!(cache.bytes(), 24);
}

#[test]
fn room_that_is_not_filled_is_given_back() {
    let cache = BoardCache::new(100);
    let batch = cache.batch(key(0)).unwrap();
    let room = batch.room(diagonals(0), 100);
    assert_eq!(cache.bytes(), 100);
    // Another digest makes the same part.
    assert!(batch.room(diagonals(0), 8).is_none());
    drop(room);
    assert_eq!(cache.bytes(), 0);
    assert!(BoardCache::new(0).batch(key(0)).is_none());
}

#[test]
fn a_range_keeps_its_seed() {
    let (cache, off) = (BoardCache::new(1), BoardCache::new(0));
    let seed = |cache: &BoardCache, end, drawn| cache.seed([1; 16], 0..end, || [drawn; SEED_BYTES]);
    assert_eq!((seed(&cache, 5, 1)[0], seed(&cache, 6, 2)[0]), (1, 2));
    assert_eq!(seed(&cache, 5, 3)[0], 1);
    assert_eq!((seed(&off, 5, 1)[0], seed(&off, 5, 3)[0]), (1, 3));
    for end in 0..SEEDS as u64 {
        seed(&cache, 10 + end, 4);
    }
    assert_eq!(seed(&cache, 5, 5)[0], 5);
}

//! Crashes at every write and sync: an acknowledged append survives, and none is read in part.

use super::{check_content, config, create, messages, open};
use crate::tests::disk::Disk;

/// The sizes of the appends of one run: within a chunk, across chunks, and single messages.
const APPENDS: [u64; 7] = [3, 1, 12, 1, 1, 7, 4];

/// Runs the appends until the disk crashes. Returns the number of messages acknowledged, and the number with the
/// interrupted append.
fn run(disk: &Disk) -> (u64, u64) {
    let config = config();
    let Ok(board) = open(disk) else {
        return (0, 0);
    };
    for count in APPENDS {
        let start = board.len();
        if board
            .append(&messages(&config, start..start + count))
            .is_err()
        {
            return (start, start + count);
        }
    }
    (board.len(), board.len())
}

/// Returns a new board, and the number of operations of a whole run on it.
fn fresh() -> (Vec<u8>, u64) {
    let disk = Disk::default();
    drop(create(&disk, &config()).unwrap());
    let bytes = disk.bytes();
    let whole = Disk::from_bytes(bytes.clone());
    assert_eq!(run(&whole), (29, 29));
    (bytes, whole.operations())
}

/// Crashes at every operation, and keeps the pending writes for which `keep` returns a number.
fn crash_everywhere(mut keep: impl FnMut(u64) -> Option<u8>) {
    let (bytes, operations) = fresh();
    assert!(operations > 50, "{operations} operations");
    let mut unacknowledged = 0;
    for at in 0..operations {
        let disk = Disk::from_bytes(bytes.clone());
        disk.crash_at(at);
        let (acknowledged, attempted) = run(&disk);
        assert!(disk.crashed());
        let survivor = disk.after_crash(&mut || keep(at));
        let board = open(&survivor).unwrap_or_else(|error| panic!("crash at {at}: {error}"));
        let len = board.len();
        assert!(
            len == acknowledged || len == attempted,
            "crash at {at}: {len} messages"
        );
        unacknowledged += u64::from(len > acknowledged);
        check_content(&board, &config()).unwrap();
        board.append(&messages(&config(), len..len + 9)).unwrap();
        check_content(&board, &config()).unwrap();
        assert!(
            board.verify(&mut |_, _| {}).unwrap().is_sound(),
            "crash at {at}"
        );
    }
    // This happens only after a crash between the switch of the root and its acknowledgement.
    assert!(unacknowledged <= 4 * APPENDS.len() as u64);
}

#[test]
fn only_synced_writes_survive() {
    crash_everywhere(|_| None);
}

#[test]
fn all_writes_survive() {
    crash_everywhere(|_| Some(u8::MAX));
}

#[test]
fn a_random_subset_of_writes_survives() {
    for seed in 1..=4 {
        let mut word = seed;
        crash_everywhere(|_| {
            word = next(word);
            ((word >> 40) & 1 == 1).then_some(u8::MAX)
        });
    }
}

#[test]
fn torn_writes_survive() {
    for seed in 5..=7 {
        let mut word = seed;
        crash_everywhere(|_| {
            word = next(word);
            ((word >> 40) & 3 != 0).then_some((word >> 48) as u8)
        });
    }
}

fn next(word: u64) -> u64 {
    word.wrapping_mul(0x5851_F42D_4C95_7F2D)
        .wrapping_add(0x1405_7B7E_F767_814F)
}

#[test]
fn a_crash_during_creation_leaves_an_error_or_an_empty_board() {
    let config = config();
    let whole = Disk::default();
    drop(create(&whole, &config).unwrap());
    for at in 0..whole.operations() {
        let disk = Disk::default();
        disk.crash_at(at);
        let _ = create(&disk, &config);
        let survivor = disk.after_crash(&mut || None);
        if let Ok(board) = open(&survivor) {
            assert_eq!((board.len(), board.config()), (0, &config));
        }
    }
}

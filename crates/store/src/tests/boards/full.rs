//! A disk without space: the error is clear, old content stays intact, and appends succeed once there is space.

use super::{check_content, config, create, messages, open};
use crate::StoreError;
use crate::tests::disk::{Disk, Kind};

/// Fills the disk at every operation of an append. Returns the number of failed appends that turned out to be written.
fn fill_everywhere(kind: Option<Kind>) -> u64 {
    let config = config();
    let base = Disk::default();
    let board = create(&base, &config).unwrap();
    board.append(&messages(&config, 0..7)).unwrap();
    drop(board);
    let whole = Disk::from_bytes(base.bytes());
    let board = open(&whole).unwrap();
    let opened = whole.operations();
    // The file has to grow for this number.
    board.append(&messages(&config, 7..300)).unwrap();
    let end = whole.operations();
    drop(board);

    let (mut failures, mut unseen) = (0, 0);
    for at in opened..end {
        let disk = Disk::from_bytes(base.bytes());
        let board = open(&disk).unwrap();
        disk.fill(at, kind);
        let landed = match board.append(&messages(&config, 7..300)) {
            Err(StoreError::DiskFull(_)) => false,
            // No operation of this kind was left, or the append turned out to be written.
            Ok(std::ops::Range { start: 7, end: 300 }) => true,
            other => panic!("full at {at}: {other:?}"),
        };
        failures += u64::from(!landed);
        disk.free();
        let mut start = if landed { 300 } else { 7 };
        assert_eq!(board.len(), start, "full at {at}");
        let mut appended = board.append(&messages(&config, start..start + 5));
        if let Err(StoreError::Unacknowledged { start: 7, end: 300 }) = appended {
            assert!(!landed && board.len() == 300, "full at {at}");
            start = 300;
            unseen += 1;
            appended = board.append(&messages(&config, start..start + 5));
        }
        assert_eq!(appended.unwrap(), start..start + 5, "full at {at}");
        drop(board);
        let board = open(&disk).unwrap();
        assert_eq!(board.len(), start + 5, "full at {at}");
        check_content(&board, &config).unwrap();
    }
    assert!(failures > 0);
    unseen
}

#[test]
fn nothing_works_when_full() {
    assert!(fill_everywhere(None) > 0);
}

#[test]
fn writes_fail_when_full() {
    fill_everywhere(Some(Kind::Write));
}

#[test]
fn growing_fails_when_full() {
    fill_everywhere(Some(Kind::SetLen));
}

#[test]
fn syncs_fail_when_full() {
    fill_everywhere(Some(Kind::Sync));
}

#[test]
fn the_reason_stays_visible() {
    let disk = Disk::default();
    let config = config();
    let board = create(&disk, &config).unwrap();
    board.append(&messages(&config, 0..2)).unwrap();
    disk.fill(0, None);
    for _ in 0..3 {
        let error = board.append(&messages(&config, 2..4)).unwrap_err();
        assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
        assert!(error.to_string().contains("free some space"));
    }
    disk.free();
    assert_eq!(board.append(&messages(&config, 2..4)).unwrap(), 2..4);
    check_content(&board, &config).unwrap();
}

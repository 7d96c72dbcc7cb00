//! What is timed beside a peer works.

use omr_bench::InstantUnits;

#[test]
fn messages_are_told_apart() {
    let mut units = InstantUnits::new(21).unwrap();
    let pertinent = [true, false, false, true];
    let clues: Vec<_> = pertinent.iter().map(|&it| units.clue(it)).collect();
    let found = units.detect(&clues);
    let found: Vec<i64> = found.iter().map(|ct| units.decrypt(ct)).collect();
    assert_eq!(found, pertinent.map(i64::from));
}

//! Comparison of the memory of a set's tables with its prediction.
#![cfg(target_os = "linux")]

use omr_detector::memory::table_bytes;
use omr_memory::Memory;
use omr_protocol::ParamSet;

// This is a single test, because memory of tests that run at the same time would count.
#[test]
fn tables_take_what_is_predicted() {
    let set = ParamSet::named("sophomr-v5").unwrap();
    let predicted = table_bytes(set.spec()).unwrap();
    let before = Memory::now().used.unwrap();
    set.sophomr().unwrap();
    let taken = Memory::now().used.unwrap() - before;
    println!("{predicted} bytes predicted, {taken} taken");
    // Tables of the inverse transform are made with the first inverse transform.
    assert!((predicted / 2..predicted).contains(&taken));
}

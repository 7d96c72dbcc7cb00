//! The memory that a set's tables take, compared with what is predicted before they are made.
#![cfg(target_os = "linux")]

use omr_detector::memory::table_bytes;
use omr_memory::Memory;
use omr_protocol::ParamSet;

// One test: what others take at the same time would count.
#[test]
fn tables_take_what_is_predicted() {
    let set = ParamSet::named("sophomr-v5").unwrap();
    let predicted = table_bytes(set.spec()).unwrap();
    let before = Memory::now().used.unwrap();
    set.sophomr().unwrap();
    let taken = Memory::now().used.unwrap() - before;
    println!("{predicted} bytes predicted, {taken} taken");
    // Those of one direction are made with the first transform back.
    assert!((predicted / 2..predicted).contains(&taken));
}

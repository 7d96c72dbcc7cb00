//! The example that shows every party's part runs as documented.
#![forbid(unsafe_code)]

#[path = "../examples/retrieval.rs"]
mod retrieval;

#[test]
fn the_example_finds_the_recipients_letter_alone() {
    retrieval::main().unwrap();
}

//! The example that shows every party's part does what it says.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "its `main` is for the command line")]
#[path = "../examples/retrieval.rs"]
mod example;

#[test]
fn the_example_finds_her_letters_alone() {
    let dir = std::env::temp_dir().join(format!("omr-example-{}", std::process::id()));
    let found = example::run("insecure-tiny-v2", &dir);
    std::fs::remove_dir_all(&dir).unwrap();
    let expected = [
        ("letter.txt".to_owned(), b"hello".to_vec()),
        ("long.bin".to_owned(), vec![9; 2000]),
    ];
    assert_eq!(found.unwrap(), expected);
}

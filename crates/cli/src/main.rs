//! The omr command.
fn main() {}

//! Times the row operations of every back end this CPU runs.
fn main() {}

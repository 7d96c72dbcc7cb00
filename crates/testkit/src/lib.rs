//! Real transactions and helpers for tests, demos and benches.

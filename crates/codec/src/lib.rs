//! Sparse-recovery codes in the clear: power sums, Newton, root finding, Vandermonde.

//! The leveled SIMD evaluator: BGV in residue number form.

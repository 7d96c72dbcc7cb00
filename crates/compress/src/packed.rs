//! Ciphertexts of a digest, and the shape that they must have.

use omr_errors::Mismatch;

/// A ciphertext of a digest, rounded to few bits: several bodies on one mask, under as many secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedCiphertext {
    /// The mask, with as many coefficients as the ring's dimension.
    pub mask: Vec<u64>,
    /// For each part the coefficients that hold sums, in the order of
    /// [`SumsShape::kept`](crate::SumsShape::kept): coefficient i of a part of r components is coefficient `i / r`
    /// under secret `i % r` of it. InstantOMR has an order of its own.
    pub parts: Vec<Vec<u64>>,
}

/// A digest whose ciphertexts are not of the expected shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackedError {
    /// The number of ciphertexts.
    #[error("expected {} ciphertexts, found {}", .0.expected, .0.found)]
    Ciphertexts(Mismatch<usize>),
    /// The length of a mask.
    #[error("expected {} mask coefficients, found {}", .0.expected, .0.found)]
    Mask(Mismatch<usize>),
    /// The number of parts of one ciphertext.
    #[error("expected {} parts of a ciphertext, found {}", .0.expected, .0.found)]
    Parts(Mismatch<usize>),
    /// The length of a body.
    #[error("expected {} body coefficients, found {}", .0.expected, .0.found)]
    Body(Mismatch<usize>),
}

/// How many parts a digest has, and how they lie in its ciphertexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedShape {
    /// Coefficients of a mask: the dimension of the ring of digests.
    pub dimension: usize,
    /// Parts of a ciphertext. The last one has those that are left.
    pub together: usize,
    /// Parts of all ciphertexts.
    pub parts: usize,
}

impl PackedShape {
    /// Tests that ciphertexts have this shape, and that part `i` of the digest has `kept(i)` coefficients.
    ///
    /// Errors: the first number that differs, in the order of the ciphertexts.
    pub fn check(
        self,
        ciphertexts: &[PackedCiphertext],
        kept: impl Fn(usize) -> usize,
    ) -> Result<(), PackedError> {
        use PackedError::{Body, Ciphertexts, Mask, Parts};
        let expected = self.parts.div_ceil(self.together);
        check(Ciphertexts, expected, ciphertexts.len())?;
        for (i, ct) in ciphertexts.iter().enumerate() {
            let first = i * self.together;
            check(Mask, self.dimension, ct.mask.len())?;
            check(Parts, self.together.min(self.parts - first), ct.parts.len())?;
            for (part, body) in (first..).zip(&ct.parts) {
                check(Body, kept(part), body.len())?;
            }
        }
        Ok(())
    }
}

fn check(
    error: impl Fn(Mismatch<usize>) -> PackedError,
    expected: usize,
    found: usize,
) -> Result<(), PackedError> {
    if expected == found {
        Ok(())
    } else {
        Err(error(Mismatch::new(expected, found)))
    }
}

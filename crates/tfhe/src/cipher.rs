//! Ciphertexts of the ring that accumulators live in.

use crate::lwe::transposed;
use crate::{Lwe, RotationRing};
use omr_ring::{AlignedVec, Modulus};
use omr_rlwe::SecretPoly;

/// A ciphertext of a [`RotationRing`]: `body + mask z` is message plus noise. Coefficients.
#[derive(Clone, Debug)]
pub struct RingCipher {
    /// The body.
    pub body: AlignedVec,
    /// The mask.
    pub mask: AlignedVec,
}

impl RingCipher {
    /// A message in the clear.
    pub fn trivial(message: &[u64]) -> Self {
        let mut body = AlignedVec::zeroed(message.len());
        body.copy_from_slice(message);
        Self {
            body,
            mask: AlignedVec::zeroed(message.len()),
        }
    }

    /// The ring ciphertext whose coefficient 0 is `ct`; its other coefficients are arbitrary, and a
    /// trace clears them. Undoes [`Lwe::extract`].
    pub fn embed(m: &Modulus, ct: &Lwe) -> Self {
        let n = ct.mask.len();
        let mut out = Self::trivial(&vec![0; n]);
        out.body[0] = ct.body;
        out.mask.copy_from_slice(&transposed(m, &ct.mask));
        out
    }
}

/// Message plus noise, as coefficients in `(-q/2, q/2)`.
pub fn phase(ring: &RotationRing, ct: &RingCipher, secret: &SecretPoly) -> Vec<i64> {
    let (k, m) = (ring.kernels(), ring.modulus(0));
    let mut sum = ct.mask.clone();
    k.ntt_forward(ring.table(0), &mut sum);
    k.mul_assign(m, &mut sum, secret.row(0));
    k.ntt_inverse(ring.table(0), &mut sum);
    k.add_assign(m, &mut sum, &ct.body);
    sum.iter().map(|&x| m.to_centered(x)).collect()
}

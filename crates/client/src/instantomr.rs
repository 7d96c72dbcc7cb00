//! InstantOMR's part of a client: keys for the detector, and decoding.

mod keygen;

pub use keygen::{detection_key, write_detection_key};

use crate::SecretKey;
use crate::decode::{check_clues, in_order};
use crate::{DecodeError, Fingerprint, Retrieved};
use omr_compress::{PackedShape, nearest};
use omr_protocol::Mismatch;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::instantomr::{
    Code, Decoded, INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantDigest, InstantParams,
    SUMS_MODULUS, SumsError,
};
use omr_protocol::{ClueKind, PackedCiphertext};
use omr_ring::{Coeff, Eval, Poly};
use omr_rlwe::SecretPoly;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroize;

/// A recipient with a secret that is prepared for decoding InstantOMR's digests.
pub struct InstantRecipient {
    params: Arc<InstantParams>,
    key_id: [u8; 16],
    clues: ClueKind,
    digest: Vec<SecretPoly>,
}

impl InstantRecipient {
    /// Prepares a secret key.
    pub fn new(params: &Arc<InstantParams>, secret: &SecretKey) -> Self {
        let bodies = params.spec().bodies;
        Self {
            params: params.clone(),
            key_id: secret.instant_id(),
            clues: secret.clues(),
            digest: secret.digest.instant_polys(&params.ring, bodies),
        }
    }

    /// Returns the recipient's pertinent messages in the digest's range, in the order of the board.
    ///
    /// Time:   until results are built, that of `bound` messages in every group and of all messages of the range.
    /// Errors: `OtherKey`; `Clues`; `Overflow`; `Inconsistent`; `Checksum`.
    pub fn decode(&self, digest: &InstantDigest) -> Result<Vec<Retrieved>, DecodeError> {
        let (expected, found) = (self.key_id, digest.header.key_id);
        if expected != found {
            return Err(DecodeError::OtherKey(Mismatch::new(expected, found)));
        }
        let plan = &digest.header.plan;
        check_clues(self.clues, plan.payload_bytes(), plan.has_fingerprints())?;
        let sum = |phase| nearest(phase, SUMS_MODULUS.into(), INSTANT_MASK_BITS) as u8;
        let parts: Vec<Vec<u8>> = self
            .phases(digest)?
            .into_iter()
            .map(|part| part.into_iter().map(sum).collect())
            .collect();
        let groups = parts.chunks(plan.parts_of_group()).enumerate();
        in_order(
            groups
                .map(|(group, sums)| self.group(digest, group, &sums.concat()))
                .collect(),
        )
    }

    /// Returns the distance of each sum from an integer, for measurements of noise: 0 is exact, 0.5 is wrong.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    #[cfg(feature = "measure")]
    pub fn roundings(&self, digest: &InstantDigest) -> Result<Vec<f64>, DecodeError> {
        let turn = (1u64 << INSTANT_MASK_BITS) as f64;
        let distance = |phase: u64| {
            let x = phase as f64 * f64::from(SUMS_MODULUS) / turn;
            x - x.round()
        };
        Ok(self
            .phases(digest)?
            .into_iter()
            .flatten()
            .map(distance)
            .collect())
    }

    /// Returns `body + mask * secret` modulo `2^INSTANT_MASK_BITS`, part by part: the sums with their noise.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    fn phases(&self, digest: &InstantDigest) -> Result<Vec<Vec<u64>>, DecodeError> {
        let plan = &digest.header.plan;
        let shape = PackedShape {
            dimension: self.params.ring.n(),
            together: self.params.spec().bodies,
            parts: plan.parts(),
        };
        shape.check(&digest.ciphertexts, |part| plan.part_len(part))?;
        let mut out = Vec::with_capacity(plan.parts());
        for ct in &digest.ciphertexts {
            let mask = self.mask(ct);
            for (secret, body) in self.digest.iter().zip(&ct.parts) {
                out.push(self.part(&mask, secret, body));
            }
        }
        Ok(out)
    }

    fn mask(&self, ct: &PackedCiphertext) -> Poly<Eval> {
        let ring = &self.params.ring;
        let mask = Poly::<Coeff>::from_rows(ring.n(), &ring.everything(), ct.mask.clone());
        ring.forward(mask)
    }

    fn part(&self, mask: &Poly<Eval>, secret: &SecretPoly, body: &[u64]) -> Vec<u64> {
        let ring = &self.params.ring;
        let m = ring.modulus(0);
        let mut transformed = mask.clone();
        ring.mul_assign(&mut transformed, secret);
        let mut product = ring.inverse(transformed);
        let value = |(&x, &coefficient): (&u64, &u64)| {
            // |mask * secret| < n 2^15: exact modulo the prime.
            let centered = m.to_centered(x) as u64;
            let scaled = coefficient << (INSTANT_MASK_BITS - INSTANT_BODY_BITS);
            centered.wrapping_add(scaled) & ((1 << INSTANT_MASK_BITS) - 1)
        };
        let out = product.row(0).iter().zip(body).map(value).collect();
        product.zeroize();
        out
    }

    fn group(
        &self,
        digest: &InstantDigest,
        group: usize,
        sums: &[u8],
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let plan = &digest.header.plan;
        let messages = plan.group(group);
        let code = Code::new(plan, &digest.header.seed, group);
        let found = code
            .decode(plan, messages.clone(), sums)
            .map_err(|error| match error {
                SumsError::Decode(cause) => failed(messages.clone(), cause),
                SumsError::Codec(cause) => cause.into(),
                SumsError::Checksum(index) => DecodeError::Checksum(index),
                other => DecodeError::Inconsistent(other.to_string()),
            })?;
        let key = plan
            .has_fingerprints()
            .then(|| FingerprintKey::new(&digest.header.seed));
        let retrieved = |(index, content): Decoded| {
            let (payload, value) = content.unzip();
            let fingerprint = key.zip(value);
            Retrieved::new(
                index,
                payload,
                fingerprint.map(|(key, value)| Fingerprint { key, value }),
            )
        };
        Ok(found.into_iter().map(retrieved).collect())
    }
}

/// Returns the error of decoding sums of these messages.
fn failed(messages: Range<u64>, error: omr_codec::DecodeError) -> DecodeError {
    let Range { start, end } = messages;
    match error {
        omr_codec::DecodeError::Overflow { count, bound } => DecodeError::Overflow {
            start,
            end,
            count,
            bound,
        },
        other => DecodeError::Inconsistent(format!("messages {start}..{end}: {other}")),
    }
}

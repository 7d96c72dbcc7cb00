//! InstantOMR: the detector's key, and decoding.

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

/// A recipient: her secret, ready to decode InstantOMR's digests.
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

    /// Her pertinent messages in the digest's range, in the order of the board.
    ///
    /// Time:   until what was found is put into the result, that of `bound` messages in every group and of all messages of
    ///         the range.
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
        let groups = groups.map(|(group, parts)| self.group(digest, group, &parts.concat()));
        in_order(groups.collect())
    }

    /// How far each sum lies from a whole number: 0 is exact, 0.5 is wrong. For measuring noise.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
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

    /// `body + mask * secret` modulo `2^INSTANT_MASK_BITS`, part by part: the sums with their noise.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
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
        let mut product = mask.clone();
        ring.mul_assign(&mut product, secret);
        let mut product = ring.inverse(product);
        let value = |(&x, &body): (&u64, &u64)| {
            // |mask * secret| < n 2^15: exact modulo the prime.
            let product = m.to_centered(x) as u64;
            let body = body << (INSTANT_MASK_BITS - INSTANT_BODY_BITS);
            product.wrapping_add(body) & ((1 << INSTANT_MASK_BITS) - 1)
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
        let failed = |error| failed(messages.clone(), error);
        let code = Code::new(plan, &digest.header.seed, group);
        let found = code.decode(plan, messages.clone(), sums);
        let found = found.map_err(|error| match error {
            SumsError::Decode(error) => failed(error),
            SumsError::Codec(error) => error.into(),
            SumsError::Checksum(index) => DecodeError::Checksum(index),
            other => DecodeError::Inconsistent(other.to_string()),
        })?;
        let key = plan
            .has_fingerprints()
            .then(|| FingerprintKey::new(&digest.header.seed));
        let retrieved = |(index, payload): Decoded| {
            let (payload, value) = payload.unzip();
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

/// The error of sums of these messages that do not decode.
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

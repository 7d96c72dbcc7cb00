//! A recipient of SophOMR's digests.

use crate::decode::{check_clues, in_order};
use crate::digest_secret::DigestSecret;
use crate::{DecodeError, Fingerprint, Retrieved, SecretKey};
use omr_codec::{Field, Solver, Support, Symbols, Unexplained};
use omr_compress::Phases;
use omr_marks::published;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::sophomr::{Digest, INDEX_SYMBOLS, RecipientParams, checksum, packing};
use omr_protocol::{ClueKind, Mismatch};
use std::sync::Arc;

/// A recipient with a secret that is prepared for decoding SophOMR's digests.
pub struct Recipient {
    params: Arc<RecipientParams>,
    key_id: [u8; 16],
    clues: ClueKind,
    phases: Phases,
}

impl Recipient {
    /// Prepares a secret key.
    pub fn new(params: &Arc<RecipientParams>, secret: &SecretKey) -> Self {
        Self {
            params: params.clone(),
            key_id: secret.detection_id,
            clues: secret.clues(),
            phases: phases(params, &secret.digest),
        }
    }

    /// Returns the recipient's pertinent messages in the digest's range, in the order of the board.
    ///
    /// Time:   until results are built, that of `bound` messages in every group and of all messages of the range,
    /// whatever the number of pertinent messages and whether or not the digest decodes.
    /// Errors: `OtherKey`; `Clues`; `Overflow` with the exact number of messages; `Inconsistent`; `Checksum`.
    pub fn decode(&self, digest: &Digest) -> Result<Vec<Retrieved>, DecodeError> {
        let (expected, found) = (self.key_id, digest.header.key_id);
        if expected != found {
            return Err(DecodeError::OtherKey(Mismatch::new(expected, found)));
        }
        let plan = &digest.header.plan;
        check_clues(self.clues, plan.payload_bytes(), plan.has_fingerprints())?;
        let parts = self.decrypt(digest)?;
        let groups = parts.chunks(plan.parts() / plan.groups()).enumerate();
        let sums = plan.sums();
        in_order(
            groups
                .map(|(group, own)| self.group(digest, group, &sums.by_symbol(own)))
                .collect(),
        )
    }

    /// Returns the distance of each coefficient of a digest from a symbol, in steps of a symbol, for measurements of
    /// noise: 0 is exact, 0.5 is wrong.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    #[cfg(feature = "measure")]
    pub fn roundings(&self, digest: &Digest) -> Result<Vec<f64>, DecodeError> {
        let p = self.params.p().value() as f64;
        let distance = |value: u64| {
            let symbol = value as f64 * p / f64::from(omr_protocol::sophomr::MASK_BITS).exp2();
            symbol - symbol.round()
        };
        let phases = self.phases(digest)?;
        Ok(phases.into_iter().flatten().map(distance).collect())
    }

    /// Returns the largest of [`Self::roundings`] in absolute value.
    ///
    /// Errors: those of [`Self::roundings`].
    #[cfg(feature = "measure")]
    pub fn worst_rounding(&self, digest: &Digest) -> Result<f64, DecodeError> {
        let roundings = self.roundings(digest)?;
        Ok(roundings.into_iter().map(f64::abs).fold(0.0, f64::max))
    }

    /// Returns the symbols in the kept coefficients, part by part.
    fn decrypt(&self, digest: &Digest) -> Result<Vec<Vec<u32>>, DecodeError> {
        let symbols =
            |values: Vec<u64>| values.into_iter().map(|x| self.phases.symbol(x)).collect();
        Ok(self.phases(digest)?.into_iter().map(symbols).collect())
    }

    /// Returns `body + mask * secret` modulo `2^MASK_BITS` at the kept coefficients, part by part.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    fn phases(&self, digest: &Digest) -> Result<Vec<Vec<u64>>, DecodeError> {
        let plan = &digest.header.plan;
        Ok(self
            .phases
            .phases(plan.sums(), plan.groups(), &digest.ciphertexts)?)
    }

    fn group(
        &self,
        digest: &Digest,
        group: usize,
        sums: &[Vec<u32>],
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let plan = &digest.header.plan;
        let batches = plan.group(group);
        let (start, end) = (
            plan.batch(batches.start).start,
            plan.batch(batches.end - 1).end,
        );
        let failed = |e: omr_codec::DecodeError| match e {
            omr_codec::DecodeError::Overflow { count, bound } => DecodeError::Overflow {
                start,
                end,
                count,
                bound,
            },
            other => DecodeError::Inconsistent(other.to_string()),
        };
        let [count, shifted] = [&sums[0], &sums[1]];
        let powers: Vec<u32> = count.iter().chain(shifted.last()).copied().collect();
        let support = self.support(digest, group, &powers).map_err(failed)?;
        let payloads = match plan.payload_bytes() {
            None => None,
            Some(bytes) => {
                let code = packing(self.params.p().value(), bytes, plan.has_fingerprints())?;
                let payloads = self.payloads(start, &support, &sums[INDEX_SYMBOLS..], &code);
                Some(payloads.map_err(failed)?)
            }
        };
        // From here on, time depends on what was found.
        if published(differ(&count[1..], &shifted[..shifted.len() - 1])) {
            return Err(DecodeError::Inconsistent(format!(
                "the two index sums of messages {start}..{end} differ; they count {} messages",
                count[0]
            )));
        }
        let found = support.count().map_err(failed)?;
        let messages = |label: &u32| start + u64::from(*label);
        let indices = support.labels()[..found].iter().map(messages);
        let Some(found_payloads) = payloads else {
            let retrieved = |index| Retrieved::new(index, None, None);
            return Ok(indices.map(retrieved).collect());
        };
        found_payloads.unexplained.check().map_err(failed)?;
        let key = plan
            .has_fingerprints()
            .then(|| FingerprintKey::new(&digest.header.seed));
        let retrieved = |(index, found): (u64, Checked)| {
            if !published(found.right) {
                return Err(DecodeError::Checksum(index));
            }
            let value = found.fingerprint;
            let fingerprint = key.map(|of_digest| Fingerprint {
                key: of_digest,
                value,
            });
            Ok(Retrieved::new(index, Some(found.payload), fingerprint))
        };
        indices.zip(found_payloads.checked).map(retrieved).collect()
    }

    /// Returns the pertinent messages of a group; labels count from its first message.
    fn support(
        &self,
        digest: &Digest,
        group: usize,
        powers: &[u32],
    ) -> Result<Support<Field>, omr_codec::DecodeError> {
        let plan = &digest.header.plan;
        let mut search = self.params.nodes.search(powers, plan.bound())?;
        for (nodes, batch) in plan.group(group).enumerate() {
            let messages = plan.batch(batch);
            let placement = digest.header.placement(&self.params, batch);
            let count = (messages.end - messages.start) as usize;
            search.batch(nodes, &placement.slots()[..count]);
        }
        Ok(search.finish())
    }

    /// Returns the payloads in all places of a support whose label 0 is message `start`.
    ///
    /// Errors: those of [`Solver::solve_into`].
    fn payloads(
        &self,
        start: u64,
        support: &Support<Field>,
        sums: &[Vec<u32>],
        code: &Symbols,
    ) -> Result<Payloads, omr_codec::DecodeError> {
        let places = support.labels().len();
        let solver = Solver::new(support.field(), support.nodes(), places);
        let mut unexplained = Unexplained::default();
        let mut rows = vec![Vec::with_capacity(sums.len()); places];
        let mut column = vec![0; places];
        for rhs in sums {
            unexplained = unexplained.or(solver.solve_into(rhs, &mut column)?);
            let symbols = rows.iter_mut().zip(&column);
            symbols.for_each(|(row, &symbol)| row.push(symbol));
        }
        let checked = support.labels().iter().zip(rows).map(|(&label, row)| {
            let (body, sum) = row.split_at(code.count());
            let mut payload = vec![0; code.payload_bytes()];
            let unpacked = code.unpack_lossy_into(body, &mut payload);
            let (fingerprint, canonical) = unpacked.expect("symbols of one payload, below p");
            let right = checksum(start + u64::from(label), &payload, code);
            Checked {
                right: !differ(&right, sum) & canonical,
                fingerprint,
                payload,
            }
        });
        Ok(Payloads {
            checked: checked.collect(),
            unexplained,
        })
    }
}

/// The payloads in all places of a support, occupied or not.
struct Payloads {
    checked: Vec<Checked>,
    /// The first sum that no payloads explain.
    unexplained: Unexplained,
}

/// A payload and its fingerprint.
struct Checked {
    payload: Vec<u8>,
    fingerprint: u32,
    /// Whether the payload matches its checksum.
    right: bool,
}

/// Returns whether two rows of one length differ, after comparing all elements.
fn differ(a: &[u32], b: &[u32]) -> bool {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) != 0
}

/// Makes the decryption of a set's packed ciphertexts under the secrets of digests.
pub fn phases(params: &RecipientParams, digest: &DigestSecret) -> Phases {
    let bodies = params.final_shape.bodies();
    let secrets = digest.polys(&params.final_ring, bodies);
    Phases::new(params.last(), secrets)
}

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
use std::ops::Range;
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
        let solved: Vec<Result<Unrevealed, DecodeError>> = groups
            .map(|(group, own)| self.solve(digest, group, &sums.by_symbol(own)))
            .collect();
        in_order(solved.into_iter().map(|group| group?.reveal()).collect())
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

    /// Solves for the messages of a group, in all places of the bound.
    ///
    /// Errors: sums of another shape.
    fn solve(
        &self,
        digest: &Digest,
        group: usize,
        sums: &[Vec<u32>],
    ) -> Result<Unrevealed, DecodeError> {
        let plan = &digest.header.plan;
        let batches = plan.group(group);
        let messages = plan.batch(batches.start).start..plan.batch(batches.end - 1).end;
        let failed = |error| of_code(&messages, error);
        let [count, shifted] = [&sums[0], &sums[1]];
        let powers: Vec<u32> = count.iter().chain(shifted.last()).copied().collect();
        let support = self.support(digest, group, &powers).map_err(failed)?;
        let payloads = match plan.payload_bytes() {
            None => None,
            Some(bytes) => {
                let code = packing(self.params.p().value(), bytes, plan.has_fingerprints())?;
                let sums_of_payloads = &sums[INDEX_SYMBOLS..];
                let payloads = self.payloads(messages.start, &support, sums_of_payloads, &code);
                Some(payloads.map_err(failed)?)
            }
        };
        let key = plan.has_fingerprints();
        Ok(Unrevealed {
            contradicts: differ(&count[1..], &shifted[..shifted.len() - 1]),
            counted: count[0],
            key: key.then(|| FingerprintKey::new(&digest.header.seed)),
            messages,
            support,
            payloads,
        })
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

/// The messages of a group, in all places of the bound. Nothing that led here depends on how many there are.
struct Unrevealed {
    messages: Range<u64>,
    support: Support<Field>,
    payloads: Option<Payloads>,
    /// Whether the two sums of indices differ.
    contradicts: bool,
    /// The number of messages by the first sum.
    counted: u32,
    key: Option<FingerprintKey>,
}

impl Unrevealed {
    /// Returns the messages. The time of this function alone depends on what was found.
    ///
    /// Errors: `Overflow`; `Inconsistent`; `Checksum`.
    fn reveal(self) -> Result<Vec<Retrieved>, DecodeError> {
        let Range { start, end } = self.messages.clone();
        let failed = |error| of_code(&self.messages, error);
        if published(self.contradicts) {
            return Err(DecodeError::Inconsistent(format!(
                "the two index sums of messages {start}..{end} differ; they count {} messages",
                self.counted
            )));
        }
        let found = self.support.count().map_err(failed)?;
        let index = |label: &u32| start + u64::from(*label);
        let indices = self.support.labels()[..found].iter().map(index);
        let Some(payloads) = self.payloads else {
            let retrieved = |index| Retrieved::new(index, None, None);
            return Ok(indices.map(retrieved).collect());
        };
        payloads.unexplained.check().map_err(failed)?;
        let retrieved = |(index, found): (u64, Checked)| {
            if !published(found.right) {
                return Err(DecodeError::Checksum(index));
            }
            let value = found.fingerprint;
            let fingerprint = self.key.map(|key| Fingerprint { key, value });
            Ok(Retrieved::new(index, Some(found.payload), fingerprint))
        };
        indices.zip(payloads.checked).map(retrieved).collect()
    }
}

/// Returns the error of decoding a group that contains these messages.
fn of_code(messages: &Range<u64>, error: omr_codec::DecodeError) -> DecodeError {
    match error {
        omr_codec::DecodeError::Overflow { count, bound } => DecodeError::Overflow {
            start: messages.start,
            end: messages.end,
            count,
            bound,
        },
        other => DecodeError::Inconsistent(other.to_string()),
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

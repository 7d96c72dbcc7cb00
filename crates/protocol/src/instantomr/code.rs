//! InstantOMR's code: the values that a message adds to its group's sums, and decoding of the sums.

use super::InstantPlan;
use crate::SEED_BYTES;
use crate::digest::checksum_word;
use omr_codec::{
    CodecError, Cubic, CubicCode, CubicCounters, CubicElement, CubicRows, CubicSymbols,
    DecodeError, Support,
};
use omr_marks::published;
use omr_ring::Xof;
use rand_core::Rng;
use std::ops::Range;

/// Base-97 digits of a payload's checksum: 39 bits of BLAKE3.
const CHECKSUM_DIGITS: usize = 6;

/// Returns the number of sums for indices, and for payloads of `payload_bytes`.
///
/// Errors: `Bound`, `PayloadBytes`.
pub(super) fn sums_of(
    bound: usize,
    payload_bytes: Option<usize>,
    fingerprints: bool,
) -> Result<[usize; 2], CodecError> {
    let code = CubicCode::new(&[0; 32], bound)?;
    let of_payload = match payload_bytes {
        None => 0,
        Some(bytes) => {
            let symbols = cubic(bytes, fingerprints)?.count() + CHECKSUM_DIGITS / 3;
            code.payload_weights(symbols)
        }
    };
    Ok([code.index_weights(), of_payload])
}

/// The code of a group of messages, keyed by the digest's seed: power sums over GF(97^3) and an exact counter.
#[derive(Clone, Debug)]
pub struct Code(CubicCode);

/// A message found in sums: its index and, unless the digest has indices only, its payload and the fingerprint of its
/// clue (0 if the plan has no fingerprints).
pub type Decoded = (u64, Option<(Vec<u8>, u32)>);

impl Code {
    /// Makes the code of a group.
    pub fn new(plan: &InstantPlan, seed: &[u8; SEED_BYTES], group: usize) -> Self {
        let mut of_group = [0; 32];
        Xof::stream("omr instant code v1", seed, &[group as u64]).fill_bytes(&mut of_group);
        Self(CubicCode::new(&of_group, plan.bound()).expect("the plan's bound"))
    }

    /// Returns the values below 97 that message `index`, number `number` of the group, adds to the sums if it is
    /// pertinent. There are as many as the plan has sums, or fewer if the rest are 0. The clue's fingerprint is ignored
    /// unless the plan has fingerprints.
    ///
    /// Panics: if the payload does not have the plan's size, or the number is too large.
    pub fn weights(
        &self,
        plan: &InstantPlan,
        index: u64,
        number: u64,
        payload: &[u8],
        fingerprint: u32,
    ) -> Vec<u8> {
        let [index_sums, payload_sums] = plan.code_sums();
        let mut out = vec![0; index_sums + payload_sums];
        let (of_index, of_payload) = out.split_at_mut(index_sums);
        let with_payload = plan.payload_bytes().is_some();
        let fits = "the plan's payload size";
        let node = self.0.nodes().node(number);
        self.0.index_weights_into(node, of_index);
        if with_payload {
            let packing = cubic(payload.len(), plan.has_fingerprints()).expect(fits);
            let mut symbols = packing.pack_marked(payload, fingerprint).expect(fits);
            symbols.extend(elements(checksum(index, payload)));
            self.0.blind(number, &mut symbols);
            self.0.payload_weights_into(node, &symbols, of_payload);
        }
        out.resize(out.len() + CubicCounters::of_message(number), 0);
        out.push(1);
        out
    }

    /// Returns the messages of the group whose weights add up to `sums`, in their order.
    ///
    /// Shape:  as many sums as the plan has for the group.
    /// Time:   until messages are put into the result, it depends on the bound and on the number of all messages only.
    /// Errors: `Decode`, with the exact number of messages if they are too many; `Checksum`; `Codec`.
    pub fn decode(
        &self,
        plan: &InstantPlan,
        messages: Range<u64>,
        sums: &[u8],
    ) -> Result<Vec<Decoded>, SumsError> {
        let [index_sums, payload_sums] = plan.code_sums();
        let (of_index, rest) = sums.split_at(index_sums);
        let (of_payload, counters) = rest.split_at(payload_sums);
        let count = messages.end - messages.start;
        let total = CubicCounters::total(counters)?;
        let support = self.0.find_counted(of_index, total, count)?;
        let solved = match plan.payload_bytes() {
            None => None,
            Some(bytes) => {
                let packing = cubic(bytes, plan.has_fingerprints())?;
                let first = messages.start;
                Some(solve(&self.0, &support, first, &packing, of_payload)?)
            }
        };
        // From here on, time depends on what was found.
        let found = support.count()?;
        let labels = support.labels()[..found].iter();
        let indices = labels.map(|&label| messages.start + u64::from(label));
        let payloads = match solved {
            None => None,
            Some((payloads, rows)) => {
                rows.check()?;
                Some(payloads)
            }
        };
        with_payloads(indices, payloads)
    }
}

/// Payloads with their fingerprints, and whether each payload matches its checksum.
type Checked = Vec<((Vec<u8>, u32), bool)>;

/// Returns the payloads in all places of a support, occupied or not, and the rows by which the consistency of their
/// sums is checked.
fn solve(
    code: &CubicCode,
    support: &Support<Cubic>,
    first: u64,
    packing: &CubicSymbols,
    sums: &[u8],
) -> Result<(Checked, CubicRows), SumsError> {
    let count = packing.count() + CHECKSUM_DIGITS / 3;
    let checked = |(row, &label): (Vec<CubicElement>, &u32)| {
        let (body, sum) = row.split_at(packing.count());
        let mut payload = vec![0; packing.payload_bytes()];
        let unpacked = packing.unpack_lossy_into(body, &mut payload);
        let (mark, canonical) = unpacked.expect("symbols of one payload");
        let digits = checksum(first + u64::from(label), &payload);
        let found = sum.iter().flat_map(|x| x.coefficients());
        let difference = digits
            .iter()
            .zip(found)
            .fold(0, |all, (a, b)| all | (a ^ b));
        ((payload, mark), canonical & (difference == 0))
    };
    let mut solved = code.solver(support).solve(count, sums)?;
    let rows = std::mem::take(&mut solved.rows).into_iter();
    let payloads = rows.zip(support.labels()).map(checked).collect();
    Ok((payloads, solved))
}

/// Errors: `Checksum`.
fn with_payloads(
    indices: impl Iterator<Item = u64>,
    checked: Option<Checked>,
) -> Result<Vec<Decoded>, SumsError> {
    let Some(payloads) = checked else {
        return Ok(indices.map(|index| (index, None)).collect());
    };
    let message = |(index, (payload, right))| {
        // Public: only found messages are looked at, and the recipient acts on the result.
        if published(right) {
            Ok((index, Some(payload)))
        } else {
            Err(SumsError::Checksum(index))
        }
    };
    indices.zip(payloads).map(message).collect()
}

/// An error of decoding sums.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SumsError {
    /// The sums contradict each other, or hold too many messages.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The code does not exist for this shape.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The payload of this message does not match its checksum.
    #[error("the payload of message {0} does not match its checksum")]
    Checksum(u64),
}

/// Returns the packing of payloads in elements of the cubic field.
fn cubic(payload_bytes: usize, fingerprints: bool) -> Result<CubicSymbols, CodecError> {
    if fingerprints {
        CubicSymbols::marked(payload_bytes)
    } else {
        CubicSymbols::new(payload_bytes)
    }
}

/// Returns the checksum digits of message `index` with its payload.
fn checksum(index: u64, payload: &[u8]) -> [u8; CHECKSUM_DIGITS] {
    // Each division is by a constant, which compiles to a product: the time of hardware division would depend on the
    // payload.
    let mut rest = checksum_word(index, payload);
    std::array::from_fn(|_| {
        let digit = (rest % 97) as u8;
        rest /= 97;
        digit
    })
}

fn elements(digits: [u8; CHECKSUM_DIGITS]) -> impl Iterator<Item = CubicElement> {
    let triples = digits.as_chunks::<3>().0.to_vec();
    let element = |c| CubicElement::from_coefficients(c).expect("digits below 97");
    triples.into_iter().map(element)
}

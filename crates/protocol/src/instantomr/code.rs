//! What a message adds to a group's sums, and back.

use super::InstantPlan;
use crate::SEED_BYTES;
use crate::digest::checksum_word;
use crate::sophomr::packing;
use omr_codec::{
    BucketCode, CodecError, Cubic, CubicCode, CubicCounters, CubicElement, CubicRows, CubicSymbols,
    DecodeError, Support, Symbols,
};
use omr_marks::published;
use omr_ring::Xof;
use rand_core::Rng;
use std::ops::Range;

/// Base-97 digits that check a payload: 39 bits of BLAKE3.
const CHECKSUM_DIGITS: usize = 6;

/// How indices and payloads stand in the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Power sums over GF(97^3): the smaller digest.
    Powers,
    /// Buckets and random combinations (InstantOMR, sections 5.2.3 and 5.2.4).
    Buckets,
}

impl Encoding {
    /// Sums of the index, and of payloads of `payload_bytes`.
    ///
    /// Errors: `Bound`, `PayloadBytes`.
    pub(super) fn sums(
        self,
        bound: usize,
        payload_bytes: Option<usize>,
        fingerprints: bool,
    ) -> Result<[usize; 2], CodecError> {
        let seed = [0; 32];
        Ok(match (self, payload_bytes) {
            (Self::Powers, None) => [CubicCode::new(&seed, bound)?.index_weights(), 0],
            (Self::Powers, Some(bytes)) => {
                let code = CubicCode::new(&seed, bound)?;
                let symbols = cubic(bytes, fingerprints)?.count() + CHECKSUM_DIGITS / 3;
                [code.index_weights(), code.payload_weights(symbols)]
            }
            (Self::Buckets, None) => [BucketCode::new(&seed, bound)?.index_weights(), 0],
            (Self::Buckets, Some(bytes)) => {
                let code = BucketCode::new(&seed, bound)?;
                let digits = digits(bytes, fingerprints)?.count() + CHECKSUM_DIGITS;
                [code.index_weights(), code.payload_weights(digits)]
            }
        })
    }
}

/// The code of a group of messages, keyed by the digest's seed.
#[derive(Clone, Debug)]
pub enum Code {
    /// For [`Encoding::Powers`].
    Powers(CubicCode),
    /// For [`Encoding::Buckets`].
    Buckets(BucketCode),
}

/// A message found in sums: its index, and unless sums are of indices alone its payload and its clue's fingerprint
/// (0 where the plan has none).
pub type Decoded = (u64, Option<(Vec<u8>, u32)>);

impl Code {
    /// That of a group.
    pub fn new(plan: &InstantPlan, seed: &[u8; SEED_BYTES], group: usize) -> Self {
        let mut of_group = [0; 32];
        Xof::stream("omr instant code v1", seed, &[group as u64]).fill_bytes(&mut of_group);
        let bound = "the plan's bound";
        match plan.encoding() {
            Encoding::Powers => Self::Powers(CubicCode::new(&of_group, plan.bound()).expect(bound)),
            Encoding::Buckets => {
                Self::Buckets(BucketCode::new(&of_group, plan.bound()).expect(bound))
            }
        }
    }

    /// What message `index`, number `number` of the group, adds where it is pertinent: values below 97, as
    /// many as the plan has sums, or fewer where the rest are 0. The clue's fingerprint counts where the plan
    /// has fingerprints.
    ///
    /// Panics: when the payload has not the plan's size, or the number is too large.
    pub fn weights(
        &self,
        plan: &InstantPlan,
        (index, number): (u64, u64),
        (payload, fingerprint): (&[u8], u32),
    ) -> Vec<u8> {
        let [index_sums, payload_sums] = plan.code_sums();
        let mut out = vec![0; index_sums + payload_sums];
        let (of_index, of_payload) = out.split_at_mut(index_sums);
        let with_payload = plan.payload_bytes().is_some();
        let fits = "the plan's payload size";
        match self {
            Self::Powers(code) => {
                let node = code.nodes().node(number);
                code.index_weights_into(node, of_index);
                if with_payload {
                    let packing = cubic(payload.len(), plan.has_fingerprints()).expect(fits);
                    let mut symbols = packing.pack_marked(payload, fingerprint).expect(fits);
                    symbols.extend(elements(checksum(index, payload)));
                    code.blind(number, &mut symbols);
                    code.payload_weights_into(node, &symbols, of_payload);
                }
            }
            Self::Buckets(code) => {
                code.index_weights_into(number, of_index);
                if with_payload {
                    let packing = digits(payload.len(), plan.has_fingerprints()).expect(fits);
                    let mut symbols = vec![0; packing.count()];
                    let packed = packing.pack_marked(payload, fingerprint, &mut symbols);
                    packed.expect(fits);
                    let mut all: Vec<u8> = symbols.into_iter().map(|x| x as u8).collect();
                    all.extend(checksum(index, payload));
                    code.payload_weights_into(number, &all, of_payload);
                }
            }
        }
        if plan.is_counted() {
            out.resize(out.len() + CubicCounters::of_message(number), 0);
            out.push(1);
        }
        out
    }

    /// The messages, of those of the group, whose weights add up to `sums`, in their order.
    ///
    /// Shape: as many sums as the plan has for the group.   Time: with power sums, until messages are put
    /// into the result, that of the bound and of all messages; else variable.
    /// Errors: `Decode`, of counted sums an overflow with its exact number; `Checksum`; `Codec`.
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
        let total = plan.is_counted().then(|| CubicCounters::total(counters));
        let total = total.transpose()?;
        match self {
            Self::Powers(code) => {
                let support = match total {
                    None => code.find_support(of_index, count)?,
                    Some(total) => code.find_counted(of_index, total, count)?,
                };
                let packing = plan.payload_bytes();
                let packing = packing.map(|bytes| cubic(bytes, plan.has_fingerprints()));
                let payloads = packing
                    .transpose()?
                    .map(|packing| solve(code, &support, messages.start, &packing, of_payload));
                let solved = payloads.transpose()?;
                // From here on time depends on what was found.
                let found = support.count()?;
                let labels = support.labels()[..found].iter();
                let indices = labels.map(|&label| messages.start + u64::from(label));
                let payloads = match solved {
                    None => None,
                    Some((payloads, solved)) => {
                        solved.check()?;
                        Some(payloads)
                    }
                };
                with_payloads(indices, payloads)
            }
            Self::Buckets(code) => {
                if let Some(count) = total.filter(|&total| total > plan.bound()) {
                    let bound = plan.bound();
                    return Err(DecodeError::Overflow { count, bound }.into());
                }
                let numbers = code.find_support(of_index)?;
                if let Some(&number) = numbers.iter().find(|&&number| number >= count) {
                    return Err(SumsError::PastEnd { number, count });
                }
                let indices: Vec<u64> = numbers.iter().map(|n| messages.start + n).collect();
                let payloads = plan.payload_bytes().map(|bytes| {
                    let packing = digits(bytes, plan.has_fingerprints())?;
                    let rows =
                        code.solve(&numbers, packing.count() + CHECKSUM_DIGITS, of_payload)?;
                    let checked = |(row, &index): (Vec<u8>, &u64)| {
                        let (body, sum) = row.split_at(packing.count());
                        let body: Vec<u32> = body.iter().map(|&x| x.into()).collect();
                        let mut payload = vec![0; bytes];
                        let mark = packing.unpack_marked_into(&body, &mut payload);
                        let right = mark.is_ok() & (checksum(index, &payload)[..] == *sum);
                        ((payload, mark.unwrap_or(0)), right)
                    };
                    Ok::<_, SumsError>(rows.into_iter().zip(&indices).map(checked).collect())
                });
                with_payloads(indices.iter().copied(), payloads.transpose()?)
            }
        }
    }
}

/// Payloads and fingerprints, with whether payloads match their checksums.
type Checked = Vec<((Vec<u8>, u32), bool)>;

/// The payloads in all places of a support, messages or not, and what tells whether their sums are consistent.
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
    let checked = rows.zip(support.labels()).map(checked).collect();
    Ok((checked, solved))
}

/// Errors: `Checksum`.
fn with_payloads(
    indices: impl Iterator<Item = u64>,
    payloads: Option<Checked>,
) -> Result<Vec<Decoded>, SumsError> {
    let Some(payloads) = payloads else {
        return Ok(indices.map(|index| (index, None)).collect());
    };
    let message = |(index, (payload, right))| {
        // Public: only messages that were found are looked at, and the answer is acted on.
        if published(right) {
            Ok((index, Some(payload)))
        } else {
            Err(SumsError::Checksum(index))
        }
    };
    indices.zip(payloads).map(message).collect()
}

/// Sums that do not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SumsError {
    /// The sums contradict each other, or hold too many messages.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A shape that no code has.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The payload of this message is not the one that its checksum was made of.
    #[error("the payload of message {0} does not match its checksum")]
    Checksum(u64),
    /// The sums tell of a message that the group has not.
    #[error("expected messages below {count} of the group, found {number}")]
    PastEnd {
        /// Its number in the group.
        number: u64,
        /// Messages of the group.
        count: u64,
    },
}

/// The packing of payloads in base 97.
fn digits(payload_bytes: usize, fingerprints: bool) -> Result<Symbols, CodecError> {
    packing(
        crate::instantomr::SUMS_MODULUS.into(),
        payload_bytes,
        fingerprints,
    )
}

/// The same in elements of the cubic field.
fn cubic(payload_bytes: usize, fingerprints: bool) -> Result<CubicSymbols, CodecError> {
    match fingerprints {
        true => CubicSymbols::marked(payload_bytes),
        false => CubicSymbols::new(payload_bytes),
    }
}

/// The checksum digits of message `index` with its payload.
fn checksum(index: u64, payload: &[u8]) -> [u8; CHECKSUM_DIGITS] {
    let word = checksum_word(index, payload);
    std::array::from_fn(|i| (word / 97u64.pow(i as u32) % 97) as u8)
}

fn elements(digits: [u8; CHECKSUM_DIGITS]) -> impl Iterator<Item = CubicElement> {
    let triples = digits.as_chunks::<3>().0.to_vec();
    let element = |c| CubicElement::from_coefficients(c).expect("digits below 97");
    triples.into_iter().map(element)
}

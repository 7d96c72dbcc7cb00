//! What a message adds to a group's sums, and back.

use super::InstantPlan;
use crate::SEED_BYTES;
use crate::plan::checksum_word;
use omr_codec::{
    BucketCode, CodecError, CubicCode, CubicElement, CubicLocated, CubicSymbols, DecodeError,
    Symbols,
};
use omr_ring::Xof;
use rand_core::Rng;

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
    ) -> Result<[usize; 2], CodecError> {
        let seed = [0; 32];
        Ok(match (self, payload_bytes) {
            (Self::Powers, None) => [CubicCode::new(&seed, bound)?.index_weights(), 0],
            (Self::Powers, Some(bytes)) => {
                let code = CubicCode::new(&seed, bound)?;
                let symbols = CubicSymbols::new(bytes)?.count() + CHECKSUM_DIGITS / 3;
                [code.index_weights(), code.payload_weights(symbols)]
            }
            (Self::Buckets, None) => [BucketCode::new(&seed, bound)?.index_weights(), 0],
            (Self::Buckets, Some(bytes)) => {
                let code = BucketCode::new(&seed, bound)?;
                let digits = digits(bytes)?.count() + CHECKSUM_DIGITS;
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

/// A message found in sums; its payload is missing where its checksum is wrong.
pub type Decoded = (u64, Option<Vec<u8>>);

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

    /// What message `index`, number `number` of the group, adds where it is pertinent: as many values
    /// below 97 as the plan has sums.
    ///
    /// Panics: when the payload has not the plan's size, or the number is too large.
    pub fn weights(
        &self,
        plan: &InstantPlan,
        (index, number): (u64, u64),
        payload: &[u8],
    ) -> Vec<u8> {
        let mut out = vec![0; plan.sums()];
        let (of_index, of_payload) = out.split_at_mut(plan.index_sums());
        let with_payload = plan.payload_bytes().is_some();
        let fits = "the plan's payload size";
        match self {
            Self::Powers(code) => {
                let node = code.nodes().node(number);
                code.index_weights_into(node, of_index);
                if with_payload {
                    let packing = CubicSymbols::new(payload.len()).expect(fits);
                    let mut symbols = packing.pack(payload).expect(fits);
                    symbols.extend(elements(checksum(index, payload)));
                    code.blind(number, &mut symbols);
                    code.payload_weights_into(node, &symbols, of_payload);
                }
            }
            Self::Buckets(code) => {
                code.index_weights_into(number, of_index);
                if with_payload {
                    let packing = digits(payload.len()).expect(fits);
                    let mut symbols = vec![0; packing.count()];
                    packing.pack(payload, &mut symbols).expect(fits);
                    let mut all: Vec<u8> = symbols.into_iter().map(|x| x as u8).collect();
                    all.extend(checksum(index, payload));
                    code.payload_weights_into(number, &all, of_payload);
                }
            }
        }
        out
    }

    /// The numbers of the pertinent messages of the group, ascending.
    ///
    /// Errors: `Overflow`; `Inconsistent`, also where there are more than 96.
    pub fn find(&self, sums: &[u8]) -> Result<Vec<u64>, DecodeError> {
        match self {
            Self::Powers(code) => {
                let located = code.find_support(sums)?;
                Ok(located.into_iter().map(|place| place.index).collect())
            }
            Self::Buckets(code) => code.find_support(sums),
        }
    }

    /// The payloads of messages, whose first one of the group has index `first`.
    ///
    /// Errors: those of the codes.
    pub fn payloads(
        &self,
        plan: &InstantPlan,
        first: u64,
        numbers: &[u64],
        sums: &[u8],
    ) -> Result<Vec<Decoded>, PayloadsError> {
        let bytes = plan.payload_bytes().unwrap_or(0);
        let checked = |number: u64, payload: Option<Vec<u8>>, sum: [u8; CHECKSUM_DIGITS]| {
            let index = first + number;
            let right = |payload: &Vec<u8>| checksum(index, payload) == sum;
            (index, payload.filter(right))
        };
        match self {
            Self::Powers(code) => {
                let packing = CubicSymbols::new(bytes)?;
                let node = |&index: &u64| CubicLocated {
                    index,
                    node: code.nodes().node(index),
                };
                let located: Vec<CubicLocated> = numbers.iter().map(node).collect();
                let count = packing.count() + CHECKSUM_DIGITS / 3;
                let rows = code.solver(&located)?.solve(count, sums)?;
                let message = |(&number, row): (&u64, Vec<CubicElement>)| {
                    let (body, sum) = row.split_at(packing.count());
                    let sum = sum.iter().flat_map(|x| x.coefficients());
                    checked(number, packing.unpack(body).ok(), array(sum))
                };
                Ok(numbers.iter().zip(rows).map(message).collect())
            }
            Self::Buckets(code) => {
                let packing = digits(bytes)?;
                let count = packing.count() + CHECKSUM_DIGITS;
                let rows = code.solve(numbers, count, sums)?;
                let message = |(&number, row): (&u64, Vec<u8>)| {
                    let (body, sum) = row.split_at(packing.count());
                    let body: Vec<u32> = body.iter().map(|&x| x.into()).collect();
                    checked(
                        number,
                        packing.unpack(&body).ok(),
                        array(sum.iter().copied()),
                    )
                };
                Ok(numbers.iter().zip(rows).map(message).collect())
            }
        }
    }
}

/// Payloads that do not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadsError {
    /// The sums contradict each other.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A shape that no code has.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// The packing of payloads in base 97.
fn digits(payload_bytes: usize) -> Result<Symbols, CodecError> {
    Symbols::new(crate::params::SUMS_MODULUS, payload_bytes)
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

fn array(digits: impl Iterator<Item = u8>) -> [u8; CHECKSUM_DIGITS] {
    let digits: Vec<u8> = digits.collect();
    digits.try_into().expect("as many as were asked for")
}

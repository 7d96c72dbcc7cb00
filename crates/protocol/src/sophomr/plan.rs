//! The shape of a SophOMR digest of given range, bound and payload size.

use super::RecipientParams;
use crate::digest::checksum_word;
use crate::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use crate::{ClueKind, PlanError, Request};
use omr_codec::{CodecError, Symbols};
use omr_compress::SumsShape;
use std::ops::Range;

/// Number of symbols from which the indices of pertinent messages are found: the sums of `x^e` and of `x^(e+1)`.
pub const INDEX_SYMBOLS: usize = 2;

/// Number of symbols of a message's checksum.
pub const CHECKSUM_SYMBOLS: usize = 2;

/// The shape of a SophOMR digest: the sums that it contains and how they are packed.
///
/// Up to 12 batches add into one *group*. A group has, for each of its *symbols* (two for the
/// index, then those of the payload and its checksum), the sums of `x^e * symbol` over the
/// pertinent messages for `e < bound`. One ciphertext of the small ring holds `width` exponents of
/// `n' / width` symbols.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestPlan {
    request: Request,
    slots: usize,
    batches_in_group: usize,
    /// The shape of the sums of one group.
    sums: SumsShape,
    fingerprints: bool,
}

impl DigestPlan {
    /// Makes the plan for messages `range` with at most `bound` pertinent messages in each group and payloads of
    /// `payload_bytes` (`None`: indices only).
    ///
    /// Errors: `EmptyRange`, `LongRange`, `Bound`, `Payload`.
    pub fn new(
        params: &RecipientParams,
        range: Range<u64>,
        bound: usize,
        payload_bytes: Option<usize>,
    ) -> Result<Self, PlanError> {
        if range.start >= range.end {
            return Err(PlanError::EmptyRange {
                start: range.start,
                end: range.end,
            });
        }
        let request = Request::new(range, bound, payload_bytes);
        request.check_length()?;
        if !(1..=MAX_BOUND).contains(&bound) {
            return Err(PlanError::Bound(bound));
        }
        let payload_symbols = match payload_bytes {
            None => 0,
            Some(found) => {
                let symbols = (1..=MAX_PAYLOAD_BYTES)
                    .contains(&found)
                    .then(|| packing(params.p().value(), found, false).ok())
                    .flatten();
                symbols.ok_or(PlanError::Payload(found))?.count() + CHECKSUM_SYMBOLS
            }
        };
        let sums = SumsShape::new(params.small_n(), bound, INDEX_SYMBOLS + payload_symbols);
        Ok(Self {
            request,
            slots: params.slots(),
            batches_in_group: params.nodes.batches(),
            sums: sums.expect("a checked bound in a checked ring"),
            fingerprints: false,
        })
    }

    /// Returns the plan for clues of a kind: payloads of bound clues come with fingerprints of their clues.
    #[must_use]
    pub fn for_clues(&self, params: &RecipientParams, kind: ClueKind) -> Self {
        let mut plan = self.clone();
        if let Some(bytes) = self.payload_bytes() {
            plan.fingerprints = kind == ClueKind::Bound;
            let payload = packing(params.p().value(), bytes, plan.fingerprints)
                .expect("a plan's payload size");
            let symbols = INDEX_SYMBOLS + payload.count() + CHECKSUM_SYMBOLS;
            plan.sums = plan.sums.with_symbols(symbols).expect("index symbols");
        }
        plan
    }

    /// Returns whether payloads come with fingerprints of their clues.
    pub fn has_fingerprints(&self) -> bool {
        self.fingerprints
    }

    /// Returns the request that the plan was made for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the range of messages.
    pub fn range(&self) -> Range<u64> {
        self.request.range.clone()
    }

    /// Returns the bound on pertinent messages of each group.
    pub fn bound(&self) -> usize {
        self.request.bound
    }

    /// Returns the length in bytes of a payload, or `None` for indices only.
    pub fn payload_bytes(&self) -> Option<usize> {
        self.request.payload_bytes
    }

    /// Returns the shape of the sums of a group.
    pub fn sums(&self) -> SumsShape {
        self.sums
    }

    /// Returns the number of exponents in one ciphertext.
    pub fn width(&self) -> usize {
        self.sums.width()
    }

    /// Returns the distance in coefficients between two exponents of one symbol, which is the number of symbols in one
    /// ciphertext.
    pub fn stride(&self) -> usize {
        self.sums.stride()
    }

    /// Returns the number of symbols.
    pub fn symbols(&self) -> usize {
        self.sums.symbols()
    }

    /// Returns the number of batches.
    pub fn batches(&self) -> usize {
        (self.request.range.end - self.request.range.start).div_ceil(self.slots as u64) as usize
    }

    /// Returns the number of groups of batches. Each group has its own sums.
    pub fn groups(&self) -> usize {
        self.batches().div_ceil(self.batches_in_group)
    }

    /// Returns the batches of a group, counted from the start of the range.
    pub fn group(&self, group: usize) -> Range<usize> {
        let start = group * self.batches_in_group;
        start..(start + self.batches_in_group).min(self.batches())
    }

    /// Returns the group of a batch.
    pub fn group_of(&self, batch: usize) -> usize {
        batch / self.batches_in_group
    }

    /// Returns the range of messages of a batch.
    pub fn batch(&self, batch: usize) -> Range<u64> {
        let slots = self.slots as u64;
        let start = self.request.range.start + batch as u64 * slots;
        // A range may end at the largest index.
        start..start.saturating_add(slots).min(self.request.range.end)
    }

    /// Returns the number of rounds, which are sets of `width` exponents.
    pub fn rounds(&self) -> usize {
        self.sums.rounds()
    }

    /// Returns the exponents of a round.
    pub fn exponents(&self, round: usize) -> Range<usize> {
        self.sums.exponents(round)
    }

    /// Returns the number of ciphertexts of one round.
    pub fn ciphertexts(&self) -> usize {
        self.sums.ciphertexts()
    }

    /// Returns the symbols of a ciphertext.
    pub fn symbols_of(&self, ciphertext: usize) -> Range<usize> {
        self.sums.symbols_of(ciphertext)
    }

    /// Returns the number of ciphertexts, which are the parts of the digest.
    pub fn parts(&self) -> usize {
        self.groups() * self.sums.parts()
    }

    /// Returns the round of part `part` and its place in the round. All groups have equally many parts.
    pub fn position(&self, part: usize) -> (usize, usize) {
        self.sums.position(part)
    }

    /// Returns the number of coefficients that the digest keeps of part `part`.
    pub fn part_len(&self, part: usize) -> usize {
        let (round, ct) = self.position(part);
        self.kept_len(round, ct)
    }

    /// Returns round and place in the round of each ciphertext of a group, in order.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        self.sums.positions()
    }

    /// Returns the number of body coefficients that the digest keeps of a ciphertext.
    pub fn kept_len(&self, round: usize, ciphertext: usize) -> usize {
        self.sums.kept_len(round, ciphertext)
    }

    /// Returns the body coefficients that the digest keeps of a ciphertext, exponent by exponent, symbol by symbol.
    pub fn kept(&self, round: usize, ciphertext: usize) -> impl Iterator<Item = usize> + use<> {
        self.sums.kept(round, ciphertext)
    }
}

/// Returns the packing of payloads, with or without fingerprints of their clues, in symbols modulo p.
///
/// Errors: those of the code.
pub fn packing(p: u64, payload_bytes: usize, fingerprints: bool) -> Result<Symbols, CodecError> {
    if fingerprints {
        Symbols::marked(p as u32, payload_bytes)
    } else {
        Symbols::new(p as u32, payload_bytes)
    }
}

/// Returns the checksum symbols of message `index` with its payload, modulo the symbols' modulus: 39 bits of BLAKE3.
/// They detect decoding errors, including wrong indices. They do not authenticate: the detector could forge them.
///
/// Time: constant.
pub fn checksum(index: u64, payload: &[u8], symbols: &Symbols) -> [u32; CHECKSUM_SYMBOLS] {
    symbols.low_digits(checksum_word(index, payload))
}

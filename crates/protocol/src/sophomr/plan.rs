//! What a SophOMR digest of given range, bound and payload size is made of.

use super::RecipientParams;
use crate::digest::checksum_word;
use crate::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use crate::{ClueKind, PlanError, Request};
use omr_codec::{CodecError, Symbols};
use omr_compress::SumsShape;
use std::ops::Range;

/// Symbols that find the pertinent messages: the sums of `x^e` and of `x^(e+1)`.
pub const INDEX_SYMBOLS: usize = 2;

/// Symbols of a message's checksum.
pub const CHECKSUM_SYMBOLS: usize = 2;

/// The shape of a SophOMR digest: which sums it holds and how they are packed.
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
    /// Of one group.
    sums: SumsShape,
    fingerprints: bool,
}

impl DigestPlan {
    /// The plan for messages `range`, at most `bound` of them pertinent, with payloads of
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

    /// The same of clues of a kind: payloads of bound ones have the fingerprints of their clues beside them.
    #[must_use]
    pub fn for_clues(&self, params: &RecipientParams, kind: ClueKind) -> Self {
        let mut plan = self.clone();
        if let Some(bytes) = self.payload_bytes() {
            plan.fingerprints = kind == ClueKind::Bound;
            let packing = packing(params.p().value(), bytes, plan.fingerprints);
            let packing = packing.expect("a plan's payload size");
            let symbols = INDEX_SYMBOLS + packing.count() + CHECKSUM_SYMBOLS;
            plan.sums = plan.sums.with_symbols(symbols).expect("index symbols");
        }
        plan
    }

    /// Whether payloads have the fingerprints of their clues beside them.
    pub fn has_fingerprints(&self) -> bool {
        self.fingerprints
    }

    /// What it was made for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The messages.
    pub fn range(&self) -> Range<u64> {
        self.request.range.clone()
    }

    /// The bound on pertinent messages, for each group.
    pub fn bound(&self) -> usize {
        self.request.bound
    }

    /// Bytes of a payload, or `None` for indices only.
    pub fn payload_bytes(&self) -> Option<usize> {
        self.request.payload_bytes
    }

    /// Which sums a group has.
    pub fn sums(&self) -> SumsShape {
        self.sums
    }

    /// Exponents in one ciphertext.
    pub fn width(&self) -> usize {
        self.sums.width()
    }

    /// Coefficients between two exponents of one symbol: symbols in one ciphertext.
    pub fn stride(&self) -> usize {
        self.sums.stride()
    }

    /// Symbols in all.
    pub fn symbols(&self) -> usize {
        self.sums.symbols()
    }

    /// Batches in all.
    pub fn batches(&self) -> usize {
        (self.request.range.end - self.request.range.start).div_ceil(self.slots as u64) as usize
    }

    /// Groups of batches; each has its own sums.
    pub fn groups(&self) -> usize {
        self.batches().div_ceil(self.batches_in_group)
    }

    /// The batches of a group, counted from the start of the range.
    pub fn group(&self, group: usize) -> Range<usize> {
        let start = group * self.batches_in_group;
        start..(start + self.batches_in_group).min(self.batches())
    }

    /// The group of a batch.
    pub fn group_of(&self, batch: usize) -> usize {
        batch / self.batches_in_group
    }

    /// The messages of a batch.
    pub fn batch(&self, batch: usize) -> Range<u64> {
        let slots = self.slots as u64;
        let start = self.request.range.start + batch as u64 * slots;
        // A range may end at the last index there is.
        start..start.saturating_add(slots).min(self.request.range.end)
    }

    /// Rounds: sets of `width` exponents.
    pub fn rounds(&self) -> usize {
        self.sums.rounds()
    }

    /// The exponents of a round.
    pub fn exponents(&self, round: usize) -> Range<usize> {
        self.sums.exponents(round)
    }

    /// Ciphertexts of one round.
    pub fn ciphertexts(&self) -> usize {
        self.sums.ciphertexts()
    }

    /// The symbols of a ciphertext.
    pub fn symbols_of(&self, ciphertext: usize) -> Range<usize> {
        self.sums.symbols_of(ciphertext)
    }

    /// Ciphertexts in all: parts of the digest.
    pub fn parts(&self) -> usize {
        self.groups() * self.sums.parts()
    }

    /// Round and place in it of part `part`; each group has as many parts.
    pub fn position(&self, part: usize) -> (usize, usize) {
        self.sums.position(part)
    }

    /// How many coefficients are kept of part `part`.
    pub fn part_len(&self, part: usize) -> usize {
        let (round, ct) = self.position(part);
        self.kept_len(round, ct)
    }

    /// Round and place in it of each ciphertext of a group, in order.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        self.sums.positions()
    }

    /// How many body coefficients are kept of a ciphertext.
    pub fn kept_len(&self, round: usize, ciphertext: usize) -> usize {
        self.sums.kept_len(round, ciphertext)
    }

    /// Body coefficients kept of a ciphertext, exponent by exponent, symbol by symbol.
    pub fn kept(&self, round: usize, ciphertext: usize) -> impl Iterator<Item = usize> + use<> {
        self.sums.kept(round, ciphertext)
    }
}

/// How payloads, with the fingerprints of their clues or without, become symbols modulo p.
///
/// Errors: the code's.
pub fn packing(p: u64, payload_bytes: usize, fingerprints: bool) -> Result<Symbols, CodecError> {
    if fingerprints {
        Symbols::marked(p as u32, payload_bytes)
    } else {
        Symbols::new(p as u32, payload_bytes)
    }
}

/// The checksum symbols of message `index` with its payload, in the symbols' modulus: 39 bits of BLAKE3. Time: constant.
///
/// They find decoding errors, wrong indices among them; they are no signature, the detector could
/// forge them.
pub fn checksum(index: u64, payload: &[u8], symbols: &Symbols) -> [u32; CHECKSUM_SYMBOLS] {
    symbols.low_digits(checksum_word(index, payload))
}

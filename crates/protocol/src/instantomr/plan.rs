use crate::plan::{MAX_PAYLOAD_BYTES, Request, checksum_word};
use crate::{InstantParams, PlanError, SEED_BYTES};
use omr_codec::{CUBIC_BOUND, CubicCode, CubicElement, CubicSymbols};
use omr_ring::Xof;
use rand_core::Rng;
use std::ops::Range;

/// Largest number of pertinent messages that a group may hold.
pub const MAX_BOUND: usize = CUBIC_BOUND;

/// Elements of the code's field that check a payload.
const CHECKSUM_ELEMENTS: usize = 2;

/// The shape of an InstantOMR digest: for each group of messages one set of sums modulo 97, those of
/// the index first, in the coefficients of as many *parts* as it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantPlan {
    request: Request,
    n: usize,
    group: u64,
    symbols: usize,
}

impl InstantPlan {
    /// The plan for messages `range`, which may be none yet, at most `bound` of them pertinent in each
    /// group, with payloads of `payload_bytes` (`None`: indices only).
    ///
    /// Errors: `EmptyRange` when it ends before it starts, `LongRange`, `InstantBound`, `Payload`.
    pub fn new(params: &InstantParams, request: Request) -> Result<Self, PlanError> {
        let Range { start, end } = request.range;
        if start > end {
            return Err(PlanError::EmptyRange { start, end });
        }
        request.check_length()?;
        let (limit, found) = (MAX_BOUND, request.bound);
        if !(1..=limit).contains(&found) {
            return Err(PlanError::InstantBound { limit, found });
        }
        let of_payload = |found: usize| {
            let fits = (1..=MAX_PAYLOAD_BYTES).contains(&found);
            let symbols = CubicSymbols::new(found).ok().filter(|_| fits);
            let symbols = symbols.ok_or(PlanError::Payload { found })?;
            Ok(symbols.count() + CHECKSUM_ELEMENTS)
        };
        let symbols = request.payload_bytes.map(of_payload).transpose()?;
        Ok(Self {
            request,
            n: params.ring.n(),
            group: params.spec().group,
            symbols: symbols.unwrap_or(0),
        })
    }

    /// The same with another end. Panics: when it lies before the start.
    pub fn until(&self, end: u64) -> Self {
        assert!(end >= self.request.range.start, "an end past the start");
        let mut plan = self.clone();
        plan.request.range.end = end;
        plan
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

    /// Groups: as many as the messages fill, at least one.
    pub fn groups(&self) -> usize {
        let messages = self.request.range.end - self.request.range.start;
        messages.div_ceil(self.group).max(1) as usize
    }

    /// The messages of a group.
    pub fn group(&self, group: usize) -> Range<u64> {
        let Range { start, end } = self.request.range;
        let first = start + group as u64 * self.group;
        first..first.saturating_add(self.group).min(end)
    }

    /// Group of a message and its number there. Panics: when it lies before the range.
    pub fn place(&self, index: u64) -> (usize, u64) {
        let offset = index - self.request.range.start;
        ((offset / self.group) as usize, offset % self.group)
    }

    /// Sums of the index: a counter, and three for each power.
    pub fn index_sums(&self) -> usize {
        3 * self.request.bound + 1
    }

    /// Symbols of a payload with its checksum; 0 without payloads.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Sums of a group.
    pub fn sums(&self) -> usize {
        self.index_sums() + 3 * self.request.bound * self.symbols
    }

    /// Parts of a group.
    pub fn parts_of_group(&self) -> usize {
        self.sums().div_ceil(self.n)
    }

    /// Parts in all.
    pub fn parts(&self) -> usize {
        self.groups() * self.parts_of_group()
    }

    /// Coefficients kept of a part.
    pub fn part_len(&self, part: usize) -> usize {
        let before = part % self.parts_of_group() * self.n;
        (self.sums() - before).min(self.n)
    }
}

/// The checksum elements of message `index` with its payload: 39 bits of BLAKE3.
pub fn checksum(index: u64, payload: &[u8]) -> [CubicElement; CHECKSUM_ELEMENTS] {
    let mut word = checksum_word(index, payload);
    let mut digit = || {
        let digit = (word % 97) as u8;
        word /= 97;
        digit
    };
    let mut element = || {
        let digits = [digit(), digit(), digit()];
        CubicElement::from_coefficients(digits).expect("digits below 97")
    };
    [element(), element()]
}

/// The code of a group: which nodes its messages have.
pub fn code(plan: &InstantPlan, seed: &[u8; SEED_BYTES], group: usize) -> CubicCode {
    let mut of_group = [0; 32];
    Xof::stream("omr instant code v1", seed, &[group as u64]).fill_bytes(&mut of_group);
    CubicCode::new(&of_group, plan.bound()).expect("the plan's bound")
}

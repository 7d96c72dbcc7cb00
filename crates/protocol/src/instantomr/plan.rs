//! The shape of a digest of InstantOMR.

use super::code::sums_of;
use crate::instantomr::{InstantParams, InstantSpec};
use crate::request::MAX_PAYLOAD_BYTES;
use crate::{ClueKind, PlanError, Request, Scheme};
use omr_codec::CubicCounters;
use std::ops::Range;

/// The shape of an InstantOMR digest: for each group of messages one set of sums modulo 97, those of
/// the index first and exact counters last, in the coefficients of as many *parts* as it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantPlan {
    request: Request,
    n: usize,
    group: u64,
    /// Sums of the index, and of the payload.
    sums: [usize; 2],
    fingerprints: bool,
}

impl InstantPlan {
    /// The plan for messages `range`, which may be none yet, at most `bound` of them pertinent in each
    /// group, with payloads of `payload_bytes` (`None`: indices only).
    ///
    /// Errors: `EmptyRange` when it ends before it starts, `LongRange`, `SetBound`, `Payload`.
    pub fn new(params: &InstantParams, request: Request) -> Result<Self, PlanError> {
        let Range { start, end } = request.range;
        if start > end {
            return Err(PlanError::EmptyRange { start, end });
        }
        request.check_length()?;
        let (limit, found) = (InstantSpec::LARGEST_BOUND, request.bound);
        if !(1..=limit).contains(&found) {
            let scheme = Scheme::instantomr(request.payload_bytes.is_some());
            let set = params.name();
            return Err(PlanError::SetBound {
                set,
                scheme,
                limit,
                found,
            });
        }
        let found = request.payload_bytes.unwrap_or(1);
        let refused = PlanError::Payload(found);
        if !(1..=MAX_PAYLOAD_BYTES).contains(&found) {
            return Err(refused);
        }
        let sums = sums_of(request.bound, request.payload_bytes, false);
        Ok(Self {
            request,
            n: params.ring.n(),
            group: params.spec().group,
            sums: sums.map_err(|_| refused)?,
            fingerprints: false,
        })
    }

    /// The plan for clues of a kind: payloads of bound clues have the fingerprints of their clues beside them.
    #[must_use]
    pub fn for_clues(&self, kind: ClueKind) -> Self {
        let payload_bytes = self.request.payload_bytes;
        let fingerprints = kind == ClueKind::Bound && payload_bytes.is_some();
        let sums = sums_of(self.request.bound, payload_bytes, fingerprints);
        Self {
            sums: sums.expect("a plan's bound and payload size"),
            fingerprints,
            ..self.clone()
        }
    }

    /// Whether payloads have the fingerprints of their clues beside them.
    pub fn has_fingerprints(&self) -> bool {
        self.fingerprints
    }

    /// The plan with another end of the range. Panics: when it lies before the start.
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

    /// The scheme of its digests.
    pub fn scheme(&self) -> Scheme {
        Scheme::instantomr(self.request.payload_bytes.is_some())
    }

    /// Sums of a group for the index, and for the payload, which follow; counters come behind both.
    pub fn code_sums(&self) -> [usize; 2] {
        self.sums
    }

    /// Sums of a full group, its counters included.
    pub fn sums(&self) -> usize {
        self.sums_with(self.group)
    }

    /// Sums of a group with the messages that there are.
    pub fn sums_of(&self, group: usize) -> usize {
        let messages = self.group(group);
        self.sums_with(messages.end - messages.start)
    }

    fn sums_with(&self, messages: u64) -> usize {
        self.sums[0] + self.sums[1] + CubicCounters::of_messages(messages)
    }

    /// Parts of a full group.
    pub fn parts_of_group(&self) -> usize {
        self.sums().div_ceil(self.n)
    }

    /// Parts in all: all groups but the last are full.
    pub fn parts(&self) -> usize {
        let last = self.groups() - 1;
        last * self.parts_of_group() + self.sums_of(last).div_ceil(self.n)
    }

    /// Coefficients kept of a part.
    pub fn part_len(&self, part: usize) -> usize {
        let (group, part) = (part / self.parts_of_group(), part % self.parts_of_group());
        (self.sums_of(group) - part * self.n).min(self.n)
    }
}

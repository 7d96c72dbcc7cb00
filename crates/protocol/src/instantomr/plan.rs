//! The shape of an InstantOMR digest.

use super::code::sums_of;
use crate::instantomr::{InstantParams, InstantSpec};
use crate::request::MAX_PAYLOAD_BYTES;
use crate::{ClueKind, PlanError, Request, Scheme};
use omr_codec::CubicCounters;
use std::ops::Range;

/// The shape of an InstantOMR digest. Each group of messages has one set of sums modulo 97: first those of indices,
/// then those of payloads, last exact counters. They are the coefficients of one or more *parts*.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantPlan {
    request: Request,
    n: usize,
    group: u64,
    /// Numbers of sums for indices and for payloads.
    sums: [usize; 2],
    fingerprints: bool,
}

impl InstantPlan {
    /// Makes the plan for a request. The range may be empty; `bound` applies to each group.
    ///
    /// Errors: `EmptyRange` if the range ends before it starts, `LongRange`, `SetBound`, `Payload`.
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

    /// Returns the plan for clues of a kind: payloads of bound clues come with fingerprints of their clues.
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

    /// Returns whether payloads come with fingerprints of their clues.
    pub fn has_fingerprints(&self) -> bool {
        self.fingerprints
    }

    /// Returns the plan with another end of the range.
    ///
    /// Panics: if `end` is before the start.
    pub fn until(&self, end: u64) -> Self {
        assert!(end >= self.request.range.start, "an end past the start");
        let mut plan = self.clone();
        plan.request.range.end = end;
        plan
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

    /// Returns the number of groups, at least one.
    pub fn groups(&self) -> usize {
        let messages = self.request.range.end - self.request.range.start;
        messages.div_ceil(self.group).max(1) as usize
    }

    /// Returns the range of messages of a group.
    pub fn group(&self, group: usize) -> Range<u64> {
        let Range { start, end } = self.request.range;
        let first = start + group as u64 * self.group;
        first..first.saturating_add(self.group).min(end)
    }

    /// Returns the group of a message and its number in the group.
    ///
    /// Panics: if the message is before the range.
    pub fn place(&self, index: u64) -> (usize, u64) {
        let offset = index - self.request.range.start;
        ((offset / self.group) as usize, offset % self.group)
    }

    /// Returns the scheme of the digests.
    pub fn scheme(&self) -> Scheme {
        Scheme::instantomr(self.request.payload_bytes.is_some())
    }

    /// Returns the numbers of a group's sums for indices and for payloads. Counters follow both.
    pub fn code_sums(&self) -> [usize; 2] {
        self.sums
    }

    /// Returns the number of sums of a full group, with its counters.
    pub fn sums(&self) -> usize {
        self.sums_with(self.group)
    }

    /// Returns the number of sums of a group with its present number of messages.
    pub fn sums_of(&self, group: usize) -> usize {
        let messages = self.group(group);
        self.sums_with(messages.end - messages.start)
    }

    fn sums_with(&self, messages: u64) -> usize {
        self.sums[0] + self.sums[1] + CubicCounters::of_messages(messages)
    }

    /// Returns the number of parts of a full group.
    pub fn parts_of_group(&self) -> usize {
        self.sums().div_ceil(self.n)
    }

    /// Returns the number of parts of the digest. All groups but the last are full.
    pub fn parts(&self) -> usize {
        let last = self.groups() - 1;
        last * self.parts_of_group() + self.sums_of(last).div_ceil(self.n)
    }

    /// Returns the number of coefficients that a digest keeps of a part.
    pub fn part_len(&self, part: usize) -> usize {
        let group = part / self.parts_of_group();
        let number = part % self.parts_of_group();
        (self.sums_of(group) - number * self.n).min(self.n)
    }
}

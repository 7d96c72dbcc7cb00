//! Every so many-th message of a range: what a digest can cover in place of all of them.

use std::ops::Range;

/// Largest step of a stride that a detector serves.
pub const MAX_STEP: u64 = 1 << 16;

/// Messages `start`, `start + step`, `start + 2 step`, .. below `end`.
///
/// A digest of them counts them without gaps, from `start` on: its messages are [`Stride::range`], and
/// [`Stride::index`] gives their places on the board. So a digest's format knows nothing of strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stride {
    /// The first message.
    pub start: u64,
    /// One past the last message that there can be.
    pub end: u64,
    /// From one message to the next; 0 is taken for 1: every message.
    pub step: u64,
}

impl Stride {
    /// Every `step`-th message of a range.
    #[must_use]
    pub fn new(range: Range<u64>, step: u64) -> Self {
        Self {
            start: range.start,
            end: range.end,
            step: step.max(1),
        }
    }

    /// The messages of a range whose place leaves `rest` when divided by `step`.
    #[must_use]
    pub fn of_class(range: Range<u64>, step: u64, rest: u64) -> Self {
        let step = step.max(1);
        let first = range.start % step;
        let skipped = (rest % step + step - first) % step;
        let start = range.start.saturating_add(skipped).min(range.end);
        Self::new(start..range.end, step)
    }

    /// From one message to the next.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step.max(1)
    }

    /// How many messages there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.end.saturating_sub(self.start).div_ceil(self.step())
    }

    /// Whether it leaves messages out.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        self.step() > 1
    }

    /// The messages as a digest counts them.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.count()
    }

    /// The place on the board of message `counted` of a digest.
    #[must_use]
    pub fn index(&self, counted: u64) -> u64 {
        self.start.saturating_add(
            counted
                .saturating_sub(self.start)
                .saturating_mul(self.step()),
        )
    }

    /// Whether the message at a place on the board is one of them.
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        (self.start..self.end).contains(&index) && (index - self.start).is_multiple_of(self.step())
    }

    /// The messages that a digest counts as those of `counted`.
    #[must_use]
    pub fn part(&self, counted: Range<u64>) -> Self {
        let end = self.index(counted.end).min(self.end);
        Self::new(self.index(counted.start)..end, self.step())
    }

    /// It in pieces of at most `most` messages, in their order.
    pub fn pieces(&self, most: u64) -> impl Iterator<Item = Self> + use<> {
        let (stride, most) = (*self, most.max(1));
        let counted = stride.range();
        let starts = counted
            .clone()
            .step_by(usize::try_from(most).unwrap_or(usize::MAX));
        starts.map(move |start| stride.part(start..start.saturating_add(most).min(counted.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(stride: &Stride) -> Vec<u64> {
        stride
            .range()
            .map(|counted| stride.index(counted))
            .collect()
    }

    #[test]
    fn classes_part_a_range() {
        for step in [1, 2, 7, 61] {
            for range in [0..0, 5..6, 3..200, 61..122] {
                let mut all = Vec::new();
                for rest in 0..step {
                    let stride = Stride::of_class(range.clone(), step, rest);
                    let found = members(&stride);
                    let expected: Vec<u64> = range.clone().filter(|i| i % step == rest).collect();
                    assert_eq!(found, expected, "{range:?} {step} {rest}");
                    assert!(
                        range
                            .clone()
                            .all(|i| stride.contains(i) == found.contains(&i))
                    );
                    all.extend(found);
                }
                all.sort_unstable();
                assert_eq!(all, range.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn pieces_hold_it_all() {
        let stride = Stride::of_class(3..100, 7, 2);
        for most in [1, 2, 5, 13, 14, 15, u64::MAX] {
            let pieces: Vec<Stride> = stride.pieces(most).collect();
            assert!(
                pieces
                    .iter()
                    .all(|piece| (1..=most).contains(&piece.count()))
            );
            let found: Vec<u64> = pieces.iter().flat_map(members).collect();
            assert_eq!(found, members(&stride), "{most}");
        }
        assert_eq!(Stride::new(5..5, 3).pieces(4).count(), 0);
    }

    #[test]
    fn every_message_is_the_usual_case() {
        let stride = Stride::new(4..9, 0);
        assert_eq!((stride.range(), stride.count()), (4..9, 5));
        assert!(!stride.has_gaps());
        assert_eq!(stride.index(6), 6);
    }
}

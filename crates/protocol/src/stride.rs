//! Strides, which are every n-th message of a range. A digest can cover a stride in place of the whole range.

use std::ops::Range;

/// Largest step of a stride that a detector accepts.
pub const MAX_STEP: u64 = 1 << 16;

/// The messages `start`, `start + step`, `start + 2 step`, .. below `end`.
///
/// A digest over a stride numbers its messages without gaps from `start` on: its range is [`Stride::range`], and
/// [`Stride::index`] maps its numbers to places on the board. Digests have the same format with and without strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stride {
    /// The first message.
    pub start: u64,
    /// One past the last message that there can be.
    pub end: u64,
    /// Distance from one message to the next; 0 has the meaning of 1, which is every message.
    pub step: u64,
}

impl Stride {
    /// Makes the stride of every `step`-th message of a range.
    #[must_use]
    pub fn new(range: Range<u64>, step: u64) -> Self {
        Self {
            start: range.start,
            end: range.end,
            step: step.max(1),
        }
    }

    /// Makes the stride of the messages of a range whose place is `rest` modulo `step`.
    #[must_use]
    pub fn of_class(range: Range<u64>, step: u64, rest: u64) -> Self {
        let modulus = step.max(1);
        let first = range.start % modulus;
        let skipped = (rest % modulus + modulus - first) % modulus;
        let start = range.start.saturating_add(skipped).min(range.end);
        Self::new(start..range.end, modulus)
    }

    /// Returns the distance from one message to the next.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step.max(1)
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.end.saturating_sub(self.start).div_ceil(self.step())
    }

    /// Returns whether the stride leaves messages out.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        self.step() > 1
    }

    /// Returns the range of numbers that a digest uses for the messages.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.count()
    }

    /// Returns the place on the board of the message with number `counted` in a digest.
    #[must_use]
    pub fn index(&self, counted: u64) -> u64 {
        self.start.saturating_add(
            counted
                .saturating_sub(self.start)
                .saturating_mul(self.step()),
        )
    }

    /// Returns whether the message at a place on the board belongs to the stride.
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        (self.start..self.end).contains(&index) && (index - self.start).is_multiple_of(self.step())
    }

    /// Returns the messages with the numbers `counted` in a digest.
    #[must_use]
    pub fn part(&self, counted: Range<u64>) -> Self {
        let end = self.index(counted.end).min(self.end);
        Self::new(self.index(counted.start)..end, self.step())
    }

    /// Splits the stride into pieces of at most `most` messages, in order.
    pub fn pieces(&self, most: u64) -> impl Iterator<Item = Self> + use<> {
        let (stride, size) = (*self, most.max(1));
        let counted = stride.range();
        let starts = counted
            .clone()
            .step_by(usize::try_from(size).unwrap_or(usize::MAX));
        starts.map(move |start| stride.part(start..start.saturating_add(size).min(counted.end)))
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

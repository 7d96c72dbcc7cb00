//! Delivers a post until all of it is on the board, even if others copy parts of it and post them first.

use crate::RemoteError;
use omr_api::v1::{Message, UsedKey};
use std::ops::Range;

/// The number of times in a row that others may use the ids of one post first: an attacker who can do this could also
/// block the post.
const MOST_IDS: u32 = 8;

/// The places of posted messages on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// The indices of the messages, in the order in which they were sent.
    pub ranges: Vec<Range<u64>>,
    /// Places, among the messages, of those that were on the board already: somebody copied them and was first.
    pub known: Vec<usize>,
}

impl Posted {
    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges
            .iter()
            .map(|range| (range.end - range.start) as usize)
            .sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds messages that follow.
    pub(crate) fn append(&mut self, next: Self) {
        let before = self.len();
        self.known.extend(next.known.iter().map(|at| before + at));
        self.ranges.extend(next.ranges);
    }
}

/// The messages of a post: where those are that are on the board, and what is left.
pub(crate) struct Delivery {
    left: Vec<Message>,
    /// Places of the messages that are left.
    places: Vec<usize>,
    indices: Vec<Option<u64>>,
    known: Vec<usize>,
    ids: u32,
}

impl Delivery {
    pub(crate) fn new(messages: Vec<Message>) -> Self {
        Self {
            places: (0..messages.len()).collect(),
            indices: vec![None; messages.len()],
            left: messages,
            known: Vec::new(),
            ids: 0,
        }
    }

    /// Returns the messages that are still to be posted.
    pub(crate) fn left(&self) -> &[Message] {
        &self.left
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// All that was left is on the board.
    pub(crate) fn posted(&mut self, range: Range<u64>) {
        for (place, index) in self.places.drain(..).zip(range) {
            self.indices[place] = Some(index);
        }
        self.left.clear();
    }

    /// Takes out what a refusal names; another error is given back.
    pub(crate) fn refused(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        match error {
            RemoteError::OtherPost(_) if self.ids < MOST_IDS => self.ids += 1,
            RemoteError::UsedKeys { call, used } => self.leave_out(call, &used)?,
            error => return Err(error),
        }
        Ok(())
    }

    fn leave_out(&mut self, call: &'static str, used: &[UsedKey]) -> Result<(), RemoteError> {
        let places: Vec<usize> = used.iter().map(|used| used.position as usize).collect();
        let in_order = places.is_sorted_by(|a, b| a < b);
        if !in_order || places.last().is_none_or(|last| *last >= self.left.len()) {
            let expected = format!("places of messages below {}, in order", self.left.len());
            return Err(RemoteError::answer(call, expected, format!("{places:?}")));
        }
        for (at, used) in places.into_iter().zip(used).rev() {
            self.left.remove(at);
            let place = self.places.remove(at);
            self.indices[place] = Some(used.index);
            self.known.push(place);
        }
        self.ids = 0;
        Ok(())
    }

    /// Where everything is.
    pub(crate) fn end(mut self) -> Posted {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for index in self.indices.into_iter().flatten() {
            match ranges.last_mut().filter(|last| last.end == index) {
                Some(last) => last.end = index.saturating_add(1),
                None => ranges.push(index..index.saturating_add(1)),
            }
        }
        self.known.sort_unstable();
        Posted {
            ranges,
            known: self.known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(count: u8) -> Vec<Message> {
        let message = |byte| Message {
            clue: vec![byte].into(),
            payload: vec![byte].into(),
        };
        (0..count).map(message).collect()
    }

    fn used(places: &[(u32, u64)]) -> RemoteError {
        let key = |&(position, index): &(u32, u64)| UsedKey { position, index };
        RemoteError::UsedKeys {
            call: "test",
            used: places.iter().map(key).collect(),
        }
    }

    #[test]
    fn what_others_posted_first_is_left_out_and_keeps_its_place() {
        let mut delivery = Delivery::new(messages(6));
        delivery.refused(used(&[(1, 40), (4, 41)])).unwrap();
        // Of the four that are left, the third is message 3.
        delivery.refused(used(&[(2, 9)])).unwrap();
        let left: Vec<u8> = delivery.left().iter().map(|one| one.clue[0]).collect();
        assert_eq!(left, [0, 2, 5]);
        delivery.posted(100..103);
        assert!(delivery.is_done());
        let posted = delivery.end();
        assert_eq!(
            posted.ranges,
            [100..101, 40..41, 101..102, 9..10, 41..42, 102..103]
        );
        assert_eq!((posted.known.clone(), posted.len()), (vec![1, 3, 4], 6));
        let mut all = Posted {
            ranges: vec![0..2, 7..8],
            known: vec![0],
        };
        all.append(posted);
        assert_eq!(all.known, [0, 4, 6, 7]);
    }

    #[test]
    fn refusals_that_make_no_sense_end_it() {
        for places in [&[(6, 0)][..], &[(2, 0), (2, 1)], &[(3, 0), (1, 0)]] {
            let refused = Delivery::new(messages(6)).refused(used(places));
            assert!(
                matches!(refused, Err(RemoteError::Answer { .. })),
                "{places:?}"
            );
        }
        let other = RemoteError::Task;
        assert!(Delivery::new(messages(1)).refused(other).is_err());
        let mut delivery = Delivery::new(messages(1));
        for _ in 0..MOST_IDS {
            delivery.refused(RemoteError::OtherPost("test")).unwrap();
        }
        let last = delivery.refused(RemoteError::OtherPost("test"));
        assert!(matches!(last, Err(RemoteError::OtherPost(_))));
    }
}

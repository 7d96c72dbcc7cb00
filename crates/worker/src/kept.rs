//! A cache of messages for the next run over the same ones.

use omr_remote::v1::Part;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Identifies a part of messages of a board's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) history_id: [u8; 16],
    pub(crate) part: Part,
    pub(crate) range: Range<u64>,
}

/// A cache of parts of messages, with the last used at the end.
pub(crate) struct Kept {
    most: usize,
    bytes: usize,
    parts: VecDeque<(Place, Arc<[u8]>)>,
}

impl Kept {
    /// Makes a cache of at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            bytes: 0,
            parts: VecDeque::new(),
        }
    }

    /// Returns the cached bytes of a place.
    pub(crate) fn find(&mut self, place: &Place) -> Option<Arc<[u8]>> {
        let at = self.parts.iter().position(|(known, _)| known == place)?;
        let found = self.parts.remove(at)?;
        self.parts.push_back(found.clone());
        Some(found.1)
    }

    /// Adds a part if there is room, after removing the least recently used parts.
    pub(crate) fn keep(&mut self, place: Place, part: &[u8]) {
        if part.len() > self.most {
            return;
        }
        while self.bytes + part.len() > self.most {
            let Some((_, old)) = self.parts.pop_front() else {
                break;
            };
            self.bytes -= old.len();
        }
        self.bytes += part.len();
        self.parts.push_back((place, part.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_parts_that_fit_are_kept() {
        let place = |part, start| Place {
            history_id: [1; 16],
            part,
            range: start..start + 9,
        };
        let (first, second) = (place(Part::Clues, 0), place(Part::Payloads, 0));
        let third = place(Part::Clues, 9);
        let mut kept = Kept::new(10);
        kept.keep(first.clone(), &[1; 4]);
        kept.keep(second.clone(), &[2; 6]);
        assert_eq!(kept.find(&first).as_deref(), Some(&[1; 4][..]));
        // The second part has not been used since.
        kept.keep(third.clone(), &[3; 5]);
        assert_eq!(kept.find(&second), None);
        assert_eq!(kept.find(&third).as_deref(), Some(&[3; 5][..]));
        kept.keep(second.clone(), &[2; 11]);
        assert_eq!(kept.find(&second), None);
        assert!(kept.find(&first).is_some());
        kept.keep(second.clone(), &[2; 10]);
        assert_eq!((kept.parts.len(), kept.bytes), (1, 10));
        let mut none = Kept::new(0);
        none.keep(first.clone(), &[1]);
        assert_eq!(none.find(&first), None);
    }
}

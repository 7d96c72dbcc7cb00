//! Choices without branches. A mask is all ones for yes, 0 for no.

/// Whether `a == b`.
#[inline]
pub(crate) fn equal(a: u32, b: u32) -> u32 {
    let difference = a ^ b;
    ((difference | difference.wrapping_neg()) >> 31).wrapping_sub(1)
}

/// `yes` or `no`.
#[inline]
pub(crate) fn select(mask: u32, yes: u32, no: u32) -> u32 {
    no ^ (mask & (yes ^ no))
}

/// The first of many pairs whose two sides differ; looks at all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FirstDifference {
    seen: u32,
    place: u32,
    expected: u32,
    found: u32,
}

impl FirstDifference {
    /// Compares the pair at `place`.
    #[inline]
    pub(crate) fn compare(&mut self, place: u32, expected: u32, found: u32) {
        let new = !equal(expected, found) & !self.seen;
        self.seen |= new;
        self.place = select(new, place, self.place);
        self.expected = select(new, expected, self.expected);
        self.found = select(new, found, self.found);
    }

    /// This one, or where it has seen none the next.
    pub(crate) fn or(self, next: Self) -> Self {
        Self {
            seen: self.seen | next.seen,
            place: select(self.seen, self.place, next.place),
            expected: select(self.seen, self.expected, next.expected),
            found: select(self.seen, self.found, next.found),
        }
    }

    /// The place of the first error, with the values expected and found.
    pub(crate) fn get(self) -> Option<(usize, u32, u32)> {
        (self.seen != 0).then_some((self.place as usize, self.expected, self.found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [u32; 8] = [
        0,
        1,
        2,
        1 << 30,
        1 << 31,
        (1 << 31) + 1,
        u32::MAX - 1,
        u32::MAX,
    ];

    #[test]
    fn masks_are_what_comparisons_say() {
        let mask = |yes: bool| if yes { u32::MAX } else { 0 };
        for a in VALUES {
            for b in VALUES {
                assert_eq!(equal(a, b), mask(a == b));
                assert_eq!((select(u32::MAX, a, b), select(0, a, b)), (a, b));
            }
        }
    }

    #[test]
    fn the_first_difference_stays() {
        let mut first = FirstDifference::default();
        first.compare(0, 7, 7);
        assert_eq!(first.get(), None);
        first.compare(3, 7, 8);
        first.compare(4, 1, 2);
        assert_eq!(first.get(), Some((3, 7, 8)));
        let mut later = FirstDifference::default();
        later.compare(0, 5, 6);
        assert_eq!(first.or(later), first);
        assert_eq!(FirstDifference::default().or(later), later);
    }
}

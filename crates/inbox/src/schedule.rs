//! Spare requests: which messages each fetch asks for a second and a third time, whatever was found.
//!
//! At every fetch, one spare request asks for a class of the messages of the last fetches: those whose place
//! leaves a rest when divided by a step, another rest at each turn. So every message is read once by the
//! request of its range and once more at every level, together with messages that stand far from it: what
//! overflowed a range, such as the parts of one long letter, comes in classes that do not. Levels take turns.
//! The steps have no common divisor: messages that crowd in one class of a level spread over the other's.
//!
//! All of it follows from the number of the fetch and the lengths that the board had, which the server knows.

use omr_protocol::Stride;

/// Steps of the levels.
const STEPS: [u64; 2] = [7, 61];

/// Most levels.
pub const MAX_LEVELS: u8 = STEPS.len() as u8;

/// The messages that a fetch requests a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spare {
    step: u64,
    rest: u64,
    /// Over how many fetches, this one among them.
    pub(crate) fetches: u64,
}

impl Spare {
    /// The spare request of fetch `turn`, counted from 0; `None` without levels.
    pub(crate) fn new(turn: u64, levels: u8) -> Option<Self> {
        let levels = u64::from(levels.min(MAX_LEVELS));
        let level = turn.checked_rem(levels)?;
        let step = STEPS[level as usize];
        Some(Self {
            step,
            rest: turn / levels % step,
            fetches: step * levels,
        })
    }

    /// The messages to request, among those that these fetches covered.
    pub(crate) fn of(&self, messages: std::ops::Range<u64>) -> Stride {
        Stride::of_class(messages, self.step, self.rest)
    }
}

/// Fetches, that of its own range among them, after which a message was read at every level.
pub(crate) fn fetches(levels: u8) -> u64 {
    let levels = levels.min(MAX_LEVELS);
    let last = levels.checked_sub(1).map(|last| STEPS[usize::from(last)]);
    last.map_or(0, |step| step * u64::from(levels))
}

/// Fetches, that of its own range among them, after which so many messages of one range came, if there are few others:
/// those of the first level whose classes hold no more of them than the bound each.
pub(crate) fn expected(levels: u8, messages: u64, bound: u32) -> u64 {
    let levels = levels.min(MAX_LEVELS);
    let steps = &STEPS[..usize::from(levels)];
    let fits = |step: &&u64| messages.div_ceil(**step) <= u64::from(bound);
    let step = steps.iter().find(fits);
    step.map_or(fetches(levels), |step| step * u64::from(levels))
}

/// The largest step that is asked for.
pub(crate) fn largest_step(levels: u8) -> u64 {
    let levels = usize::from(levels.min(MAX_LEVELS));
    STEPS[..levels].iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_once_at_every_level() {
        for levels in 0..=MAX_LEVELS {
            // Lengths of the board at each fetch: it grows by 0 to 22 messages, once by many.
            let growth = |turn: u64| if turn == 9 { 900 } else { turn * turn % 23 };
            let mut lengths = vec![5];
            for turn in 0..400 {
                lengths.push(lengths[turn as usize] + growth(turn));
            }
            let settled = lengths[400 - fetches(levels) as usize];
            let mut read = vec![[0; 2]; lengths[400] as usize];
            for turn in 0..400 {
                let Some(spare) = Spare::new(turn, levels) else {
                    assert_eq!(levels, 0);
                    continue;
                };
                assert!(spare.step <= largest_step(levels));
                let from = (turn + 1).saturating_sub(spare.fetches);
                let asked = spare.of(lengths[from as usize]..lengths[turn as usize + 1]);
                for counted in asked.range() {
                    let level = usize::from(spare.step != STEPS[0]);
                    read[asked.index(counted) as usize][level] += 1;
                }
            }
            let expected = [u8::from(levels > 0), u8::from(levels > 1)];
            for index in lengths[0]..settled {
                assert_eq!(
                    read[index as usize], expected,
                    "message {index}, {levels} levels"
                );
            }
            assert!(read.iter().all(|read| read[0] <= 1 && read[1] <= 1));
        }
    }

    #[test]
    fn a_long_letter_comes_with_the_level_that_carries_it() {
        // 240 messages are 35 a class of seven, 1,000 are 17 a class of 61.
        assert_eq!(expected(2, 240, 50), 14);
        assert_eq!(expected(2, 350, 50), 14);
        assert_eq!(expected(2, 351, 50), 122);
        assert_eq!(expected(2, 1000, 50), 122);
        assert_eq!(expected(1, 240, 50), 7);
        assert_eq!(expected(0, 240, 50), 0);
    }

    #[test]
    fn a_long_letter_spreads_evenly() {
        for (step, level) in [(7, 0), (61, 1)] {
            let of_class = |rest| {
                let spare = Spare::new(rest * 2 + level, 2).unwrap();
                assert_eq!(spare.step, step);
                spare.of(1000..1205).count()
            };
            let counts: Vec<u64> = (0..step).map(of_class).collect();
            assert_eq!(counts.iter().sum::<u64>(), 205);
            assert!(counts.iter().all(|&count| count.abs_diff(205 / step) <= 1));
        }
    }
}

//! Spare requests: each fetch requests some messages a second and a third time, whatever was found.
//!
//! At every fetch, one spare request asks for a class of the messages of the last fetches: those whose index has a
//! certain remainder modulo a step, another remainder each time. So every message is read once by the request of its
//! range and once more at every level, together with messages that are far from it: messages that overflowed a range,
//! such as the parts of one long letter, come in classes that do not overflow. The levels alternate. The steps have no
//! common divisor: messages that crowd in one class of one level are spread over the classes of the next.
//!
//! All of this follows from the number of the fetch and the lengths of the board, which the server knows.

use omr_protocol::Stride;

/// The step of each level.
const STEPS: [u64; 2] = [7, 61];

/// The highest number of levels.
pub const MAX_LEVELS: u8 = STEPS.len() as u8;

/// The messages that a fetch requests a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spare {
    step: u64,
    rest: u64,
    /// The number of fetches whose messages it covers, this fetch included.
    pub(crate) fetches: u64,
}

impl Spare {
    /// Returns the spare request of fetch `turn`, counted from 0; `None` without levels.
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

    /// Returns the messages to request among `messages`, those that these fetches covered.
    pub(crate) fn of(&self, messages: std::ops::Range<u64>) -> Stride {
        Stride::of_class(messages, self.step, self.rest)
    }
}

/// Returns the number of fetches after which a message was read at every level, the fetch of its own range included.
pub(crate) fn fetches(levels: u8) -> u64 {
    let served = levels.min(MAX_LEVELS);
    match served.checked_sub(1) {
        Some(last) => STEPS[usize::from(last)] * u64::from(served),
        None => 0,
    }
}

/// Returns the number of fetches, the fetch of its own range included, after which `messages` messages of one range
/// were received, if there are few others: the fetches of the first level whose classes hold at most `bound` of them
/// each.
pub(crate) fn expected(levels: u8, messages: u64, bound: u32) -> u64 {
    let served = levels.min(MAX_LEVELS);
    let steps = &STEPS[..usize::from(served)];
    let fits = |step: &&u64| messages.div_ceil(**step) <= u64::from(bound);
    match steps.iter().find(fits) {
        Some(step) => step * u64::from(served),
        None => fetches(served),
    }
}

/// Returns the largest step of these levels.
pub(crate) fn largest_step(levels: u8) -> u64 {
    let served = usize::from(levels.min(MAX_LEVELS));
    STEPS[..served].iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_once_at_every_level() {
        for levels in 0..=MAX_LEVELS {
            // The board grows by 0 to 22 messages at each fetch, and once by many.
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
        // 240 messages are 35 per class modulo 7, and 1,000 are 17 per class modulo 61.
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

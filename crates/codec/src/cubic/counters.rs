//! The exact number of messages: counters that cannot wrap.

use super::element::P;
use crate::error::DecodeError;
use omr_errors::Mismatch;
use omr_marks::published;

/// Messages that share a counter: as many as it can count.
const SHARE: u64 = P as u64 - 1;

/// Counters of a group's messages: message `i` adds 1 to counter `i / 96`, so that none exceeds 96 and their
/// sum is the number of pertinent messages, however many there are.
///
/// They stand behind all other sums, so that a group that is not full has as few as its messages need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubicCounters;

impl CubicCounters {
    /// Returns the number of counters that `messages` messages need.
    pub fn of_messages(messages: u64) -> usize {
        messages.div_ceil(SHARE) as usize
    }

    /// The counter of message `index`.
    pub fn of_message(index: u64) -> usize {
        (index / SHARE) as usize
    }

    /// How many messages the counters of a group have counted.
    ///
    /// Time: that of their number.   Errors: [`DecodeError::SumRange`], with the counter's number.
    pub fn total(counters: &[u8]) -> Result<usize, DecodeError> {
        let largest = counters.iter().fold(0, |largest, &x| x.max(largest));
        // Public: what a recipient decrypts is always below, and all else came over a wire.
        if published(u32::from(largest) >= P) {
            let exponent = counters.iter().position(|&x| x == largest);
            return Err(DecodeError::SumRange(
                exponent.unwrap_or(0),
                Mismatch::new(P, largest.into()),
            ));
        }
        Ok(counters.iter().map(|&x| usize::from(x)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every message of a group pertinent: counters are full, and none has wrapped.
    #[test]
    fn full_groups_are_counted() {
        for messages in [0, 1, 95, 96, 97, 4096, 65_536, 912_672] {
            let mut counters = vec![0; CubicCounters::of_messages(messages)];
            for i in 0..messages {
                let counter = &mut counters[CubicCounters::of_message(i)];
                *counter = (*counter + 1) % P as u8;
            }
            assert_eq!(CubicCounters::total(&counters), Ok(messages as usize));
        }
        assert_eq!(CubicCounters::of_messages(65_536), 683);
        let error = DecodeError::SumRange(1, Mismatch::new(97, 97));
        assert_eq!(CubicCounters::total(&[96, 97]), Err(error));
    }
}

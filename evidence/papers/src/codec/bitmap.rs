//! Indices with one bit for each message (OMR1p, OMD1p).

use omr_codec::{CodecError, DecodeError, Field};
use omr_protocol::Mismatch;

/// The position of the bits of consecutive messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitmapOrder {
    /// OMR1p: consecutive bits of one slot.
    Packed,
    /// OMD1p: consecutive slots. Each batch of `slots` messages uses one bit of every slot.
    Batches {
        /// The number of messages in a batch.
        slots: usize,
    },
}

/// An index with one bit for each message, `floor(log2 p)` bits to a slot.
///
/// A message adds one power of two to one slot, and no other message adds that bit: there are no collisions,
/// and there is no bound. All bits in use are valid sets of messages, so a wrong sum is detected only if it
/// sets other bits; [`Combinations::solve`](super::Combinations::solve) checks the set against payloads.
#[derive(Debug, Clone)]
pub struct IndexBitmap {
    order: BitmapOrder,
    modulus: u32,
    bits: u32,
    messages: u64,
}

impl IndexBitmap {
    /// Builds the index of `messages` messages.
    ///
    /// Errors: [`CodecError::Modulus`]; [`CodecError::Dimension`] for batches of 0 slots, or for 2^32 messages
    /// or more.
    pub fn new(p: u32, order: BitmapOrder, messages: u64) -> Result<Self, CodecError> {
        let modulus = Field::new(p)?.modulus();
        if order == (BitmapOrder::Batches { slots: 0 }) {
            return Err(CodecError::Dimension(Mismatch::new(
                "batches of at least one slot",
                0,
            )));
        }
        if messages > u64::from(u32::MAX) {
            return Err(CodecError::Dimension(Mismatch::new(
                "fewer than 2^32 messages",
                messages,
            )));
        }
        Ok(Self {
            order,
            modulus,
            bits: p.ilog2(),
            messages,
        })
    }

    /// Returns the number of bits in a slot.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of index weights of a message. All weights but one are 0.
    pub fn index_weights(&self) -> usize {
        let count = |unit: u64| self.messages.div_ceil(unit) as usize;
        match self.order {
            BitmapOrder::Packed => count(self.bits.into()),
            BitmapOrder::Batches { slots } => count(u64::from(self.bits) * slots as u64) * slots,
        }
    }

    /// Returns the slot of a message and the power of two that the message adds there.
    ///
    /// Panics: if the index has no message `index`.
    pub fn place(&self, index: u64) -> (usize, u32) {
        assert!(index < self.messages, "message {index}");
        let bits = u64::from(self.bits);
        let (slot, bit) = match self.order {
            BitmapOrder::Packed => (index / bits, index % bits),
            BitmapOrder::Batches { slots } => {
                let (batch, slot) = (index / slots as u64, index % slots as u64);
                (batch / bits * slots as u64 + slot, batch % bits)
            }
        };
        (slot as usize, 1 << bit)
    }

    /// Returns the pertinent messages whose index weights add up to `sums`, in ascending order.
    ///
    /// Shape:  [`IndexBitmap::index_weights`] sums.   Time: vartime.
    ///
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`] for a sum with a bit that no message uses.
    pub fn find_support(&self, sums: &[u32]) -> Result<Vec<u64>, DecodeError> {
        let (expected, found) = (self.index_weights(), sums.len());
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        let mut support = Vec::new();
        for (slot, &sum) in sums.iter().enumerate() {
            for bit in 0..u32::BITS {
                if sum >> bit & 1 == 1 {
                    support.push(self.message(slot, bit).ok_or(DecodeError::SumRange(
                        slot,
                        Mismatch::new(self.modulus, sum),
                    ))?);
                }
            }
        }
        support.sort_unstable();
        Ok(support)
    }

    /// Returns the message of a bit, if there is one.
    fn message(&self, slot: usize, bit: u32) -> Option<u64> {
        let (slot, bit, bits) = (slot as u64, u64::from(bit), u64::from(self.bits));
        let index = match self.order {
            BitmapOrder::Packed => slot * bits + bit,
            BitmapOrder::Batches { slots } => {
                let slots = slots as u64;
                (slot / slots * bits + bit) * slots + slot % slots
            }
        };
        Some(index).filter(|&index| bit < bits && index < self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [BitmapOrder; 3] = [
        BitmapOrder::Packed,
        BitmapOrder::Batches { slots: 8 },
        BitmapOrder::Batches { slots: 1 },
    ];

    #[test]
    fn every_message_has_a_bit_of_its_own() {
        for (p, order) in [(65_537, 0), (65_537, 1), (786_433, 0), (17, 1), (17, 2)] {
            let bitmap = IndexBitmap::new(p, ORDERS[order], 333).unwrap();
            let mut sums = vec![0; bitmap.index_weights()];
            for index in 0..333 {
                let (slot, weight) = bitmap.place(index);
                assert_eq!(sums[slot] & weight, 0, "{index}");
                sums[slot] += weight;
                let alone: Vec<u32> = (0..sums.len())
                    .map(|i| u32::from(i == slot) * weight)
                    .collect();
                assert_eq!(bitmap.find_support(&alone).unwrap(), [index]);
            }
            assert!(sums.iter().all(|&sum| sum < p));
            let all: Vec<u64> = (0..333).collect();
            assert_eq!(bitmap.find_support(&sums).unwrap(), all);
        }
    }

    #[test]
    fn published_layouts() {
        let omr = IndexBitmap::new(65_537, BitmapOrder::Packed, 1 << 19).unwrap();
        assert_eq!((omr.index_weights(), omr.place(37)), (1 << 15, (2, 1 << 5)));
        let batches = BitmapOrder::Batches { slots: 1 << 15 };
        let omd = IndexBitmap::new(65_537, batches, 1 << 19).unwrap();
        let third = 2 * (1 << 15) + 9;
        assert_eq!(
            (omd.index_weights(), omd.place(third)),
            (1 << 15, (9, 1 << 2))
        );
    }

    #[test]
    fn sums_with_unused_bits_are_refused() {
        for order in ORDERS {
            let bitmap = IndexBitmap::new(17, order, 10).unwrap();
            let zeros = vec![0; bitmap.index_weights()];
            let last = zeros.len() - 1;
            for found in [16, 17, u32::MAX] {
                let mut sums = zeros.clone();
                sums[last] = found;
                let error = DecodeError::SumRange(last, Mismatch::new(17, found));
                assert_eq!(bitmap.find_support(&sums), Err(error));
            }
            let (expected, found) = (zeros.len(), last);
            let error = DecodeError::SumCount(Mismatch::new(expected, found));
            assert_eq!(bitmap.find_support(&zeros[1..]), Err(error));
        }
        assert!(IndexBitmap::new(15, BitmapOrder::Packed, 9).is_err());
        assert!(IndexBitmap::new(17, BitmapOrder::Batches { slots: 0 }, 9).is_err());
        assert!(IndexBitmap::new(17, BitmapOrder::Packed, 1 << 32).is_err());
    }
}

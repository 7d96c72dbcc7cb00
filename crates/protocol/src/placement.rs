//! The slot and the sign of each message of a batch.

use omr_ring::Xof;
use rand_core::Rng;

/// Length in bytes of the seed of all placements of a digest.
pub const SEED_BYTES: usize = 32;

/// A random permutation of the slots of one batch.
///
/// Senders post before the detector draws the seed, so they can choose the messages of a batch but not their slots: see
/// docs/security/failures.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    slot: Vec<u32>,
    message: Vec<u32>,
    seed: [u8; SEED_BYTES],
    batch: u64,
}

impl Placement {
    /// Draws the permutation of `slots` slots for batch `batch`, counted over the whole digest (Fisher and Yates, from
    /// the last message down).
    ///
    /// Time:   variable, of public values.
    /// Panics: for 2^32 slots or more.
    pub fn new(seed: &[u8; SEED_BYTES], batch: usize, slots: usize) -> Self {
        let count = u32::try_from(slots).expect("slots fit 32 bits");
        let mut draw = Draw(Xof::stream("omr placement v1", seed, &[batch as u64]));
        let mut slot: Vec<u32> = (0..count).collect();
        for i in (1..count).rev() {
            slot.swap(i as usize, draw.below(i + 1) as usize);
        }
        let mut message = vec![0; slots];
        for (i, &z) in (0..).zip(&slot) {
            message[z as usize] = i;
        }
        Self {
            slot,
            message,
            seed: *seed,
            batch: batch as u64,
        }
    }

    /// Returns for each slot `z` whether the clue in it (a, b and h) is negated before it is packed: bit `z mod 8` of
    /// byte `floor(z / 8)` of `Xof("omr clue signs v1", seed, (batch))` (`docs/wire.md`, section 3). The range check
    /// treats both signs alike, and nobody can predict what packing makes of a clue: see docs/security/failures.md.
    pub fn negated(&self) -> Vec<bool> {
        let mut stream = Xof::stream("omr clue signs v1", &self.seed, &[self.batch]);
        let mut bytes = vec![0; self.slot.len().div_ceil(8)];
        stream.fill_bytes(&mut bytes);
        let bit = |slot: usize| bytes[slot / 8] >> (slot % 8) & 1 == 1;
        (0..self.slot.len()).map(bit).collect()
    }

    /// Returns the slot of each message of the batch, by the message's number from 0.
    pub fn slots(&self) -> &[u32] {
        &self.slot
    }

    /// Returns the number of each slot's message in the batch. Messages of some slots do not exist if the batch is not
    /// full.
    pub fn messages(&self) -> &[u32] {
        &self.message
    }
}

/// A source of uniform numbers from a stream of 32-bit words.
struct Draw<R>(R);

impl<R: Rng> Draw<R> {
    /// Returns a uniform number below `bound`, without bias (Lemire 2019).
    fn below(&mut self, bound: u32) -> u32 {
        let least = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.0.next_u32()) * u64::from(bound);
            if product as u32 >= least {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_and_its_inverse() {
        for slots in [0, 1, 2, 3, 100, 2048] {
            let placement = Placement::new(&[3; SEED_BYTES], 5, slots);
            assert_eq!(placement.slots().len(), slots);
            assert_eq!(placement.messages().len(), slots);
            for (message, &slot) in placement.slots().iter().enumerate() {
                assert_eq!(placement.messages()[slot as usize] as usize, message);
            }
        }
    }

    #[test]
    fn the_example_of_the_wire_format() {
        let placement = Placement::new(&[7; SEED_BYTES], 1, 8);
        assert_eq!(placement.slots(), [0, 1, 4, 6, 2, 3, 7, 5]);
    }

    #[test]
    fn signs_are_those_of_the_wire_format() {
        let negated = |batch| Placement::new(&[7; SEED_BYTES], batch, 12).negated();
        let expected = [1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0].map(|x| x == 1);
        assert_eq!(negated(1), expected);
        assert_ne!(negated(0), negated(1));
        let many = Placement::new(&[7; SEED_BYTES], 0, 1 << 16).negated();
        let count = many.iter().filter(|&&negated| negated).count();
        assert!(count.abs_diff(1 << 15) < 5 * 128, "{count}");
    }

    #[test]
    fn seeds_and_batches_differ() {
        let of = |seed, batch| Placement::new(&[seed; SEED_BYTES], batch, 64);
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert_ne!(of(1, 0), of(2, 0));
    }

    /// Words whose product falls in the uneven part are rejected.
    #[test]
    fn uneven_words_are_dropped() {
        struct Words(Vec<u32>);
        impl rand_core::TryRng for Words {
            type Error = std::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.0.pop().expect("a word"))
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                unreachable!()
            }
            fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
                unreachable!()
            }
        }
        // 2^32 mod 3 = 1: of the words 0 and 2^31 only the first is uneven.
        assert_eq!(Draw(Words(vec![1 << 31, 0])).below(3), 1);
        assert_eq!(Draw(Words(vec![u32::MAX])).below(3), 2);
        // A power of two divides 2^32, so no word is rejected.
        assert_eq!(Draw(Words(vec![0])).below(4), 0);
    }

    /// All 24 orders of 4 messages are equally frequent, within 4.5 deviations at 23 degrees of freedom.
    #[test]
    fn all_orders_are_equally_likely() {
        const DRAWS: usize = 24_000;
        let mut counts = std::collections::BTreeMap::new();
        for batch in 0..DRAWS {
            let placement = Placement::new(&[9; SEED_BYTES], batch, 4);
            *counts.entry(placement.slots().to_vec()).or_insert(0usize) += 1;
        }
        let expected = DRAWS as f64 / 24.0;
        let chi: f64 = counts
            .values()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum();
        assert!(
            counts.len() == 24 && chi < 23.0 + 4.5 * 46f64.sqrt(),
            "{chi}"
        );
    }
}

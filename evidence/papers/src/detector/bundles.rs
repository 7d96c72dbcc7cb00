//! The assignment of slots to bundles.

use super::PaperError;
use crate::clear::Params;
use omr_protocol::Mismatch;

/// Bundles of `size` slots each: the slots at the roots `omega zeta` with `zeta^size = 1`, whose sum is a
/// trace.
///
/// Bundle `j = row count/2 + c` has the slots of that row in the columns `c, c + count/2, ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundles {
    slots: usize,
    size: usize,
}

impl Bundles {
    /// Returns bundles of `size` messages in a batch.
    ///
    /// Errors: `BundleSize` if `size` is not a power of two up to 16, or leaves fewer than 256 bundles.
    pub fn new(params: &Params, size: usize) -> Result<Self, PaperError> {
        let slots = params.slots();
        let largest = (slots / 256).min(16);
        if size.is_power_of_two() && size <= largest {
            Ok(Self { slots, size })
        } else {
            Err(PaperError::BundleSize(Mismatch::new(largest, size)))
        }
    }

    /// Returns the number of messages in a bundle.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of bundles in a batch.
    pub fn count(&self) -> usize {
        self.slots / self.size
    }

    /// Returns the slots of bundle `bundle`. [`omr_protocol::Placement`] determines the messages in them.
    pub fn slots(&self, bundle: usize) -> impl Iterator<Item = usize> + use<> {
        let half = self.count() / 2;
        let (row, column) = (bundle / half, bundle % half);
        let first = row * self.slots / 2 + column;
        (0..self.size).map(move |i| first + i * half)
    }

    /// Returns the bundle of a slot, and the slot's number within the bundle.
    pub fn locate(&self, slot: usize) -> (usize, usize) {
        let (half, row_len) = (self.count() / 2, self.slots / 2);
        let (row, column) = (slot / row_len, slot % row_len);
        (row * half + column % half, column / half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_one_place_and_members_share_a_power() {
        let params = crate::detector::params_of("insecure-tiny-perfomr1-v1");
        let n = params.slots();
        for size in [1, 2, 4, 8] {
            let bundles = Bundles::new(&params, size).unwrap();
            let mut seen = vec![false; n];
            for bundle in 0..bundles.count() {
                let mut powers = Vec::new();
                for (i, slot) in bundles.slots(bundle).enumerate() {
                    assert_eq!(bundles.locate(slot), (bundle, i));
                    assert!(!std::mem::replace(&mut seen[slot], true));
                    powers.push(params.plain.order().exponent(slot) * size % (2 * n));
                }
                powers.dedup();
                assert_eq!(powers.len(), 1);
            }
            assert!(seen.into_iter().all(|s| s));
        }
        for size in [0, 3, 16, 4096] {
            let error = Bundles::new(&params, size).err();
            assert!(matches!(error, Some(PaperError::BundleSize(_))));
        }
    }
}

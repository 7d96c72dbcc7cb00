//! The nodes of the power sums: one field element for every (batch, slot).

use crate::error::CodecError;
use crate::field::Field;
use crate::logarithm::Logarithm;
use crate::powers::Powers;

/// The node of slot `s` of batch `b` is `g^(B*s + b)`, with `g` the smallest generator of `F_p^*`
/// and `B = (p - 1) / slots`. All nodes are distinct and none is zero.
#[derive(Debug, Clone)]
pub struct Nodes {
    field: Field,
    logarithm: Logarithm<Field>,
    slots: usize,
    /// `B`.
    stride: usize,
    batches: usize,
    powers: Powers<Field>,
}

/// A pertinent message found: its place and its node. Ordered by (batch, slot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Located {
    /// The batch of `slots` messages.
    pub batch: usize,
    /// The slot within the batch.
    pub slot: usize,
    /// The node of this batch and slot.
    pub node: u32,
}

impl Nodes {
    /// Builds the nodes of all `(p - 1) / slots` batches.
    ///
    /// Errors: [`CodecError::Modulus`]; [`CodecError::NotSmooth`] where `p - 1` has a prime factor
    /// above `2^16`; [`CodecError::Slots`] unless `slots` is a power of two dividing `p - 1`.
    pub fn new(p: u32, slots: usize) -> Result<Self, CodecError> {
        let field = Field::new(p)?;
        let logarithm = Logarithm::new(field)?;
        let order = p - 1;
        if !slots.is_power_of_two() || !(order as usize).is_multiple_of(slots) {
            return Err(CodecError::Slots {
                order,
                found: slots,
            });
        }
        let stride = order as usize / slots;
        Ok(Self {
            field,
            logarithm,
            slots,
            stride,
            batches: stride,
            powers: Powers::new(field),
        })
    }

    /// Keeps the same nodes for the first `batches` batches and drops the others: a sum that needs
    /// one of them is then inconsistent.
    ///
    /// Errors: [`CodecError::Batches`] outside `1..=(p - 1) / slots`.
    pub fn limited_to(mut self, batches: usize) -> Result<Self, CodecError> {
        if !(1..=self.stride).contains(&batches) {
            return Err(CodecError::Batches {
                limit: self.stride,
                found: batches,
            });
        }
        self.batches = batches;
        Ok(self)
    }

    /// The field of the nodes.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The batches that have nodes.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// The slots of one batch.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The node of `slot` of `batch`, in `1..p`.
    ///
    /// Panics: unless `batch < batches()` and `slot < slots()`.
    pub fn node(&self, batch: usize, slot: usize) -> u32 {
        assert!(batch < self.batches, "batch {batch} of {}", self.batches);
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.powers.power(self.stride * slot + batch)
    }

    /// The (batch, slot) whose node is `x`, or `None` where no batch in use has it.
    pub fn locate(&self, x: u32) -> Option<(usize, usize)> {
        self.locate_any(x)
            .filter(|&(batch, _)| batch < self.batches)
    }

    /// As [`Nodes::locate`], in batches not in use too: only zero and non-elements have no place.
    pub(crate) fn locate_any(&self, x: u32) -> Option<(usize, usize)> {
        let exponent = self.logarithm.of(x)? as usize;
        Some((exponent % self.stride, exponent / self.stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_small_fields_is_distinct_and_located() {
        for (p, slots) in [
            (3, 1),
            (3, 2),
            (13, 4),
            (257, 32),
            (65_537, 65_536),
            (61_441, 4096),
        ] {
            let nodes = Nodes::new(p, slots).unwrap();
            assert_eq!(nodes.batches() * slots, p as usize - 1);
            for batch in 0..nodes.batches() {
                for slot in 0..slots {
                    let exponent = (nodes.batches() * slot + batch) as u64;
                    let node = nodes.node(batch, slot);
                    assert_eq!(node, nodes.field().pow(nodes.field().generator(), exponent));
                    assert_eq!(nodes.locate(node), Some((batch, slot)));
                }
            }
            assert_eq!((nodes.locate(0), nodes.locate(p)), (None, None));
        }
    }

    #[test]
    fn default_prime_has_twelve_batches() {
        let nodes = Nodes::new(786_433, 65_536).unwrap();
        assert_eq!((nodes.batches(), nodes.slots()), (12, 65_536));
        let node = nodes.node(11, 65_535);
        assert_eq!(node, nodes.field().inv(nodes.field().generator()).unwrap());
        assert_eq!(nodes.locate(node), Some((11, 65_535)));
        assert_eq!(nodes.limited_to(11).unwrap().locate(node), None);
    }

    #[test]
    fn shapes_are_checked() {
        for found in [0, 3, 1 << 19] {
            let error = Nodes::new(786_433, found).unwrap_err();
            assert_eq!(
                error,
                CodecError::Slots {
                    order: 786_432,
                    found
                }
            );
        }
        for found in [0, 13] {
            let error = Nodes::new(786_433, 65_536)
                .unwrap()
                .limited_to(found)
                .unwrap_err();
            assert_eq!(error, CodecError::Batches { limit: 12, found });
        }
    }

    #[test]
    #[should_panic(expected = "slot 4 of 4")]
    fn slot_out_of_range_panics() {
        Nodes::new(13, 4).unwrap().node(0, 4);
    }
}

//! The nodes of the power sums: one field element for every (batch, slot).

use crate::error::{CodecError, DecodeError};
use crate::field::Field;
use crate::powers::Powers;
use crate::runs::{RUN, Runs};
use crate::support::{Search, Support};
use omr_errors::Mismatch;

/// The node of slot `s` of batch `b` is `g^(B*s + b)`, with `g` the smallest generator of `F_p^*`
/// and `B = (p - 1) / slots`. All nodes are distinct and none is zero.
#[derive(Debug, Clone)]
pub struct Nodes {
    field: Field,
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
    /// Errors: [`CodecError::Modulus`]; [`CodecError::Slots`] unless `slots` is a power of two
    /// dividing `p - 1`.
    pub fn new(p: u32, slots: usize) -> Result<Self, CodecError> {
        let field = Field::new(p)?;
        let order = p - 1;
        if !slots.is_power_of_two() || !(order as usize).is_multiple_of(slots) {
            return Err(CodecError::Slots(Mismatch::new(order, slots)));
        }
        let stride = order as usize / slots;
        Ok(Self {
            field,
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
            return Err(CodecError::Batches(Mismatch::new(self.stride, batches)));
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

    /// Starts a search for the pertinent messages whose power sums are given.
    ///
    /// Shape:  `sums[e]` is the sum of `x^e`; more than `bound` of them.   Range: `[0, p)`, and
    /// `bound` below `p`.
    /// Errors: [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`].
    pub fn search(&self, sums: &[u32], bound: usize) -> Result<NodeSearch<'_>, DecodeError> {
        let search = Search::new(self.field, sums.to_vec(), bound)?;
        let step = self.powers.power(self.stride);
        Ok(NodeSearch {
            nodes: self,
            runs: Runs::new(self.field, search.locator(), step),
            search,
        })
    }
}

/// A search among the messages of one batch after another.
#[derive(Debug)]
pub struct NodeSearch<'a> {
    nodes: &'a Nodes,
    runs: Runs,
    search: Search<Field>,
}

impl NodeSearch<'_> {
    /// Looks at the messages of a batch, each given by its slot. Labels of messages count over all
    /// batches, from 0.
    ///
    /// Time: that of `bound` multiply-adds a slot and as many choices a message, whatever the sums.
    /// Panics: unless the batch and all slots have nodes.
    pub fn batch(&mut self, batch: usize, slots: &[u32]) {
        let nodes = self.nodes;
        let runs = (0..nodes.slots).step_by(RUN);
        let roots: Vec<u32> = runs
            .flat_map(|slot| self.runs.vanishes(nodes.node(batch, slot)))
            .collect();
        for &slot in slots {
            let slot = slot as usize;
            let node = nodes.node(batch, slot);
            self.search.candidate(roots[slot], node);
        }
    }

    /// Returns the messages that were found, checked against all sums.
    pub fn finish(self) -> Support<Field> {
        self.search.finish()
    }
}

/// Finds the set of nodes, of all batches, whose power sums are given, ordered by (batch, slot).
///
/// The first sum is the size `t` of the set, the next `bound` determine it, and any further ones are
/// redundant: each lets a wrong sum through with probability about `1 / p`, as do those from the
/// `t`-th on. Without them, wrong sums that determine another set go unnoticed (`t` random ones do
/// with probability below `1 / t!`).
///
/// Shape:  `sums[e]` is the sum of `x^e`; more than `bound` of them.   Range: `[0, p)`, and
/// `bound` below `p`.
/// Errors: [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`]; [`DecodeError::Overflow`] where
/// `t` exceeds `bound`; [`DecodeError::Inconsistent`] where no set of nodes has these sums.
pub fn find_support(
    nodes: &Nodes,
    sums: &[u32],
    bound: usize,
) -> Result<Vec<Located>, DecodeError> {
    let mut search = nodes.search(sums, bound)?;
    let slots: Vec<u32> = (0..nodes.slots as u32).collect();
    (0..nodes.batches).for_each(|batch| search.batch(batch, &slots));
    let support = search.finish();
    let found = support.labels().iter().zip(support.nodes());
    let located = |(&label, &node): (&u32, &u32)| Located {
        batch: label as usize / nodes.slots,
        slot: label as usize % nodes.slots,
        node,
    };
    Ok(found.take(support.count()?).map(located).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inconsistency;
    use crate::support::power_sums;

    #[test]
    fn nodes_are_the_powers_of_the_generator() {
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
                }
            }
        }
    }

    #[test]
    fn default_prime_has_twelve_batches() {
        let nodes = Nodes::new(786_433, 65_536).unwrap();
        assert_eq!((nodes.batches(), nodes.slots()), (12, 65_536));
        let node = nodes.node(11, 65_535);
        assert_eq!(node, nodes.field().inv(nodes.field().generator()).unwrap());
    }

    #[test]
    fn shapes_are_checked() {
        for found in [0, 3, 1 << 19] {
            let error = Nodes::new(786_433, found).unwrap_err();
            assert_eq!(error, CodecError::Slots(Mismatch::new(786_432, found)));
        }
        for found in [0, 13] {
            let error = Nodes::new(786_433, 65_536)
                .unwrap()
                .limited_to(found)
                .unwrap_err();
            assert_eq!(error, CodecError::Batches(Mismatch::new(12, found)));
        }
    }

    #[test]
    #[should_panic(expected = "slot 4 of 4")]
    fn slot_out_of_range_panics() {
        Nodes::new(13, 4).unwrap().node(0, 4);
    }

    fn sums_of(nodes: &Nodes, places: &[(usize, usize)], m: usize) -> Vec<u32> {
        let chosen: Vec<u32> = places.iter().map(|&(b, s)| nodes.node(b, s)).collect();
        power_sums(nodes.field(), &chosen, m)
    }

    fn default_nodes() -> Nodes {
        Nodes::new(786_433, 65_536).unwrap()
    }

    #[test]
    fn nothing_pertinent() {
        let nodes = default_nodes();
        assert_eq!(find_support(&nodes, &[0], 0), Ok(vec![]));
        assert_eq!(find_support(&nodes, &[0; 51], 50), Ok(vec![]));
        let cause = Inconsistency::Sum(2, Mismatch::new(0, 7));
        assert_eq!(find_support(&nodes, &[0, 0, 7], 1), Err(cause.into()));
    }

    #[test]
    fn support_comes_sorted_by_place() {
        let nodes = default_nodes();
        let places = [(3, 9), (0, 65_535), (11, 0), (0, 1)];
        let support = find_support(&nodes, &sums_of(&nodes, &places, 6), 4).unwrap();
        let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
        assert_eq!(found, [(0, 1), (0, 65_535), (3, 9), (11, 0)]);
        assert!(
            support
                .iter()
                .all(|l| l.node == nodes.node(l.batch, l.slot))
        );
    }

    #[test]
    fn overflow_and_shapes() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 1), (0, 2), (0, 3)], 4);
        let overflow = DecodeError::Overflow { count: 3, bound: 2 };
        assert_eq!(find_support(&nodes, &sums, 2), Err(overflow));
        let few = DecodeError::TooFewSums(Mismatch::new(5, 4));
        assert_eq!(find_support(&nodes, &sums, 4), Err(few));
        let few = DecodeError::TooFewSums(Mismatch::new(1, 0));
        assert_eq!(find_support(&nodes, &[], 0), Err(few));
        let range = DecodeError::SumRange(1, Mismatch::new(786_433, 786_433));
        assert_eq!(find_support(&nodes, &[0, 786_433], 1), Err(range));
    }

    #[test]
    fn a_repeated_node_is_inconsistent() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 5), (0, 5), (2, 5)], 6);
        let cause = Inconsistency::Roots(Mismatch::new(3, 2));
        assert_eq!(find_support(&nodes, &sums, 3), Err(cause.into()));
    }

    #[test]
    fn zero_is_no_node() {
        let nodes = default_nodes();
        for (with_zero, found) in [(vec![0], 0), (vec![0, 17], 1), (vec![17, 0, 5], 2)] {
            let sums = power_sums(nodes.field(), &with_zero, 8);
            let expected = with_zero.len();
            let cause = Inconsistency::Roots(Mismatch::new(expected, found));
            assert_eq!(find_support(&nodes, &sums, 3), Err(cause.into()));
        }
    }

    #[test]
    fn every_set_size_of_a_tiny_field() {
        let nodes = Nodes::new(13, 4).unwrap();
        for size in 0..=12 {
            let places: Vec<_> = (0..size).map(|i| (i / 4, i % 4)).collect();
            let support = find_support(&nodes, &sums_of(&nodes, &places, 13), 12).unwrap();
            let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
            assert_eq!(found, places);
        }
    }

    #[test]
    fn batches_not_in_use_are_inconsistent() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 5), (2, 5)], 4);
        let (expected, found) = (2, 1);
        let cause = Inconsistency::Roots(Mismatch::new(expected, found));
        let limited = nodes.limited_to(2).unwrap();
        assert_eq!(find_support(&limited, &sums, 2), Err(cause.into()));
    }

    #[test]
    fn labels_count_the_candidates_of_all_batches() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 3), (1, 70), (1, 2)], 6);
        let mut search = nodes.search(&sums, 5).unwrap();
        search.batch(0, &[9, 3, 8]);
        search.batch(1, &[70, 1, 2, 65_535]);
        let support = search.finish();
        assert_eq!(support.count(), Ok(3));
        assert_eq!(support.labels(), [1, 3, 5, 0, 0]);
        let expected = [nodes.node(0, 3), nodes.node(1, 70), nodes.node(1, 2), 0, 0];
        assert_eq!(support.nodes(), expected);
        // A message that is no candidate is missed, and reported.
        let mut search = nodes.search(&sums, 5).unwrap();
        search.batch(0, &[9, 3, 8]);
        search.batch(1, &[70]);
        let (expected, found) = (3, 2);
        let cause = Inconsistency::Roots(Mismatch::new(expected, found));
        assert_eq!(search.finish().count(), Err(cause.into()));
    }
}

//! The node of every message of a board.

use super::element::CubicElement;
use super::field::Cubic;
use super::permutation::Permutation;
use crate::powers::Powers;

/// The messages that have nodes: the non-zero elements of [`Cubic`].
pub const CUBIC_MESSAGES: u64 = 912_672;

/// The node of message `i` is `y^(pi(i))`, with `y` the generator of [`Cubic`] and `pi` a keyed
/// permutation. All nodes are distinct and none is zero.
///
/// A node depends on the message's index alone, so that sums over the parts of a board add up.
#[derive(Debug, Clone)]
pub struct CubicNodes {
    permutation: Permutation,
    powers: Powers<Cubic>,
}

impl CubicNodes {
    /// Derives the permutation from a seed.
    ///
    /// Time: below a millisecond; about 100 KB are kept.
    pub fn new(seed: &[u8; 32]) -> Self {
        Self {
            permutation: Permutation::new(seed, CUBIC_MESSAGES as usize),
            powers: Powers::new(Cubic),
        }
    }

    /// The node of message `index`.
    ///
    /// Panics: unless `index < CUBIC_MESSAGES`.
    pub fn node(&self, index: u64) -> CubicElement {
        assert!(
            index < CUBIC_MESSAGES,
            "message {index} of {CUBIC_MESSAGES}"
        );
        self.powers.power(self.permutation.forward(index as usize))
    }

    pub(super) fn powers(&self) -> &Powers<Cubic> {
        &self.powers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_distinct_and_never_zero() {
        let nodes = CubicNodes::new(&[3; 32]);
        let mut seen = std::collections::HashSet::new();
        for index in (0..1000).chain(CUBIC_MESSAGES - 1000..CUBIC_MESSAGES) {
            let node = nodes.node(index);
            assert!(node != CubicElement::default() && seen.insert(node));
        }
    }

    #[test]
    #[should_panic(expected = "message 912672 of 912672")]
    fn index_out_of_range_panics() {
        CubicNodes::new(&[0; 32]).node(CUBIC_MESSAGES);
    }
}

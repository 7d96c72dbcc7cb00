//! Sets of primes of a ring.

use std::sync::Arc;

/// An ordered set of primes of a [`crate::Ring`], by their position in its universe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis(Arc<[usize]>);

impl Basis {
    /// The basis of these primes, in this order.
    pub fn new(ids: impl IntoIterator<Item = usize>) -> Self {
        Self(ids.into_iter().collect())
    }

    /// The primes' positions in the universe.
    pub fn ids(&self) -> &[usize] {
        &self.0
    }

    /// The number of primes (limbs).
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no prime.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether prime `id` belongs to it.
    pub fn contains(&self, id: usize) -> bool {
        self.0.contains(&id)
    }

    /// The limb that holds prime `id`.
    pub fn position(&self, id: usize) -> Option<usize> {
        self.0.iter().position(|&x| x == id)
    }

    /// The union: the primes of this basis, then those of `other` that it lacks.
    pub fn union(&self, other: &Basis) -> Basis {
        let added = other.0.iter().filter(|&&id| !self.contains(id));
        Basis::new(self.0.iter().chain(added).copied())
    }

    /// The difference: the primes of this basis that `other` lacks, in this basis' order.
    pub fn minus(&self, other: &Basis) -> Basis {
        Basis::new(self.0.iter().filter(|&&id| !other.contains(id)).copied())
    }

    /// The intersection: the primes of this basis that `other` has too, in this basis' order.
    pub fn intersection(&self, other: &Basis) -> Basis {
        Basis::new(self.0.iter().filter(|&&id| other.contains(id)).copied())
    }
}

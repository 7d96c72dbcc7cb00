//! The memory of detection keys, and masks that keys with one seed share there.

use super::Part;
use crate::sophomr::Params;
use omr_ring::Ring;
use omr_rlwe::Masks;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

/// A seed, a part of a key, and the number of masks.
type Name = ([u8; 32], u64, usize);

type Living = HashMap<Name, Weak<[omr_ring::Poly<omr_ring::Eval>]>>;

/// The memory in which detection keys are placed: that of the polynomials of three rings. Keys with one seed share masks
/// there.
pub struct KeyPlace {
    large: Ring,
    small: Ring,
    packing: Ring,
    pub(super) kept_masks: KeptMasks,
}

impl KeyPlace {
    /// Makes a place in the memory of the polynomials of these rings, which have the dimensions and primes of the
    /// large ring, the small ring and the ring of packing of a parameter set.
    #[must_use]
    pub fn new(large: Ring, small: Ring, packing: Ring) -> Self {
        Self {
            large,
            small,
            packing,
            kept_masks: KeptMasks::default(),
        }
    }

    /// Returns the large ring.
    pub fn large(&self) -> &Ring {
        &self.large
    }

    /// Returns the small ring.
    pub fn small(&self) -> &Ring {
        &self.small
    }

    /// Returns the ring of packing.
    pub fn packing(&self) -> &Ring {
        &self.packing
    }

    /// Returns the ring of a part with its polynomials in this place. Packing is copied there, narrowing and the final
    /// part are used by the processor only.
    pub(super) fn ring<'a>(&'a self, part: Part, params: &'a Params) -> &'a Ring {
        match part {
            Part::Step
            | Part::Giant
            | Part::Baby
            | Part::Product
            | Part::Descent
            | Part::Secret => &self.large,
            Part::Turn | Part::Swap | Part::Merge(_) => &self.small,
            Part::Packing | Part::Narrow | Part::Final => part.shape(params).0,
        }
    }
}

/// The masks of seeds that several keys have, for as long as one of these keys is alive. A second key neither derives
/// nor stores them again.
///
/// All masks are derived here from their seed. A key's file determines nothing but the seed, so no key can damage the
/// masks of another.
#[derive(Default)]
pub(super) struct KeptMasks(Mutex<Living>);

impl KeptMasks {
    /// Returns the masks of this name that a live key shares; derives them if there is none.
    pub(super) fn held_or_drawn(&self, name: Name, draw: impl FnOnce() -> Masks) -> Masks {
        if let Some(masks) = self.lock().get(&name).and_then(Weak::upgrade) {
            return masks;
        }
        // The lock is not held meanwhile: deriving runs on threads that would otherwise wait for it.
        let drawn = draw();
        let mut living = self.lock();
        if let Some(masks) = living.get(&name).and_then(Weak::upgrade) {
            return masks;
        }
        living.retain(|_, masks| masks.strong_count() > 0);
        living.insert(name, std::sync::Arc::downgrade(&drawn));
        drawn
    }

    fn lock(&self) -> MutexGuard<'_, Living> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::KeptMasks;
    use omr_rlwe::Masks;
    use std::sync::Arc;

    fn none() -> Masks {
        Arc::new([])
    }

    #[test]
    fn masks_are_derived_once_while_a_key_with_them_lives() {
        let kept = KeptMasks::default();
        let name = ([1; 32], 2, 3);
        let first = kept.held_or_drawn(name, none);
        let again = kept.held_or_drawn(name, || panic!("drawn again"));
        assert!(Arc::ptr_eq(&first, &again));
        for other in [([2; 32], 2, 3), ([1; 32], 3, 3), ([1; 32], 2, 4)] {
            let other = kept.held_or_drawn(other, none);
            assert!(!Arc::ptr_eq(&first, &other));
        }
        drop((first, again));
        let mut drawn = false;
        let _held = kept.held_or_drawn(name, || {
            drawn = true;
            none()
        });
        assert!(drawn);
        // Names without live masks are removed.
        assert_eq!(kept.lock().len(), 1);
    }

    #[test]
    fn keys_that_derive_masks_at_the_same_time_share_them() {
        let (kept, name) = (KeptMasks::default(), ([1; 32], 2, 3));
        let mut between = None;
        let outer = kept.held_or_drawn(name, || {
            between = Some(kept.held_or_drawn(name, none));
            none()
        });
        assert!(Arc::ptr_eq(&outer, &between.unwrap()));
    }
}

//! Masks that keys of one seed hold together.

use omr_rlwe::Masks;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

/// Of a seed and a part, of so many masks.
type Name = ([u8; 32], u64, usize);

type Living = HashMap<Name, Weak<[omr_ring::Poly<omr_ring::Eval>]>>;

/// The masks of seeds that several keys have, for as long as one of these keys lives: a second key neither draws nor
/// stores them again.
///
/// All of them were drawn here from their seed. Nothing of a key's file but the seed decides them, so no key can spoil
/// another one's.
#[derive(Default)]
pub(crate) struct KeptMasks(Mutex<Living>);

impl KeptMasks {
    /// The masks of this name that a key holds; drawn where none does.
    pub(super) fn held_or_drawn(&self, name: Name, draw: impl FnOnce() -> Masks) -> Masks {
        if let Some(masks) = self.lock().get(&name).and_then(Weak::upgrade) {
            return masks;
        }
        // Not under the lock: threads that wait for it would be missing where masks are drawn.
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
    fn masks_are_drawn_once_for_as_long_as_someone_holds_them() {
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
        // Names that nobody holds go.
        assert_eq!(kept.lock().len(), 1);
    }

    #[test]
    fn who_draws_at_the_same_time_holds_the_same() {
        let (kept, name) = (KeptMasks::default(), ([1; 32], 2, 3));
        let mut between = None;
        let outer = kept.held_or_drawn(name, || {
            between = Some(kept.held_or_drawn(name, none));
            none()
        });
        assert!(Arc::ptr_eq(&outer, &between.unwrap()));
    }
}

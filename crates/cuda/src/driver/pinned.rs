//! Memory of the processor that a card reads and writes by itself, while the processor does something else.

use super::{Card, Mark, call, check, lock};
use crate::{MachineError, Reading};
use cudarc::driver::sys;
use std::ops::RangeInclusive;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// Words that are written by way of such memory: fewer the driver keeps itself, and more would take too much of it.
pub(super) const WRITES: RangeInclusive<usize> = (8 << 10)..=(1 << 20);

/// Pieces of it that are kept at most.
const KEPT: usize = 16;

/// A piece of it.
pub(super) struct Pinned {
    at: *mut u64,
    room: usize,
}

// SAFETY: it is this value's alone, but for what the card does with it until a mark.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(words: usize) -> Result<Self, MachineError> {
        let (mut at, room) = (null_mut(), words.next_power_of_two());
        call!(cuMemAllocHost_v2(&mut at, 8 * room))?;
        let at = at.cast::<u64>();
        // SAFETY: the driver gave that many words.
        unsafe { at.write_bytes(0, room) };
        Ok(Self { at, room })
    }

    /// The first words of it. Panics: where it is shorter.
    pub(super) fn words(&mut self, words: usize) -> &mut [u64] {
        assert!(words <= self.room, "room for {words} words");
        // SAFETY: the driver gave that many words, which were written to and are nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.at, words) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = call!(cuMemFreeHost(self.at.cast()));
    }
}

/// Pieces that are used again and again, each with what has to happen before.
#[derive(Default)]
pub(super) struct Pins(Mutex<Vec<(Pinned, Option<Mark>)>>);

impl Pins {
    /// A piece with room for so many words.
    ///
    /// Errors: `Call`.
    pub(super) fn take(&self, words: usize) -> Result<Pinned, MachineError> {
        let mut kept = lock(&self.0);
        let fits = |(own, until): &(Pinned, Option<Mark>)| {
            own.room == words.next_power_of_two() && until.as_ref().is_none_or(Mark::has_happened)
        };
        match kept.iter().position(fits) {
            Some(place) => Ok(kept.swap_remove(place).0),
            None => Pinned::new(words),
        }
    }

    /// Gives a piece back, which the card uses until a mark.
    pub(super) fn give(&self, pinned: Pinned, until: Option<Mark>) {
        let mut kept = lock(&self.0);
        kept.push((pinned, until));
        if kept.len() > KEPT {
            let (_least_used, until) = kept.remove(0);
            let _ = until.map(|mark| mark.wait());
        }
    }

    /// Drops all of them.
    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// Words that the card writes until a mark.
pub(super) struct Words {
    card: Arc<Card>,
    pinned: Option<Pinned>,
    words: usize,
    mark: Mark,
}

impl Words {
    pub(super) fn new(card: Arc<Card>, pinned: Pinned, words: usize, mark: Mark) -> Self {
        Self {
            card,
            pinned: Some(pinned),
            words,
            mark,
        }
    }
}

impl Reading for Words {
    fn words(&mut self) -> Result<&[u64], MachineError> {
        self.card.enter()?;
        self.mark.wait()?;
        let pinned = self.pinned.as_mut().expect("kept until it is dropped");
        Ok(pinned.words(self.words))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // The card may still write.
        let _ = self.card.enter().and_then(|()| self.mark.wait());
        if let Some(pinned) = self.pinned.take() {
            self.card.pins.give(pinned, None);
        }
    }
}

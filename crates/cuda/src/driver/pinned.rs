//! Pinned memory of the processor, which a card reads and writes while the processor does other work.

use super::{Card, Mark, call, check, lock};
use crate::{MachineError, Reading};
use cudarc::driver::sys;
use std::ops::RangeInclusive;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// Numbers of bytes that are written through pinned memory. The driver copies fewer itself, and more would take too much
/// pinned memory.
pub(super) const WRITES: RangeInclusive<usize> = (64 << 10)..=(8 << 20);

/// Largest number of pieces that are kept.
const KEPT: usize = 16;

/// A piece of pinned memory.
pub(super) struct Pinned {
    at: *mut u64,
    room: usize,
}

// SAFETY: the memory belongs to this value only, except for the card's accesses until a mark.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(words: usize) -> Result<Self, MachineError> {
        let (mut at, room) = (null_mut(), words.next_power_of_two());
        call!(cuMemAllocHost_v2(&mut at, 8 * room))?;
        let at = at.cast::<u64>();
        // SAFETY: the driver returned memory for that many words.
        unsafe { at.write_bytes(0, room) };
        Ok(Self { at, room })
    }

    /// Returns the first words of the piece.
    ///
    /// Panics: if it is shorter.
    pub(super) fn words(&mut self, words: usize) -> &mut [u64] {
        assert!(words <= self.room, "room for {words} words");
        // SAFETY: the driver returned memory for that many words, all of which were written, and which nobody else
        // uses.
        unsafe { std::slice::from_raw_parts_mut(self.at, words) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = call!(cuMemFreeHost(self.at.cast()));
    }
}

/// Pieces for repeated use, each with the mark that must happen before.
#[derive(Default)]
pub(super) struct Pins(Mutex<Vec<(Pinned, Option<Mark>)>>);

impl Pins {
    /// Returns a piece with room for this number of words.
    ///
    /// Errors: `Call`.
    pub(super) fn take(&self, words: usize) -> Result<Pinned, MachineError> {
        let mut kept = lock(&self.0);
        let fits = |(own, until): &(Pinned, Option<Mark>)| {
            own.room == words.next_power_of_two() && until.as_ref().is_none_or(Mark::has_happened)
        };
        if let Some(place) = kept.iter().position(fits) {
            return Ok(kept.swap_remove(place).0);
        }
        // Allocating takes long.
        drop(kept);
        Pinned::new(words)
    }

    /// Returns a piece to the pool. The card uses it until a mark.
    pub(super) fn give(&self, pinned: Pinned, until: Option<Mark>) {
        let mut kept = lock(&self.0);
        kept.push((pinned, until));
        if kept.len() > KEPT {
            let (_least_used, until) = kept.remove(0);
            drop(kept);
            let _ = until.map(|mark| mark.wait());
        }
    }

    /// Drops all pieces.
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
        // The card may still be writing.
        let _ = self.card.enter().and_then(|()| self.mark.wait());
        if let Some(pinned) = self.pinned.take() {
            self.card.pins.give(pinned, None);
        }
    }
}

//! A storage whose program can crash after any of its transactions.

use super::world::Fault;
use crate::memory::{Draft, Glance};
use crate::{Change, Memory, Storage};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// The transactions of one inbox, however often it is opened.
#[derive(Clone, Default)]
pub(super) struct Writes(Rc<State>);

#[derive(Default)]
struct State {
    count: Cell<u64>,
    crash_after: Cell<Option<u64>>,
    has_crashed: Cell<bool>,
}

/// The payload of the panic that unwinds the stack at a crash.
struct Crash;

impl Writes {
    /// Returns the number of transactions so far.
    pub(super) fn count(&self) -> u64 {
        self.0.count.get()
    }

    /// Makes the program crash, once, after the transaction of this number or the next one.
    pub(super) fn crash_after(&self, number: Option<u64>) {
        self.0.crash_after.set(number);
    }

    /// Returns whether the crash took place.
    pub(super) fn has_crashed(&self) -> bool {
        self.0.has_crashed.get()
    }

    fn note(&self) {
        self.0.count.set(self.count() + 1);
        let crash_after = self.0.crash_after.get();
        if crash_after.is_some_and(|number| number <= self.count()) {
            self.0.crash_after.set(None);
            self.0.has_crashed.set(true);
            // `resume_unwind` prints no message.
            resume_unwind(Box::new(Crash));
        }
    }
}

/// Runs until a crash. Returns whether there was none.
pub(super) fn is_whole(run: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => true,
        Err(cause) if cause.is::<Crash>() => false,
        Err(cause) => resume_unwind(cause),
    }
}

/// Records in memory, with transactions that are counted.
pub(super) struct Disk {
    memory: Memory<Fault>,
    writes: Writes,
}

impl Disk {
    pub(super) fn new(memory: Memory<Fault>, writes: &Writes) -> Self {
        let writes = writes.clone();
        Self { memory, writes }
    }

    pub(super) fn take_changes(&self) -> Vec<Change> {
        self.memory.take_changes()
    }
}

impl Storage for Disk {
    type Error = Fault;
    type Look<'a> = Glance<'a, Fault>;
    type Edit<'a> = Draft<'a, Fault>;

    fn read<T>(
        &self,
        look: impl FnOnce(&Glance<'_, Fault>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.memory.read(look)
    }

    fn write<T>(
        &self,
        steps: impl FnOnce(&mut Draft<'_, Fault>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let result = self.memory.write(steps)?;
        self.writes.note();
        Ok(result)
    }
}

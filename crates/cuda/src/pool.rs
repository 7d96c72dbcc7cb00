//! A pool of a machine's memory, because allocating takes longer than most kernels.

use crate::{Machine, MachineError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Unused memory, by length in words. A machine runs calls in their order, so returned memory can be used again at
/// once.
pub(crate) struct Pool {
    machine: Arc<dyn Machine>,
    unused: Mutex<HashMap<usize, Vec<u64>>>,
}

impl Pool {
    pub(crate) fn new(machine: Arc<dyn Machine>) -> Self {
        Self {
            machine,
            unused: Mutex::default(),
        }
    }

    fn unused(&self) -> MutexGuard<'_, HashMap<usize, Vec<u64>>> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns memory for this number of words.
    ///
    /// Errors: those of the machine, after all unused memory was released.
    pub(crate) fn take(&self, words: usize) -> Result<u64, MachineError> {
        if let Some(address) = self.unused().get_mut(&words).and_then(Vec::pop) {
            return Ok(address);
        }
        self.machine.allocate(words).or_else(|_| {
            self.release();
            self.machine.allocate(words)
        })
    }

    pub(crate) fn give(&self, address: u64, words: usize) {
        self.unused().entry(words).or_default().push(address);
    }

    /// Overwrites all unused memory.
    ///
    /// Errors: those of the machine.
    pub(crate) fn clear(&self) -> Result<(), MachineError> {
        let unused = self.unused();
        let mut all = unused
            .iter()
            .flat_map(|(words, addresses)| addresses.iter().map(move |address| (*address, *words)));
        all.try_for_each(|(address, words)| self.machine.clear(address, words))
    }

    /// Releases all unused memory.
    pub(crate) fn release(&self) {
        for (words, addresses) in self.unused().drain() {
            for address in addresses {
                self.machine.release(address, words);
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.release();
    }
}

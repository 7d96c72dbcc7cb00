//! Clients in the order of their charged seconds, the fewest first.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// Seconds with a total order.
#[derive(Clone, Copy, Debug)]
struct Seconds(f64);

impl PartialEq for Seconds {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Seconds {}

impl PartialOrd for Seconds {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seconds {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Clients with their charged seconds at the time of an entry. Each client that may be chosen has one valid entry,
/// whose seconds are at most the present ones. At the front an outdated entry is replaced by the present seconds, and
/// an invalid entry is removed.
#[derive(Clone, Debug, Default)]
pub(super) struct FairOrder {
    heap: BinaryHeap<Reverse<(Seconds, u64)>>,
    /// The valid entry of each client.
    noted: HashMap<u64, Seconds>,
}

#[cfg(test)]
thread_local! {
    /// The number of entries that this thread has looked at.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl FairOrder {
    /// Adds an entry for a client, unless its valid entry has no more seconds.
    pub(super) fn note(&mut self, client: u64, spent: f64) {
        let entry = Seconds(spent);
        if self.noted.get(&client).is_none_or(|noted| *noted > entry) {
            self.noted.insert(client, entry);
            self.heap.push(Reverse((entry, client)));
        }
    }

    /// Returns the client with the fewest seconds. `spent` returns the present seconds of clients that may be chosen,
    /// and `None` for others.
    pub(super) fn least(&mut self, spent: impl Fn(u64) -> Option<f64>) -> Option<u64> {
        loop {
            #[cfg(test)]
            LOOKS.set(LOOKS.get() + 1);
            let Reverse((entry, client)) = *self.heap.peek()?;
            let counts = self.noted.get(&client) == Some(&entry);
            let now = spent(client).filter(|_| counts);
            if now.is_some_and(|now| Seconds(now) == entry) {
                return Some(client);
            }
            self.heap.pop();
            if counts {
                self.noted.remove(&client);
            }
            if let Some(now) = now {
                self.note(client, now);
            }
        }
    }
}

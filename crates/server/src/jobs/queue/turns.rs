//! Clients by what they have had, the one with least first.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// Seconds, in their order.
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

/// Clients with what they had when they were noted. Whoever is wanted has one entry that counts, which is not above what
/// she has had now: it moves up once it comes to the front. Those that do not count are dropped there.
#[derive(Clone, Debug, Default)]
pub(super) struct FairOrder {
    heap: BinaryHeap<Reverse<(Seconds, u64)>>,
    /// The entries that count.
    noted: HashMap<u64, Seconds>,
}

#[cfg(test)]
thread_local! {
    /// Entries that this thread has looked at.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl FairOrder {
    /// Says what a client has had, unless less is noted.
    pub(super) fn note(&mut self, client: u64, spent: f64) {
        let spent = Seconds(spent);
        if self.noted.get(&client).is_none_or(|noted| *noted > spent) {
            self.noted.insert(client, spent);
            self.heap.push(Reverse((spent, client)));
        }
    }

    /// The client who has had least, by `spent`, which knows those who are wanted alone.
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

//! Numbers of jobs by state and owner, kept up to date so that no call has to count jobs.

use super::{Id, JobRecord, State};
use crate::caller::Caller;
use crate::share::{Owned, Owner, Taken};
use crate::strangers::ANONYMOUS;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of a finished job, which orders jobs by age, and its id.
pub(super) type Place = (u64, Id);

/// Numbers of jobs.
#[derive(Default)]
pub(super) struct Tally {
    queued: u64,
    running: u64,
    /// The number of queued and running jobs that are for orders.
    ordered: u64,
    /// The other queued and running jobs, by owner.
    unfinished: Owned,
    finished: HashMap<Owner, BTreeSet<Place>>,
    /// The finished jobs of all clients without a token, with the client, which the disk does not store.
    strangers: BTreeMap<Place, u64>,
}

impl Tally {
    /// Counts a job in its present state.
    pub(super) fn add(&mut self, id: &Id, record: &JobRecord) {
        let owner = Owner::new(&record.account, record.client);
        match record.state {
            State::Queued => self.queued += 1,
            State::Running => self.running += 1,
            // Finished jobs of orders are counted there, and deleted by age.
            _ if record.ordered => return,
            _ => {
                let place = (record.number, *id);
                if record.account == ANONYMOUS {
                    self.strangers.insert(place, record.client);
                }
                self.finished.entry(owner).or_default().insert(place);
                return;
            }
        }
        if record.ordered {
            self.ordered += 1
        } else {
            self.unfinished.add(owner)
        }
    }

    /// Removes a job from the counts. Its state must be the one in which it was counted. The record of a finished job
    /// may be from the disk.
    pub(super) fn remove(&mut self, id: &Id, record: &JobRecord) {
        let owner = Owner::new(&record.account, record.client);
        match record.state {
            State::Queued => self.queued -= 1,
            State::Running => self.running -= 1,
            _ if record.ordered => return,
            _ => return self.remove_finished(&record.account, &(record.number, *id)),
        }
        if record.ordered {
            self.ordered -= 1
        } else {
            self.unfinished.remove(&owner)
        }
    }

    /// Removes a finished job of an account from the counts.
    pub(super) fn remove_finished(&mut self, account: &str, place: &Place) {
        let client = match account {
            ANONYMOUS => self.strangers.remove(place),
            _ => None,
        };
        let owner = Owner::new(account, client.unwrap_or(0));
        if let Some(own) = self.finished.get_mut(&owner) {
            own.remove(place);
            if own.is_empty() {
                self.finished.remove(&owner);
            }
        }
    }

    /// Returns the number of queued jobs and the number of running ones.
    pub(super) fn unfinished(&self) -> [u64; 2] {
        [self.queued, self.running]
    }

    /// Returns the number of unfinished jobs for orders.
    pub(super) fn ordered(&self) -> u64 {
        self.ordered
    }

    /// Returns the numbers of unfinished jobs of the caller and of all clients, without those for orders.
    pub(super) fn taken(&self, caller: &Caller) -> Taken {
        self.unfinished.taken(caller)
    }

    /// Returns the caller's oldest finished jobs that must go so that one more job makes at most `most`. For a caller
    /// without a token this includes the oldest jobs of all such callers that must go so that one more makes at most
    /// `strangers`.
    pub(super) fn oldest(&self, caller: &Caller, most: usize, strangers: usize) -> Vec<Place> {
        let owner = Owner::new(&caller.account, caller.client);
        let mut old = self
            .finished
            .get(&owner)
            .map_or(Vec::new(), |own| beyond(own.iter(), most));
        if caller.is_anonymous() {
            old.extend(beyond(self.strangers.keys(), strangers));
            old.sort_unstable();
            old.dedup();
        }
        old
    }
}

/// Returns the first of the places that must go so that one more makes at most `most`.
fn beyond<'a>(places: impl ExactSizeIterator<Item = &'a Place>, most: usize) -> Vec<Place> {
    let excess = (places.len() + 1).saturating_sub(most);
    places.take(excess).copied().collect()
}

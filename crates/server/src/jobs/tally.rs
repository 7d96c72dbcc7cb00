//! How many jobs of each state there are and whose, kept up to date so that no call counts them.

use super::{Id, JobRecord, State};
use crate::caller::{ANONYMOUS, Caller};
use crate::share::{Owned, Owner, Taken};
use std::collections::{BTreeSet, HashMap};

/// Finished jobs by age.
type ByAge = BTreeSet<(u64, Id)>;

/// Numbers of jobs.
#[derive(Default)]
pub(super) struct Tally {
    queued: u64,
    running: u64,
    /// Those of both that are for orders.
    ordered: u64,
    /// Those of both that are not.
    unfinished: Owned,
    finished: HashMap<Owner, ByAge>,
    /// Those of all clients without a token.
    strangers: ByAge,
}

impl Tally {
    /// Counts a job in the state in which it is.
    pub(super) fn add(&mut self, id: &Id, record: &JobRecord) {
        let owner = Owner::new(&record.account, record.client);
        match record.state {
            State::Queued => self.queued += 1,
            State::Running => self.running += 1,
            // Orders say how many there are, and their age when they go.
            _ if record.ordered => return,
            _ => {
                let place = (record.number, *id);
                if record.account == ANONYMOUS {
                    self.strangers.insert(place);
                }
                self.finished.entry(owner).or_default().insert(place);
                return;
            }
        }
        match record.ordered {
            true => self.ordered += 1,
            false => self.unfinished.add(owner),
        }
    }

    /// Counts a job no more, which is in the state in which it was counted.
    pub(super) fn remove(&mut self, id: &Id, record: &JobRecord) {
        let owner = Owner::new(&record.account, record.client);
        match record.state {
            State::Queued => self.queued -= 1,
            State::Running => self.running -= 1,
            _ if record.ordered => return,
            _ => {
                let place = (record.number, *id);
                self.strangers.remove(&place);
                if let Some(own) = self.finished.get_mut(&owner) {
                    own.remove(&place);
                    if own.is_empty() {
                        self.finished.remove(&owner);
                    }
                }
                return;
            }
        }
        match record.ordered {
            true => self.ordered -= 1,
            false => self.unfinished.remove(&owner),
        }
    }

    /// Jobs that wait, and jobs that run.
    pub(super) fn unfinished(&self) -> [u64; 2] {
        [self.queued, self.running]
    }

    /// Unfinished jobs for orders.
    pub(super) fn ordered(&self) -> u64 {
        self.ordered
    }

    /// Unfinished jobs of a caller and of all, but those for orders.
    pub(super) fn taken(&self, caller: &Caller) -> Taken {
        self.unfinished.taken(caller)
    }

    /// The caller's oldest finished jobs, so many that one more leaves `most`; for one without a token also the oldest
    /// of all such, so that one more leaves `strangers`.
    pub(super) fn oldest(&self, caller: &Caller, most: usize, strangers: usize) -> Vec<Id> {
        let owner = Owner::new(&caller.account, caller.client);
        let mut old: Vec<Id> = self
            .finished
            .get(&owner)
            .map_or(Vec::new(), |own| beyond(own, most));
        if caller.is_anonymous() {
            old.extend(beyond(&self.strangers, strangers));
            old.sort_unstable();
            old.dedup();
        }
        old
    }
}

fn beyond(by_age: &ByAge, most: usize) -> Vec<Id> {
    let excess = (by_age.len() + 1).saturating_sub(most);
    by_age.iter().take(excess).map(|(_, id)| *id).collect()
}

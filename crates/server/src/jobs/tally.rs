//! How many jobs of each state there are and whose, kept up to date so that no call counts them.

use super::{Id, JobRecord, State};
use crate::caller::{ANONYMOUS, Caller};
use crate::share::{Owned, Owner, Taken};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A finished job: its number, which tells its age, and its id.
pub(super) type Place = (u64, Id);

/// Numbers of jobs.
#[derive(Default)]
pub(super) struct Tally {
    queued: u64,
    running: u64,
    /// Those of both that are for orders.
    ordered: u64,
    /// Those of both that are not.
    unfinished: Owned,
    finished: HashMap<Owner, BTreeSet<Place>>,
    /// Those of all clients without a token, with the client, whom the disk does not tell.
    strangers: BTreeMap<Place, u64>,
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

    /// Counts a job no more, which is in the state in which it was counted; the record of a finished one may be from the
    /// disk.
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

    /// Counts a finished job of an account no more.
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
    pub(super) fn oldest(&self, caller: &Caller, most: usize, strangers: usize) -> Vec<Place> {
        let owner = Owner::new(&caller.account, caller.client);
        let own = self.finished.get(&owner);
        let mut old = own.map_or(Vec::new(), |own| beyond(own.iter(), most));
        if caller.is_anonymous() {
            old.extend(beyond(self.strangers.keys(), strangers));
            old.sort_unstable();
            old.dedup();
        }
        old
    }
}

/// The first of places in their order, so many that one more leaves `most`.
fn beyond<'a>(places: impl ExactSizeIterator<Item = &'a Place>, most: usize) -> Vec<Place> {
    let excess = (places.len() + 1).saturating_sub(most);
    places.take(excess).copied().collect()
}

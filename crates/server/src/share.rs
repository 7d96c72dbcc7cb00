//! Fair shares of resources that all clients use.
//!
//! There are three limits: one for each client, one for all clients without a token, one for all clients. A quarter is
//! reserved for clients with tokens, because anybody can create any number of clients without one.

use crate::caller::Caller;
use crate::strangers::{ANONYMOUS, of_one_stranger, of_strangers};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The use of a resource so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// The use of the client itself.
    pub(crate) own: usize,
    /// The use of all clients without a token.
    pub(crate) strangers: usize,
    /// The use of all clients.
    pub(crate) all: usize,
}

/// The owner of a quota: an account, or an address for a client without a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    account: Box<str>,
    client: u64,
}

impl Owner {
    pub(crate) fn new(account: &str, client: u64) -> Self {
        let stranger = account == ANONYMOUS;
        Self {
            account: account.into(),
            client: if stranger { client } else { 0 },
        }
    }

    fn is_stranger(&self) -> bool {
        &*self.account == ANONYMOUS
    }
}

/// The numbers of something that owners have.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    each: HashMap<Owner, usize>,
    strangers: usize,
    all: usize,
}

impl Owned {
    pub(crate) fn add(&mut self, owner: Owner) {
        self.all += 1;
        self.strangers += usize::from(owner.is_stranger());
        *self.each.entry(owner).or_default() += 1;
    }

    /// Removes one from an owner's number.
    pub(crate) fn remove(&mut self, owner: &Owner) {
        let Some(own) = self.each.get_mut(owner) else {
            return;
        };
        *own -= 1;
        if *own == 0 {
            self.each.remove(owner);
        }
        self.all -= 1;
        self.strangers -= usize::from(owner.is_stranger());
    }

    /// Returns the use of a caller and of all others.
    pub(crate) fn taken(&self, caller: &Caller) -> Taken {
        let owner = Owner::new(&caller.account, caller.client);
        Taken {
            own: self.each.get(&owner).copied().unwrap_or(0),
            strangers: self.strangers,
            all: self.all,
        }
    }
}

/// The limit that leaves no room for one more, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    Own(usize),
    All(usize),
}

impl Taken {
    /// Counts one more.
    pub(crate) fn add(&mut self, own: bool, stranger: bool) {
        self.own += usize::from(own);
        self.strangers += usize::from(stranger);
        self.all += 1;
    }

    /// Checks that a client may have one more, where each client may have `each` and all clients may have `all`.
    pub(crate) fn check(&self, stranger: bool, each: usize, all: usize) -> Result<(), Full> {
        let most = of_strangers(all);
        if self.own >= each {
            return Err(Full::Own(each));
        }
        if stranger && self.strangers >= most {
            return Err(Full::All(most));
        }
        if self.all >= all {
            return Err(Full::All(all));
        }
        Ok(())
    }
}

/// Places that clients hold for a while.
pub(crate) struct Places {
    all: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    strangers: usize,
    clients: HashMap<u64, usize>,
}

/// A place, which is free again when this is dropped.
pub(crate) struct Place {
    places: Arc<Places>,
    client: u64,
    stranger: bool,
}

impl Places {
    pub(crate) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self {
            all,
            held: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a place. One client has at most half of what its kind may have, so that a second one always has room.
    pub(crate) fn take(self: &Arc<Self>, caller: &Caller) -> Option<Place> {
        let stranger = caller.is_anonymous();
        let each = if stranger {
            of_one_stranger(self.all)
        } else {
            self.all.div_ceil(2)
        };
        self.take_of(caller.client, stranger, each)
    }

    /// Reserves a place for a client that may have `each`.
    pub(crate) fn take_of(
        self: &Arc<Self>,
        client: u64,
        stranger: bool,
        each: usize,
    ) -> Option<Place> {
        let mut held = self.lock();
        let taken = Taken {
            own: held.clients.get(&client).copied().unwrap_or(0),
            strangers: held.strangers,
            all: held.all,
        };
        taken.check(stranger, each, self.all).ok()?;
        held.all += 1;
        held.strangers += usize::from(stranger);
        *held.clients.entry(client).or_default() += 1;
        Some(Place {
            places: self.clone(),
            client,
            stranger,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.lock();
        held.all -= 1;
        held.strangers -= usize::from(self.stranger);
        if let Some(own) = held.clients.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                held.clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(account: &str, client: u64) -> Caller {
        Caller::test(account, client)
    }

    #[test]
    fn strangers_leave_a_quarter_and_nobody_has_it_all() {
        let places = Places::new(8);
        let mut held = Vec::new();
        for client in 0..10 {
            held.extend((0..10).map_while(|_| places.take(&caller("", client))));
        }
        // Three places each: the first two clients have all places for clients without a token.
        assert_eq!(held.len(), 6);
        assert!(held.iter().all(|place| place.client < 2));
        assert!(places.take(&caller("known", 50)).is_some());
        let known: Vec<Place> = (0..9)
            .map_while(|_| places.take(&caller("known", 50)))
            .collect();
        assert_eq!(known.len(), 2);
        drop(known);
        drop(held.pop());
        assert!(places.take(&caller("", 7)).is_some());
        drop(held);
        assert!(places.lock().clients.is_empty() && places.lock().all == 0);
    }

    #[test]
    fn few_places_are_still_some() {
        for all in 1..4 {
            let places = Places::new(all);
            let held: Vec<_> = (0..4)
                .map_while(|client| places.take(&caller("", client)))
                .collect();
            assert_eq!(held.len(), (all - 1).max(1));
            let reserved = places.take(&caller("known", 9)).is_some();
            assert_eq!(reserved, all > 1, "{all}");
        }
        assert_eq!(of_strangers(1000), 750);
    }
}

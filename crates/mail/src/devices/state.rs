//! The file `devices`: changes that all devices of a person know, and changes that the others lack.

use super::update::{Contact, Update};
use crate::{Address, Home, MailError};
use omr_protocol::hex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the file in the folder.
pub(crate) const FILE: &str = "devices";
/// The name of the file that is locked while that file changes.
const LOCK: &str = "devices.lock";

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Devices {
    /// The ids of the addresses whose owner's letters are applied: the address at the time of the link, and those that
    /// replaced it. A person who has the secret of an earlier one must have no influence.
    pub(super) addresses: BTreeSet<String>,
    /// The last change of every contact, by its name.
    pub(super) contacts: BTreeMap<String, Changed>,
    /// The ids of forgotten addresses, and whether the other devices know.
    pub(super) forgotten: BTreeMap<String, bool>,
    /// The names of retired identities that were replaced here and whose successors no other device has, oldest first.
    pub(super) replaced: Vec<String>,
}

/// The last change of a contact.
#[derive(Serialize, Deserialize)]
pub(super) struct Changed {
    /// The time in seconds since 1970.
    time: u64,
    /// The fingerprint of the address; `None` if the contact was removed.
    fingerprint: Option<String>,
    /// Whether the other devices know.
    pub(super) shared: bool,
}

impl Devices {
    /// Reads the file; `None` if the home has no other devices.
    pub(super) fn read(home: &Home) -> Result<Option<Self>, MailError> {
        home.read_json(FILE)
    }

    pub(super) fn write(&self, home: &Home) -> Result<(), MailError> {
        home.write_json(FILE, self)
    }

    /// Changes the file while no other process can.
    ///
    /// Errors: `NotLinked`, `File`, `Settings`.
    pub(super) fn change<T>(home: &Home, act: impl FnOnce(&mut Self) -> T) -> Result<T, MailError> {
        let lock = home.lock_file(LOCK)?;
        omr_disk::lock(&lock).map_err(MailError::file(home.path(LOCK)))?;
        let missing = || MailError::NotLinked(home.dir().to_owned());
        let mut devices = Self::read(home)?.ok_or_else(missing)?;
        let done = act(&mut devices);
        devices.write(home)?;
        Ok(done)
    }

    /// Records the contacts that changed here since the last call, as changed at `now`.
    pub(super) fn observe(&mut self, home: &Home, now: u64) -> Result<(), MailError> {
        let contacts: BTreeMap<String, Address> = home.contacts()?.into_iter().collect();
        let names: BTreeSet<&String> = contacts.keys().chain(self.contacts.keys()).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        for name in names {
            let fingerprint = contacts.get(&name).map(fingerprint_of);
            let known = self.contacts.get(&name);
            if known.is_some_and(|known| known.fingerprint == fingerprint) {
                continue;
            }
            // A change here is later than the one that it replaces, whatever the clocks show.
            let time = known.map_or(now, |known| now.max(known.time + 1));
            let shared = false;
            let changed = Changed {
                time,
                fingerprint,
                shared,
            };
            self.contacts.insert(name, changed);
        }
        Ok(())
    }

    /// Returns what the other devices do not know, without read marks.
    pub(super) fn unshared(&self, home: &Home) -> Result<Update, MailError> {
        let mut update = Update::default();
        for (name, changed) in self.contacts.iter().filter(|(_, changed)| !changed.shared) {
            let address = match changed.fingerprint {
                Some(_) => Some(home.contact(name)?.to_text()),
                None => None,
            };
            let time = changed.time;
            update
                .contacts
                .insert(name.clone(), Contact { time, address });
        }
        let forgotten = self.forgotten.iter().filter(|(_, shared)| !**shared);
        update.forgotten = forgotten.map(|(id, _)| id.clone()).collect();
        Ok(update)
    }

    /// Records that the other devices know of an update.
    pub(super) fn mark_shared(&mut self, update: &Update) {
        for (name, contact) in &update.contacts {
            if let Some(changed) = self.contacts.get_mut(name) {
                changed.shared |= changed.time == contact.time;
            }
        }
        self.forget(&update.forgotten);
    }

    /// Records addresses that all devices forget.
    pub(super) fn forget(&mut self, ids: &[String]) {
        let known = ids.iter().map(|id| (id.clone(), true));
        self.forgotten.extend(known);
    }

    /// Makes another device's changes of contacts, unless a contact changed later here. Returns the number of changes.
    ///
    /// Errors: `File`; those of [`Address::from_text`] and [`Home::add_contact`].
    pub(super) fn merge(
        &mut self,
        home: &Home,
        contacts: &BTreeMap<String, Contact>,
    ) -> Result<usize, MailError> {
        let mut changes = 0;
        for (name, contact) in contacts {
            let address = contact.address.as_deref().map(Address::from_text);
            let address = address.transpose()?;
            let fingerprint = address.as_ref().map(fingerprint_of);
            let known = self.contacts.get(name);
            let is_later = known.is_none_or(|known| {
                (contact.time, &fingerprint) > (known.time, &known.fingerprint)
            });
            if !is_later {
                continue;
            }
            if known.and_then(|known| known.fingerprint.as_ref()) != fingerprint.as_ref() {
                match home.drop_contact(name) {
                    Err(MailError::NoContact(_)) => {}
                    removed => removed?,
                }
                if let Some(address) = &address {
                    home.put_contact(name, address)?;
                }
                changes += 1;
            }
            let (time, shared) = (contact.time, true);
            let changed = Changed {
                time,
                fingerprint,
                shared,
            };
            self.contacts.insert(name.clone(), changed);
        }
        Ok(changes)
    }
}

fn fingerprint_of(address: &Address) -> String {
    hex(&address.fingerprint_bytes())
}

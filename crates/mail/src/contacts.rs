//! Addresses by name.

use crate::devices::note_contacts;
use crate::home::private_folder;
use crate::{Address, Home, MailError, ShortAddress};
use omr_disk::temporary::folder_of;
use omr_protocol::FINGERPRINT_BYTES;
use std::collections::BTreeMap;
use std::{fs, io};

pub(crate) const FOLDER: &str = "contacts";

impl Home {
    /// Keeps an address under a name. The other devices of a linked home will hear of it with the time of this call.
    ///
    /// Errors: `Name`, `ContactExists`, `File`.
    pub fn add_contact(&self, name: &str, address: &Address) -> Result<(), MailError> {
        self.put_contact(name, address)?;
        note_contacts(self)
    }

    /// Keeps an address under a name, as [`Home::add_contact`] does, without a record for other devices.
    pub(crate) fn put_contact(&self, name: &str, address: &Address) -> Result<(), MailError> {
        let file = file_of(name)?;
        self.create()?;
        let folder = self.path(FOLDER);
        private_folder(&folder).map_err(MailError::file(&folder))?;
        if self.path(&file).exists() {
            return Err(MailError::ContactExists(name.to_owned()));
        }
        self.write_bytes(&file, address.to_text().as_bytes())
    }

    /// Returns the address under a name.
    ///
    /// Errors: `Name`, `NoContact`; those of [`Address::from_text`].
    pub fn contact(&self, name: &str) -> Result<Address, MailError> {
        let missing = || MailError::NoContact(name.to_owned());
        let bytes = self.read(&file_of(name)?)?.ok_or_else(missing)?;
        Address::from_file(bytes.to_vec())
    }

    /// Returns all names with their addresses, in the order of the names.
    ///
    /// Errors: `File`; those of [`Address::from_text`].
    pub fn contacts(&self) -> Result<Vec<(String, Address)>, MailError> {
        let folder = self.path(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(MailError::file(&folder))?,
        };
        let mut contacts = Vec::new();
        for entry in entries {
            let name = entry.map_err(MailError::file(&folder))?.file_name();
            // The names of temporary files that a crash left begin with a dot.
            if let Some(name) = name.to_str().filter(|name| file_of(name).is_ok()) {
                contacts.push((name.to_owned(), self.contact(name)?));
            }
        }
        contacts.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(contacts)
    }

    /// Returns the name of each contact by the fingerprint of the address, 32 hexadecimal digits, as letters state it.
    /// Of several names for one address, the first counts.
    ///
    /// Errors: those of [`Home::contacts`].
    pub fn contact_names(&self) -> Result<BTreeMap<String, String>, MailError> {
        let mut names = BTreeMap::new();
        for (name, address) in self.contacts()? {
            let fingerprint = omr_protocol::hex(&address.fingerprint_bytes());
            names.entry(fingerprint).or_insert(name);
        }
        Ok(names)
    }

    /// Returns the fingerprint of a sender, by a contact's name or a short address.
    ///
    /// Errors: `ShortAddress`; those of [`Home::contact`].
    pub fn sender(&self, who: &str) -> Result<[u8; FINGERPRINT_BYTES], MailError> {
        let short = if ShortAddress::is_meant(who) {
            who.parse()?
        } else {
            ShortAddress::of(&self.contact(who)?)
        };
        Ok(*short.fingerprint())
    }

    /// Removes a name. The other devices of a linked home will hear of it with the time of this call.
    ///
    /// Errors: `Name`, `NoContact`, `File`.
    pub fn remove_contact(&self, name: &str) -> Result<(), MailError> {
        self.drop_contact(name)?;
        note_contacts(self)
    }

    /// Removes a name, as [`Home::remove_contact`] does, without a record for other devices.
    pub(crate) fn drop_contact(&self, name: &str) -> Result<(), MailError> {
        let path = self.path(&file_of(name)?);
        let removed = fs::remove_file(&path).and_then(|()| omr_disk::sync_folder(folder_of(&path)));
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(MailError::NoContact(name.to_owned()))
            }
            removed => removed.map_err(MailError::file(path)),
        }
    }
}

/// Returns the name of a contact's file, which is always in the folder of contacts.
///
/// Errors: `Name`.
fn file_of(name: &str) -> Result<String, MailError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(plain);
    if fits {
        Ok(format!("{FOLDER}/{name}"))
    } else {
        Err(MailError::Name(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        assert_eq!(home.contacts().unwrap(), []);
        let address = Address {
            server: None,
            clue_key: vec![1; 100],
            terms: None,
            verifying_key: None,
            period_keys: None,
        };
        home.add_contact("bob", &address).unwrap();
        home.add_contact("alice", &address).unwrap();
        let taken = home.add_contact("bob", &address);
        assert!(matches!(taken, Err(MailError::ContactExists(_))));
        let names: Vec<String> = home.contacts().unwrap().into_iter().map(|c| c.0).collect();
        assert_eq!(names, ["alice", "bob"]);
        assert_eq!(home.contact("bob").unwrap(), address);
        let digits = address.fingerprint().replace(' ', "");
        let named = [(digits, "alice".to_owned())].into();
        assert_eq!(home.contact_names().unwrap(), named);
        home.remove_contact("bob").unwrap();
        let gone = [home.contact("bob").map(drop), home.remove_contact("bob")];
        assert!(
            gone.iter()
                .all(|gone| matches!(gone, Err(MailError::NoContact(_))))
        );
        for name in ["", "..", "../x", "a/b", ".hidden", "a b"] {
            assert!(
                matches!(home.contact(name), Err(MailError::Name(_))),
                "{name}"
            );
        }
    }
}

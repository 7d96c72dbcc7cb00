//! Records for a storage that others can read, such as a browser's: contents and keys are encrypted.
//!
//! A record is stored under its table and a name: keyed BLAKE3 of the table and the record's key. Its content is a nonce
//! of 12 bytes and, encrypted with ChaCha20-Poly1305, the length of the record's key (4 bytes, little-endian), the key
//! and the value; the table and the name are associated data. The storage shows how many records a table has, which
//! ones change, and how long they are.

use crate::memory::Change;
use crate::{InboxError, Table};
use omr_client::StorageCipher;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The key of a recipient's stored records.
pub struct RecordKey {
    names: Zeroizing<[u8; 32]>,
    contents: StorageCipher,
}

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRecord {
    /// The record's table.
    pub table: Table,
    /// The name under which the table has the record: 32 bytes.
    pub name: Vec<u8>,
    /// The encrypted key and value; `None` if the record is removed.
    pub content: Option<Vec<u8>>,
}

impl RecordKey {
    /// Makes the key from that of the recipient's storage.
    #[must_use]
    pub fn new(storage_key: &[u8; 32]) -> Self {
        Self {
            names: Zeroizing::new(blake3::derive_key("omr record names v1", storage_key)),
            contents: StorageCipher::new(storage_key),
        }
    }

    fn name(&self, table: Table, key: &[u8]) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        hasher.update(&associated(table, key));
        hasher.finalize().as_bytes().to_vec()
    }

    /// Encrypts a change of a record.
    pub fn seal(&self, change: &Change, rng: &mut impl CryptoRng) -> SealedRecord {
        let name = self.name(change.table, &change.key);
        let seal = |value: &Vec<u8>| {
            let mut content = (change.key.len() as u32).to_le_bytes().to_vec();
            content.extend_from_slice(&change.key);
            content.extend_from_slice(value);
            self.contents
                .encrypt(&associated(change.table, &name), content, rng)
        };
        SealedRecord {
            table: change.table,
            content: change.value.as_ref().map(seal),
            name,
        }
    }

    /// Decrypts a stored record. Returns its key and its value.
    ///
    /// Errors: `Sealed` if it was stored with another key, under another name, or was changed.
    pub fn open(
        &self,
        table: Table,
        name: &[u8],
        content: &[u8],
    ) -> Result<(Vec<u8>, Vec<u8>), InboxError> {
        let wrong = || InboxError::Sealed(table.name());
        let plain = self.contents.decrypt(&associated(table, name), content);
        let plain = plain.ok_or_else(wrong)?;
        let (len, rest) = plain.split_first_chunk().ok_or_else(wrong)?;
        let key_bytes = u32::from_le_bytes(*len) as usize;
        let (key, value) = rest.split_at_checked(key_bytes).ok_or_else(wrong)?;
        Ok((key.to_vec(), value.to_vec()))
    }
}

/// Returns a table's name, its length before it, and other bytes.
fn associated(table: Table, bytes: &[u8]) -> Vec<u8> {
    let name = table.name().as_bytes();
    [&[name.len() as u8], name, bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_client::os_rng;
    use proptest::prelude::*;

    fn change(key: &[u8], value: Option<&[u8]>) -> Change {
        Change {
            table: Table::Bodies,
            key: key.to_vec(),
            value: value.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn records_open_with_their_key_in_their_place_alone() {
        let (key, other) = (RecordKey::new(&[1; 32]), RecordKey::new(&[2; 32]));
        let letter = change(b"7", Some(b"a letter about dinner"));
        let sealed = key.seal(&letter, &mut os_rng());
        let content = sealed.content.clone().unwrap();
        let opened = key.open(sealed.table, &sealed.name, &content).unwrap();
        assert_eq!(
            (opened.0, Some(opened.1)),
            (letter.key.clone(), letter.value.clone())
        );
        assert!(!content.windows(6).any(|window| window == b"dinner"));
        // A record that is written again has its name, and other bytes; one that is removed has its name alone.
        let again = key.seal(&letter, &mut os_rng());
        assert_eq!(again.name, sealed.name);
        assert_ne!(again.content, sealed.content);
        let removed = key.seal(&change(b"7", None), &mut os_rng());
        assert_eq!((&removed.name, removed.content), (&sealed.name, None));
        let elsewhere = key.seal(&change(b"8", Some(b"")), &mut os_rng()).name;
        for (by, table, name) in [
            (&other, Table::Bodies, &sealed.name),
            (&key, Table::Messages, &sealed.name),
            (&key, Table::Bodies, &elsewhere),
        ] {
            let error = by.open(table, name, &content).unwrap_err();
            assert!(matches!(error, InboxError::Sealed(_)), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_record_comes_back_and_any_damage_is_found(
            key in prop::collection::vec(any::<u8>(), 0..40),
            value in prop::collection::vec(any::<u8>(), 0..90),
            place in any::<prop::sample::Index>(),
            bit in 0..8,
        ) {
            let records = RecordKey::new(&[3; 32]);
            let sealed = records.seal(&change(&key, Some(&value)), &mut os_rng());
            let mut content = sealed.content.unwrap();
            let opened = records.open(sealed.table, &sealed.name, &content).unwrap();
            prop_assert_eq!(opened, (key, value));
            let cut = place.index(content.len());
            prop_assert!(records.open(sealed.table, &sealed.name, &content[..cut]).is_err());
            content[cut] ^= 1u8 << bit;
            prop_assert!(records.open(sealed.table, &sealed.name, &content).is_err());
        }
    }
}

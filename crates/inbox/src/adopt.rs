//! Letters to retired addresses, listed with the others.

use crate::Inbox;
use crate::delete::next_number;
use crate::mute::is_muted;
use crate::storage::{Edit, Storage};
use crate::table::{ADOPTED, BODIES, MESSAGES};
use crate::view::Record;
use std::collections::BTreeMap;

/// The id of an address with the hash of a letter to it, and the letter's index on the board.
type Place = (Vec<u8>, u64);

impl<S: Storage> Inbox<S> {
    /// Copies the letters in the inbox of a retired address, `from`, that were not copied yet; every call copies a
    /// letter at most once. Letters that `from` copied itself, from addresses that were retired before, remain letters
    /// to these. Returns the numbers here of those whose senders are not muted. The originals stay, so that this inbox
    /// can be built again. Open requests and messages that wait stay with the retired address too: only its own fetches
    /// bring them.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn adopt(&self, name: &str, address: [u8; 16], from: &Self) -> Result<Vec<u64>, S::Error> {
        self.store.write(|tx| {
            from.store.read(|theirs| {
                let mut adopted = Vec::new();
                let copies = ADOPTED.all(theirs)?.into_iter();
                let copies: BTreeMap<u64, Place> =
                    copies.map(|(at, number)| (number, at)).collect();
                for (number, mut record) in MESSAGES.all(theirs)? {
                    let body = BODIES.get(theirs, &number)?.unwrap_or_default();
                    let place = match copies.get(&number) {
                        Some(place) => place.clone(),
                        None => {
                            record.retired = Some(name.to_owned());
                            // Where the board's history changed, another letter may be at this place.
                            let letter = [&address[..], blake3::hash(&body).as_bytes()].concat();
                            (letter, record.index)
                        }
                    };
                    if ADOPTED.has(tx, &place)? {
                        continue;
                    }
                    let muted = is_muted(tx, record.header.as_ref())?;
                    record.read |= muted;
                    let number = copy(tx, &place, &record, &body)?;
                    if !muted {
                        adopted.push(number);
                    }
                }
                Ok(adopted)
            })
        })
    }
}

/// Adds a letter from a place on the board. Returns its number.
fn copy<T: Edit>(
    tx: &mut T,
    place: &Place,
    record: &Record,
    body: &Vec<u8>,
) -> Result<u64, T::Error> {
    let number = next_number(tx)?;
    MESSAGES.put(tx, &number, record)?;
    BODIES.put(tx, &number, body)?;
    ADOPTED.put(tx, place, &number)?;
    Ok(number)
}

//! Letters to retired addresses, listed with the others.

use crate::Inbox;
use crate::delete::next_number;
use crate::mute::is_muted;
use crate::storage::{Edit, Storage};
use crate::table::{ADOPTED, BODIES, MESSAGES};
use crate::view::Record;

impl<S: Storage> Inbox<S> {
    /// Copies the letters in the inbox of a retired address, `from`, that were not copied yet; every call copies a
    /// letter at most once. Returns the numbers here of those whose senders are not muted. The originals stay, so that this inbox can be built
    /// again. Open requests and messages that wait stay with the retired address too: only its own fetches bring them.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn adopt(&self, name: &str, address: [u8; 16], from: &Self) -> Result<Vec<u64>, S::Error> {
        self.store.write(|tx| {
            from.store.read(|theirs| {
                let mut adopted = Vec::new();
                for (number, mut record) in MESSAGES.all(theirs)? {
                    let body = BODIES.get(theirs, &number)?.unwrap_or_default();
                    // Where the board's history changed, another letter may be at this place.
                    let letter = [&address[..], blake3::hash(&body).as_bytes()].concat();
                    let place = (letter, record.index);
                    if ADOPTED.has(tx, &place)? {
                        continue;
                    }
                    record.retired = Some(name.to_owned());
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
    place: &(Vec<u8>, u64),
    record: &Record,
    body: &Vec<u8>,
) -> Result<u64, T::Error> {
    let number = next_number(tx)?;
    MESSAGES.put(tx, &number, record)?;
    BODIES.put(tx, &number, body)?;
    ADOPTED.put(tx, place, &number)?;
    Ok(number)
}

//! Letters to retired addresses, listed with the others.

use crate::Inbox;
use crate::storage::{Edit, Storage};
use crate::table::{ADOPTED, BODIES, MESSAGES};
use crate::view::Record;

impl<S: Storage> Inbox<S> {
    /// Copies the letters of a retired address's inbox that did not come here yet, each once however often this is
    /// called; gives their numbers here. Theirs stay, so that this inbox can be made anew.
    ///
    /// Errors: the storage's; `Record`.
    pub fn adopt(&self, name: &str, address: [u8; 16], from: &Self) -> Result<Vec<u64>, S::Error> {
        self.store.write(|tx| {
            from.store.read(|theirs| {
                let mut adopted = Vec::new();
                for (number, mut record) in MESSAGES.all(theirs)? {
                    let body = BODIES.get(theirs, &number)?.unwrap_or_default();
                    // Where the board's history changed, another letter may stand at the same place.
                    let letter = [&address[..], blake3::hash(&body).as_bytes()].concat();
                    let place = (letter, record.index);
                    if ADOPTED.has(tx, &place)? {
                        continue;
                    }
                    record.retired = Some(name.to_owned());
                    adopted.push(copy(tx, &place, &record, &body)?);
                }
                Ok(adopted)
            })
        })
    }
}

/// Adds a letter from a place on the board; gives its number.
fn copy<T: Edit>(
    tx: &mut T,
    place: &(Vec<u8>, u64),
    record: &Record,
    body: &Vec<u8>,
) -> Result<u64, T::Error> {
    let number = MESSAGES.next_number(tx)?;
    MESSAGES.put(tx, &number, record)?;
    BODIES.put(tx, &number, body)?;
    ADOPTED.put(tx, place, &number)?;
    Ok(number)
}

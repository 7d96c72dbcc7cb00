//! Letters to retired addresses, listed with the others.

use super::view::Record;
use super::{ADOPTED, BODIES, Inbox, MESSAGES, decode, encode, next_number};
use crate::{Identity, MailError};
use redb::{ReadableTable, WriteTransaction};

impl Inbox {
    /// Copies the letters of a retired identity's inbox that did not come here yet, each once however often this is
    /// called; gives their numbers here. Theirs stay, so that this inbox can be made anew.
    ///
    /// Errors: `Params`, `Clue`, `File`, `Damaged`, `Database`, `Record`.
    pub fn adopt(
        &self,
        name: &str,
        retired: &Identity,
        from: &Self,
    ) -> Result<Vec<u64>, MailError> {
        let address = retired.clue_key(&retired.set()?)?.id;
        self.write(|tx| {
            from.read(|theirs| {
                let (messages, bodies) = (theirs.open_table(MESSAGES)?, theirs.open_table(BODIES)?);
                let mut adopted = Vec::new();
                for entry in messages.iter()? {
                    let (number, record) = entry?;
                    let mut record: Record = decode(record.value())?;
                    let body = bodies.get(number.value())?;
                    record.retired = Some(name.to_owned());
                    let body = body.as_ref().map_or(&[][..], |body| body.value());
                    adopted.extend(copy(tx, &address, &record, body)?);
                }
                Ok(adopted)
            })
        })
    }
}

/// Adds a letter unless it is here, by its place on the board.
fn copy(
    tx: &WriteTransaction,
    address: &[u8; 16],
    record: &Record,
    body: &[u8],
) -> Result<Option<u64>, MailError> {
    let mut adopted = tx.open_table(ADOPTED)?;
    let key = (&address[..], record.index);
    if adopted.get(key)?.is_some() {
        return Ok(None);
    }
    let mut messages = tx.open_table(MESSAGES)?;
    let number = next_number(&messages)?;
    messages.insert(number, &encode(record)?[..])?;
    tx.open_table(BODIES)?.insert(number, body)?;
    adopted.insert(key, number)?;
    Ok(Some(number))
}

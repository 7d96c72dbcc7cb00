//! Deletes letters.

use crate::{Home, Inbox, MailError};

/// Removes letters from the inbox of a home, and the originals of those to retired addresses, which would otherwise stay
/// in the inboxes of these. Later fetches do not bring them back. The file may contain the bytes until other records
/// take their place.
///
/// Errors: `NoMessage` for a number without a letter; those of [`Inbox::beside`].
pub fn delete(home: &Home, numbers: &[u64]) -> Result<(), MailError> {
    let inbox = Inbox::beside(home)?;
    let retired = home.retired()?;
    for number in numbers {
        let letter = inbox.letter(*number)?;
        if letter.retired.is_some() {
            let body = inbox.body(*number)?;
            // An address that was retired later has copies too.
            for (_, old) in &retired {
                Inbox::beside(old)?.delete_at(letter.index, &body)?;
            }
        }
    }
    inbox.delete(numbers)
}

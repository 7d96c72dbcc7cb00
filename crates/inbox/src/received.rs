//! The time before which all messages have been received.
//!
//! A fetch notes the board's length and the time. Once nothing before that length is open any more, everything that was
//! posted until then has been received, and the next fetch notes again.

use crate::Inbox;
use crate::call::Board;
use crate::storage::{Edit, Look, Storage};
use crate::table::{JOBS, KEPT, Number};
use crate::waiting;

impl<S: Storage> Inbox<S> {
    /// Returns a time in seconds since 1970: every letter that was posted before has been received and decoded, except
    /// those of ranges that have expired. 0 where no such time is known.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn received_until(&self) -> Result<u64, S::Error> {
        self.store.read(|tx| until(tx))
    }
}

fn until<T: Look>(tx: &T) -> Result<u64, T::Error> {
    let seen = Number::SeenAt.get(tx)?;
    if seen != 0 && is_complete(tx, Number::SeenTo.get(tx)?)? {
        return Ok(seen);
    }
    Number::ReceivedAt.get(tx)
}

/// Returns whether every message before `length` was requested, and nothing is missing of the answers.
fn is_complete<T: Look>(tx: &T, length: u64) -> Result<bool, T::Error> {
    let first = Number::First.get(tx)?;
    let (jobs, kept) = (JOBS.all(tx)?, KEPT.all(tx)?);
    Ok(Number::Cursor.get(tx)? >= length
        && jobs.iter().all(|(_, job)| job.start >= length)
        && !kept
            .iter()
            .any(|(_, keeping)| keeping.misses(length, first))
        && waiting::within(tx, &(0..length))?.is_empty())
}

/// Notes the board's length and the time, unless an earlier note is not complete yet.
pub(crate) fn note<T: Edit>(tx: &mut T, board: &Board) -> Result<(), T::Error> {
    if board.time == 0 {
        return Ok(());
    }
    let until = until(tx)?;
    if Number::SeenAt.get(tx)? > until {
        return Ok(());
    }
    Number::ReceivedAt.set(tx, until)?;
    Number::SeenTo.set(tx, board.messages.end)?;
    Number::SeenAt.set(tx, board.time.max(until))
}

/// Removes the note after a change of the board's history.
pub(crate) fn go_back<T: Edit>(tx: &mut T) -> Result<(), T::Error> {
    Number::SeenAt.set(tx, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Content, Decoded, Received};
    use crate::job::Form;
    use crate::{InboxError, Memory};

    const FORM: Form = Form {
        bound: 3,
        most: 100,
        levels: 0,
        batches: None,
        rounds: None,
    };

    fn read(received: &Received) -> Content {
        Content::Digest(Decoded {
            read: vec![(received.job.stride(), Vec::new())],
            ..Decoded::default()
        })
    }

    fn damaged(received: &Received) -> Content {
        Content::Digest(Decoded::damaged(
            received.job.stride(),
            "damaged".to_owned(),
        ))
    }

    #[test]
    fn only_complete_fetches_count() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let requests = inbox.requests();
        let fetch = |length, time| {
            let board = crate::model::board(0..length).at(time);
            requests.plan(&board, &FORM).unwrap();
            requests.open().unwrap()[0].0
        };
        let until = || inbox.received_until().unwrap();
        let first = fetch(5, 1_000);
        assert_eq!(until(), 0);
        requests.keep(first, &vec![1]).unwrap();
        assert_eq!(until(), 0, "it is not decoded");
        inbox.take_unsigned(read).unwrap();
        assert_eq!(until(), 1_000);
        // Every fetch requests new messages before the last ones are decoded.
        let second = fetch(7, 2_000);
        fetch(9, 3_000);
        assert_eq!(until(), 1_000);
        requests.keep(second, &vec![2]).unwrap();
        inbox.take_unsigned(damaged).unwrap();
        assert_eq!(until(), 1_000, "letters of a damaged digest may come");
        inbox.drop_range(5..7).unwrap();
        assert_eq!(until(), 2_000);
        let (third, _) = requests.open().unwrap()[0];
        requests.keep(third, &vec![3]).unwrap();
        inbox.take_unsigned(read).unwrap();
        assert_eq!(until(), 2_000);
        // Without news, and with a clock that went back.
        requests
            .plan(&crate::model::board(0..9).at(4_000), &FORM)
            .unwrap();
        assert_eq!(until(), 4_000);
        requests
            .plan(&crate::model::board(0..9).at(500), &FORM)
            .unwrap();
        assert_eq!(until(), 4_000);
        requests.plan(&crate::model::board(0..9), &FORM).unwrap();
        assert_eq!(until(), 4_000);
    }
}

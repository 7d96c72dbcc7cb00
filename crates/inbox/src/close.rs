//! The end of a session.

use crate::call::{Answer, Call, Failed, Failure};
use crate::exchange::{Exchange, Step, unexpected};
use crate::storage::Storage;
use crate::{InboxError, Requests};
use std::fmt::Display;

/// Ends the open session, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Close;

impl<E: Display> Exchange<E> for Close {
    type Done = ();

    fn begin<S: Storage>(&mut self, requests: Requests<'_, S>) -> Result<Step<()>, S::Error> {
        let open = requests.session()?;
        match open.as_ref().map(|session| session.session_id) {
            Some(Some(id)) => return Ok(Step::Call(Call::CloseSession(id))),
            Some(None) => requests.set_session(None)?,
            None => {}
        }
        Ok(Step::Done(()))
    }

    fn answer<S>(
        &mut self,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<()>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        closed::<E, S::Error>(answer)?;
        requests.set_session(None)?;
        Ok(Step::Done(()))
    }
}

/// Checks the answer to a call that closes a session; a session that the server does not know is closed as well.
pub(crate) fn closed<E, T: From<E> + From<InboxError>>(
    answer: Result<Answer, Failed<E>>,
) -> Result<(), T> {
    match answer {
        Ok(Answer::Closed) => Ok(()),
        Ok(_) => Err(unexpected("CloseSession").into()),
        Err(failed) if failed.kind == Failure::NotFound => Ok(()),
        Err(failed) => Err(failed.error.into()),
    }
}
